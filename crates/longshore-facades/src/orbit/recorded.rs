//! Recorded sessions of real agents on the screen of the UI.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::{Capture, ReplayStep, replay};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{Context, Ids, ItemId, SessionId};
use longshore_model::lifecycle::Opened;
use longshore_model::session::{Input, Outcome, Session};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Timeline;

use super::dialect::tests::{hear, info, joined};
use super::records::{records, snapshot};

/// How many items come again for certain.
const AGAIN: usize = 64;
/// From how many places of a session a client follows it.
const PLACES: usize = 12;

fn captures(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(captures(&path)),
            false => found.extend(path.extension().is_some_and(|kind| kind == "jsonl").then_some(path)),
        }
    }
    found.sort();
    found
}

/// The sessions of a recording, as a hub would keep them.
fn sessions(capture: &Capture) -> Vec<Vec<Event>> {
    let mut ids = Ids::seeded(3);
    let mut sessions: BTreeMap<SessionId, (Session, Vec<Event>)> = BTreeMap::new();
    for step in replay(capture).unwrap() {
        let (id, drafts) = match step {
            ReplayStep::Said { session, draft } => (session, vec![*draft]),
            ReplayStep::Told { session, command: AgentCommand::Prompt { turn, prompt, text, .. } } => {
                let said = Body::UserMessage { prompt: Some(prompt), attachments: Vec::new(), by: None };
                let item = ItemId(ids.next(Timestamp::default()));
                let began = Draft::new(Body::TurnStarted { prompt: Some(prompt) }).turn(turn);
                (session, vec![began, Draft::new(said).turn(turn).item(item).text(text)])
            }
            ReplayStep::Told { session, command: AgentCommand::Decide { approval, decision } } => {
                (session, vec![Draft::new(Body::ApprovalDecided { approval, decision })])
            }
            ReplayStep::Told { session, command: AgentCommand::Answer { question, answer } } => {
                (session, vec![Draft::new(Body::QuestionAnswered { question, answer })])
            }
            ReplayStep::Told { .. } | ReplayStep::Wrote(_) | ReplayStep::Finished(_) => continue,
        };
        let mut cx = Context { now: Timestamp::from_micros(1_794_768_000_000_000), ids: &mut ids };
        let mut out = Outcome::default();
        let (session, events) = sessions.entry(id).or_insert_with(|| {
            let opened = Opened {
                agent: capture.driver.as_str().into(),
                cwd: "/w".to_owned(),
                mode: Mode::Ask,
                model: None,
                effort: None,
                title: None,
                mcp_servers: Vec::new(),
                capabilities: Capabilities::default(),
                parent: None,
                forked_from: None,
                from_file: false,
            };
            (Session::open(id, opened, &mut cx, &mut out), Vec::new())
        });
        for draft in drafts {
            session.handle(Input::Said(draft), &mut cx, &mut out).unwrap();
        }
        events.extend(out.events.into_iter().map(|(event, _)| event));
    }
    sessions.into_values().map(|(_, events)| events).collect()
}

#[test]
fn whatever_an_agent_did_is_on_the_screen_wherever_a_client_came_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-drivers/captures");
    let agents = ["codex", "claude", "opencode", "acp"];
    let mut seen = 0;
    for path in agents.iter().flat_map(|agent| captures(&folder.join(agent))) {
        let capture = Capture::read(BufReader::new(File::open(&path).unwrap())).unwrap();
        for events in sessions(&capture) {
            let (whole, works) = (Timeline::of(&events), info(&events).turn.is_some());
            let step = events.len().div_ceil(PLACES).max(1);
            for at in (1..=events.len()).step_by(step) {
                println!("{}: from {at} of {}", path.display(), events.len());
                let (mut feed, mut screen) = joined(&events[..at]);
                screen.check(&Timeline::of(&events[..at]), info(&events[..at]).turn.is_some());
                for event in &events[at..] {
                    hear(&mut screen, feed.apply(event));
                }
                screen.check(&whole, works);
                // Who was away meanwhile gets the newest items again.
                if whole.items.len() <= AGAIN {
                    let ((_, mut screen), (feed, _)) = (joined(&events[..at]), joined(&events));
                    hear(&mut screen, feed.again());
                    hear(&mut screen, feed.open());
                    screen.check(&whole, works);
                }
            }
            let info = info(&events);
            let all = records(&info, &whole.items);
            let asks =
                all.iter().filter(|record| record.method().is_some_and(|method| method.contains("/request")));
            assert_eq!(asks.count(), events.iter().filter(|event| is_ask(event)).count());
            let turns: std::collections::BTreeSet<_> =
                whole.items.iter().filter_map(|item| item.turn).collect();
            let began = all.iter().filter(|record| record.method() == Some("turn/started"));
            assert!(began.count() >= turns.len(), "each turn has a place in a review");
            assert_eq!(snapshot(&info, &whole.items).is_some(), screen_has_cards(&events));
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

fn is_ask(event: &Event) -> bool {
    matches!(event.body, Body::ApprovalRequested(_) | Body::QuestionAsked(_))
}

fn screen_has_cards(events: &[Event]) -> bool {
    let (_, screen) = joined(events);
    screen.cards.iter().any(|card| !screen.asked.contains_key(&card.id))
}
