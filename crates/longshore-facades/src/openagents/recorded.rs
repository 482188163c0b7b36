//! Recordings of real agents, as the app would draw them: live, from its history, and cut off anywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::{Capture, ReplayStep, replay};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{ItemId, Seq, SessionId};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Timeline;
use serde_json::Value;

use super::calls::notification;
use super::dialect::{SessionDialect, history};
use super::exec_lines;
use super::size::FRAME;
use super::wire::SessionUpdate;

/// What the app knows of a session: it decodes strictly, and draws a call once.
#[derive(Debug, Default, PartialEq)]
struct AppState {
    /// User, agent and thought, each a row of its own.
    rows: Vec<(String, String)>,
    calls: BTreeMap<String, (String, Value)>,
    results: BTreeMap<String, Value>,
    plan: Value,
}

impl AppState {
    fn of(updates: impl IntoIterator<Item = SessionUpdate>) -> Self {
        let mut app = Self::default();
        updates.into_iter().for_each(|update| app.hear(update));
        app
    }

    fn hear(&mut self, update: SessionUpdate) {
        let frame = notification("s", update);
        assert!(frame.contains(r#""jsonrpc":"2.0""#) && frame.len() < FRAME, "{frame:.300}");
        let frame: Value = serde_json::from_str(&frame).unwrap();
        assert_eq!(frame["method"], "session/update");
        let update = &frame["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap();
        let fields = update.as_object().unwrap().len();
        match kind {
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
                assert_eq!(update["content"]["content"]["type"], "text");
                let text = update["content"]["content"]["text"].as_str().unwrap();
                assert!(!text.is_empty(), "an empty row");
                self.rows.push((kind.to_owned(), text.to_owned()));
            }
            "tool_call" => {
                let call = &update["tool_call"];
                let id = call["call_id"].as_str().unwrap().to_owned();
                assert!(call.get("arguments").is_none_or(Value::is_object), "{call}");
                let drawn = (call["name"].as_str().unwrap().to_owned(), call["arguments"].clone());
                let known = self.calls.insert(id, drawn);
                assert!(known.is_none(), "a second call with the id of {known:?}");
            }
            "tool_call_update" => {
                let result = &update["tool_call_update"];
                let id = result["call_id"].as_str().unwrap();
                assert!(self.calls.contains_key(id), "a result of no call: {result}");
                assert!(["completed", "error"].contains(&result["status"].as_str().unwrap()));
                assert!(result["output"].to_string().len() < 17_000);
                self.results.insert(id.to_owned(), result.clone());
            }
            "plan" => {
                for entry in update["plan"]["entries"].as_array().unwrap() {
                    let status = entry["status"].as_str().unwrap();
                    assert!(["pending", "in_progress", "completed"].contains(&status));
                    assert!(entry["priority"] == "medium" && entry["content"].is_string());
                }
                self.plan = update["plan"].clone();
            }
            "available_commands_update" => assert!(update["available_commands"].is_array()),
            other => panic!("the app does not know {other}"),
        }
        assert_eq!(fields, 2, "the kind, and what is nested under it: {update}");
    }
}

fn captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-drivers/captures");
    let mut found = Vec::new();
    for driver in ["acp", "claude", "codex", "opencode"] {
        for version in root.join(driver).read_dir().unwrap() {
            found.extend(version.unwrap().path().read_dir().unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    found.sort();
    assert!(found.len() > 200, "the recordings are gone");
    found
}

/// The sessions of a recording, with what a hub records by itself.
fn sessions(path: &Path) -> BTreeMap<SessionId, Vec<Event>> {
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
                let said = Body::UserMessage { prompt: Some(prompt), attachments: Vec::new(), by: None };
                add(session, Draft::new(said).turn(turn).item(ItemId(prompt.0)).text(text));
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
    sessions
}

#[test]
fn whatever_an_agent_did_the_app_draws_it_the_same_live_and_from_history() {
    let (mut kinds, mut calls, mut drawn) = (BTreeSet::new(), 0, 0);
    for path in captures() {
        for events in sessions(&path).values() {
            let (mut timeline, mut dialect, mut live) =
                (Timeline::default(), SessionDialect::default(), AppState::default());
            for (at, event) in events.iter().enumerate() {
                let change = timeline.apply(event);
                dialect.updates("Codex", event, change).into_iter().for_each(|update| live.hear(update));
                if events.len() < 200 || at % 50 == 0 {
                    AppState::of(history("Codex", &timeline));
                }
            }
            let whole = AppState::of(history("Codex", &timeline));
            let place = path.display();
            assert_eq!(live.results, whole.results, "{place}");
            let names =
                |app: &AppState| app.calls.iter().map(|(id, (name, _))| (id.clone(), name.clone())).collect();
            let (live_names, whole_names): (HashMap<_, _>, HashMap<_, _>) = (names(&live), names(&whole));
            // Whoever listens live does not hear of a call that never got arguments and never ended.
            assert!(live_names.iter().all(|(id, _)| whole_names.contains_key(id)), "{place}");
            for (id, (name, arguments)) in &whole.calls {
                if whole.results.contains_key(id) {
                    assert!(live.calls.contains_key(id), "{place}: {name} {arguments}");
                }
            }
            for row in &whole.rows {
                assert!(live.rows.contains(row), "{place}: nobody heard {row:?}");
            }
            assert_eq!(live.plan, whole.plan, "{place}");
            kinds.extend(live.rows.iter().map(|(kind, _)| kind.clone()));
            calls += whole.calls.len();
            drawn += whole.rows.len();
            for line in exec_lines::lines("s", &timeline) {
                let line: Value = serde_json::from_str(&line).unwrap();
                assert!(line["type"].is_string(), "{line}");
            }
        }
    }
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    assert!(calls > 100 && drawn > 300, "{calls} {drawn}");
}

/// A client that comes back hears what it missed, with all of it known already, and draws no call twice.
#[test]
fn whoever_comes_back_anywhere_has_everything_in_the_end() {
    for path in captures().iter().step_by(7) {
        for events in sessions(path).values().filter(|events| events.len() < 200) {
            let whole = AppState::of(history("Codex", &Timeline::of(events)));
            for left in (0..events.len()).step_by(3) {
                let mut first = Timeline::of(&events[..left]);
                let mut app = AppState::of(history("Codex", &first));
                first = Timeline::of(events);
                first.head = Seq(left as u64);
                let mut dialect = SessionDialect::default();
                for event in &events[left..] {
                    let change = first.apply(event);
                    for update in dialect.updates("Codex", event, change) {
                        app.hear(update);
                    }
                }
                for id in whole.results.keys() {
                    assert_eq!(app.results.get(id), whole.results.get(id), "{} after {left}", path.display());
                }
                for row in &whole.rows {
                    assert!(app.rows.contains(row), "{} after {left}: {row:?}", path.display());
                }
            }
        }
    }
}
