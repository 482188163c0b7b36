//! Whole sessions, cut at every event: what the app has by then is legal, and in the end it has everything once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::{Capture, ReplayStep, replay};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Item, Timeline};
use serde_json::{Value, json};

use self::app::App;
use super::{MissedEvents, frames_of, history, open_permissions, snapshot, withdraws};
use crate::mobile::wire::ServerFrame;

#[path = "../../../tests/mobile/app.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod app;

const VECTORS: [(&str, &str); 7] = [
    ("asked", include_str!("../../../../longshore-model/tests/vectors/asked.json")),
    ("cut", include_str!("../../../../longshore-model/tests/vectors/cut.json")),
    ("edited", include_str!("../../../../longshore-model/tests/vectors/edited.json")),
    ("plain", include_str!("../../../../longshore-model/tests/vectors/plain.json")),
    ("retried", include_str!("../../../../longshore-model/tests/vectors/retried.json")),
    ("shared", include_str!("../../../../longshore-model/tests/vectors/shared.json")),
    ("tool", include_str!("../../../../longshore-model/tests/vectors/tool.json")),
];

fn events_of(vector: &str) -> Vec<Event> {
    let vector: Value = serde_json::from_str(vector).unwrap();
    serde_json::from_value(vector["events"].clone()).unwrap()
}

fn info_of(events: &[Event]) -> SessionInfo {
    let at = json!(Timestamp::from_micros(1));
    serde_json::from_value(json!({
        "provider": "codex", "sessionId": events[0].session, "title": "", "status": "idle", "createdAt": at,
        "updatedAt": at, "activity": "idle", "cwd": "/w", "mode": "ask", "capabilities": {}, "head": 1, "usage": {},
        "archived": false,
    }))
    .unwrap()
}

/// An app, and all that it is sent.
struct AppStage {
    app: App,
    info: SessionInfo,
    timeline: Timeline,
}

impl AppStage {
    fn take(&mut self, frame: &ServerFrame) {
        self.app.take(&serde_json::from_str(&frame.to_text(Timestamp::from_micros(1))).unwrap());
    }

    /// An app that had the history up to this event.
    fn with_history(events: &[Event], end: usize) -> Self {
        let (info, now) = (info_of(events), Timeline::of(events));
        let seq = end.checked_sub(1).map_or(Seq::ZERO, |last| events[last].seq);
        let mut missed = MissedEvents::default();
        events[end..].iter().for_each(|event| missed.take(event));
        let timeline = now.begun_by(seq);
        let mut sent = Self { app: App::default(), info, timeline };
        let agents = vec![snapshot(&sent.info)];
        let agent_id = sent.info.session_id.to_string();
        sent.take(&ServerFrame::Connected { device_id: "d".to_owned(), agents, server_signature: None });
        let messages = history(&sent.info, &sent.timeline, &missed);
        let pending_permissions = open_permissions(&now, "codex");
        sent.take(&ServerFrame::AgentHistory { agent_id, messages, pending_permissions });
        sent
    }

    fn live(&mut self, event: &Event, is_missed: bool) {
        let change = self.timeline.apply(event);
        for frame in frames_of(&self.info, event, change, is_missed) {
            self.take(&frame);
        }
        if withdraws(event) && !is_missed {
            let pending_permissions = open_permissions(&self.timeline, "codex");
            let agent_id = self.info.session_id.to_string();
            self.take(&ServerFrame::AgentHistory { agent_id, messages: Vec::new(), pending_permissions });
        }
    }

    fn agent(&self) -> &app::AppAgent {
        self.app.agent(&self.info.session_id.to_string())
    }
}

/// What the app must have of a session, once each.
fn expected(timeline: &Timeline) -> Vec<String> {
    let mut all = Vec::new();
    for item in &timeline.items {
        let has_ended = item.ended_at.is_some() && !item.text.is_empty();
        if matches!(item.content, Content::UserMessage { .. }) {
            all.push(format!("user: {}", item.text));
        } else if matches!(item.content, Content::Message { .. }) && has_ended {
            all.push(format!("assistant: {}", item.text));
        } else if matches!(item.content, Content::Reasoning { .. }) && has_ended {
            all.push(format!("thinking: {}", item.text));
        }
    }
    all
}

/// How many cards a session has. A call of the tool that asks questions is shown as the question.
fn cards(timeline: &Timeline) -> usize {
    let is_card = |item: &&Item| match &item.content {
        Content::Tool { call, .. } => call.name != "AskUserQuestion",
        Content::Diff { .. }
        | Content::Plan { .. }
        | Content::Question { .. }
        | Content::Delegation { .. } => true,
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => false,
    };
    timeline.items.iter().filter(is_card).count()
}

/// Lets the history end at every so many events.
fn cut_anywhere(name: &str, events: &[Event], every: usize) {
    let whole = Timeline::of(events);
    let wanted = expected(&whole);
    for end in (0..=events.len()).step_by(every) {
        let mut sent = AppStage::with_history(events, end);
        events[end..].iter().for_each(|event| sent.live(event, true));
        let said = sent.agent().said();
        let count = |all: &[String], words: &str| all.iter().filter(|other| *other == words).count();
        for words in &wanted {
            assert_eq!(
                count(&said, words),
                count(&wanted, words),
                "{name}, cut at {end}: {words} in {said:#?}"
            );
        }
        let shown = said.iter().filter(|said| said.starts_with("tool: ")).count();
        assert_eq!(shown, cards(&whole), "{name}, cut at {end}: {said:#?}");
        let waits = open_permissions(&whole, "codex").len();
        assert_eq!(sent.agent().asked.len(), waits, "{name}, cut at {end}");
    }
}

/// Tells it live, and looks at the app after every so many events.
fn tell_live(name: &str, events: &[Event], every: usize) {
    let mut sent = AppStage::with_history(&events[..1], 1);
    for (at, event) in events.iter().enumerate().skip(1) {
        sent.live(event, false);
        if at % every != 0 {
            continue;
        }
        let now = Timeline::of(&events[..=at]);
        let (agent, open) = (sent.agent(), open_permissions(&now, "codex"));
        assert_eq!(agent.asked.len(), open.len(), "{name} after {at}");
        let grows = |item: &&Item| item.ended_at.is_none();
        assert!(agent.running() <= now.items.iter().filter(grows).count(), "{name} after {at}");
    }
}

#[test]
fn wherever_a_history_ends_the_app_has_everything_once() {
    for (name, vector) in VECTORS {
        cut_anywhere(name, &events_of(vector), 1);
    }
}

#[test]
fn whatever_happened_so_far_the_app_can_show_it() {
    for (name, vector) in VECTORS {
        tell_live(name, &events_of(vector), 1);
    }
}

#[test]
fn every_recorded_session_comes_to_the_app_whole() {
    let mut told = 0;
    for path in captures() {
        for events in recorded(&path) {
            let name = path.display().to_string();
            cut_anywhere(&name, &events, events.len() / 6 + 1);
            tell_live(&name, &events, events.len() / 20 + 1);
            told += events.len();
        }
    }
    assert!(told > 5_000, "{told}");
}

/// The recordings of real agents.
fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-drivers/captures");
    let mut found = Vec::new();
    for driver in ["acp", "claude", "codex", "opencode"] {
        for version in root.join(driver).read_dir().unwrap() {
            found.extend(version.unwrap().path().read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    assert!(found.len() > 100, "the recordings are gone");
    found
}

/// The sessions of a recording, with what the hub records beside what the agent says.
fn recorded(path: &Path) -> Vec<Vec<Event>> {
    let capture = Capture::read(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut sessions: BTreeMap<SessionId, Vec<Event>> = BTreeMap::new();
    let mut add = |session: SessionId, draft: Draft| {
        let events = sessions.entry(session).or_default();
        let seq = Seq(events.len() as u64 + 1);
        let Draft { turn, item, text, body, raw: _ } = draft;
        let at = Timestamp::from_micros(1_794_768_000_000_000 + seq.0 as i64 * 1_000);
        events.push(Event { seq, session, agent: "codex".into(), at, turn, item, parent: None, text, body });
    };
    for step in replay(&capture).unwrap() {
        match step {
            ReplayStep::Told { session, command: AgentCommand::Prompt { turn, prompt, text, .. } } => {
                let queued = Body::PromptQueued {
                    prompt,
                    turn_id: turn,
                    attachments: Vec::new(),
                    key: None,
                    first: false,
                    by: "owner".to_owned(),
                };
                add(session, Draft::new(queued).text(text.clone()));
                let said = Body::UserMessage { prompt: Some(prompt), attachments: Vec::new(), by: None };
                add(session, Draft::new(said).turn(turn).text(text));
            }
            ReplayStep::Told { session, command: AgentCommand::Decide { approval, decision } } => {
                add(session, Draft::new(Body::ApprovalDecided { approval, decision }));
            }
            ReplayStep::Told { session, command: AgentCommand::Answer { question, answer } } => {
                add(session, Draft::new(Body::QuestionAnswered { question, answer }));
            }
            ReplayStep::Said { session, draft } => add(session, *draft),
            ReplayStep::Told { .. } | ReplayStep::Wrote(_) | ReplayStep::Finished(_) => {}
        }
    }
    sessions.into_values().collect()
}
