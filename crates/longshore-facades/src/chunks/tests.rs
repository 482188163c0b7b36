//! The dialect without a wire: sessions as they were recorded and made-up ones, read as a client reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{Command, Prompt, When};
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, ToolCall, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::session::Session;
use longshore_model::timeline::{Content, Timeline};
use serde_json::{Value, json};

use super::framing::Framing;
use super::history;
use super::stage::Stage;
use super::turn::TurnReader;
use super::wire::{ChatMessageResponse, MessageType, ToolEvent};

const PLACE: &str = "http://localhost:8790/sessions/1";

fn turns(events: &[Event]) -> Vec<TurnId> {
    let mut turns: Vec<TurnId> = Vec::new();
    for event in events {
        let turn =
            if let Body::PromptQueued { turn_id, .. } = &event.body { Some(*turn_id) } else { event.turn };
        if let Some(turn) = turn.filter(|turn| !turns.contains(turn)) {
            turns.push(turn);
        }
    }
    turns
}

fn reader(turn: TurnId) -> TurnReader {
    TurnReader::new(turn, "/home/dev/project".to_owned(), PLACE.to_owned())
}

/// The objects of a turn, and whether it is over.
fn read(events: &[Event], turn: TurnId) -> (Vec<(u64, ChatMessageResponse)>, bool) {
    let mut reader = reader(turn);
    let read = |event: &Event| reader.read(event).map(|object| (event.seq.0, object));
    let objects = events.iter().filter_map(read).collect();
    (objects, reader.is_over())
}

fn whole(objects: &[(u64, ChatMessageResponse)]) -> ChatMessageResponse {
    let mut whole = ChatMessageResponse::default();
    objects.iter().for_each(|(_, object)| whole.settle(object.clone()));
    whole
}

/// The sessions that every fold of the timeline is tested with, and ours.
fn scenes() -> Vec<(String, Vec<Event>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-model/tests/vectors");
    let mut scenes: Vec<(String, Vec<Event>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_value(vector["events"].clone()).unwrap())
        })
        .collect();
    scenes.push(("files".to_owned(), files().events));
    scenes.push(("interrupted".to_owned(), interrupted().events));
    scenes.push(("taken back".to_owned(), taken_back().events));
    scenes.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(scenes.len() >= 10);
    scenes
}

fn call(name: &str, kind: ToolKind, input: Value) -> ToolCall {
    ToolCall { name: name.to_owned(), kind, command: None, cwd: None, input }
}

/// A turn that reads one file, changes another, and prints more than fits.
fn files() -> Stage {
    let mut stage = Stage::ready();
    let turn = stage.prompt("fix the cart");
    let (read, edit, print, thought) = (stage.item(), stage.item(), stage.item(), stage.item());
    let said = |body, item: ItemId| Draft::new(body).turn(turn).item(item);
    let done =
        || Body::ToolFinished(ToolOutcome { exit_code: Some(0), ..ToolOutcome::of(ToolStatus::Completed) });
    stage.said(said(Body::ReasoningDelta, thought).text("Where is "));
    stage.said(said(Body::ReasoningDelta, thought).text("it?"));
    stage.said(said(Body::ReasoningDone { partial: false }, thought).text("Where is it?"));
    let input = json!({ "file_path": "/home/dev/project/cart.py" });
    stage.said(said(Body::ToolStarted(call("Read", ToolKind::Read, input)), read));
    stage.said(said(done(), read).text("total = 0 # }\"{"));
    let input = json!({ "file_path": "/home/dev/project/test.py", "content": "x".repeat(20_000) });
    stage.said(said(Body::ToolStarted(call("Write", ToolKind::Edit, input)), edit));
    let change = FileChange {
        path: "test.py".to_owned(),
        kind: FileChangeKind::Add,
        moved_to: None,
        diff: "@@ -0,0 +1 @@\n+b\n".to_owned(),
    };
    let diff = FileDiff { status: ToolStatus::Completed, changes: vec![change] };
    stage.said(said(Body::FileDiff(diff), edit));
    stage.said(said(done(), edit));
    let make =
        ToolCall { command: Some("make".to_owned()), ..call("exec_command", ToolKind::Execute, json!({})) };
    stage.said(said(Body::ToolStarted(make), print));
    let line = "línea }{ \"\\\n".repeat(500);
    for _ in 0..4 {
        stage.said(said(Body::ToolOutputDelta, print).text(line.clone()));
    }
    stage.said(said(done(), print).text(line.repeat(4)));
    for text in ["First: {\"a\": \"}\"}.", "Second."] {
        let item = stage.item();
        let done = Body::MessageDone { phase: None, partial: false };
        stage.said(said(Body::MessageDelta, item).text(&text[..3]));
        stage.said(said(done, item).text(text));
    }
    stage.finish(turn, TurnOutcome::Completed);
    stage
}

/// A turn that is stopped while a command runs and an approval waits.
fn interrupted() -> Stage {
    let mut stage = Stage::ready();
    let turn = stage.prompt("wait for it");
    let (item, approval) = (stage.item(), stage.approval());
    let sleep =
        ToolCall { command: Some("sleep 9".to_owned()), ..call("Bash", ToolKind::Execute, json!({})) };
    stage.said(Draft::new(Body::ToolStarted(sleep)).turn(turn).item(item));
    let subject = Subject::Command { command: "rm -r x\u{202e}".to_owned(), cwd: None, always: Vec::new() };
    let options = vec![Decision::AllowOnce, Decision::Deny];
    let request = Body::ApprovalRequested(ApprovalRequest { approval, subject, options });
    stage.said(Draft::new(request).turn(turn));
    stage.command(Command::Interrupt).unwrap();
    stage.finish(turn, TurnOutcome::Interrupted);
    stage
}

/// A prompt that waits behind a turn that is stopped, and is taken back.
fn taken_back() -> Stage {
    let mut stage = Stage::ready();
    let first = stage.prompt("one");
    let prompt = Prompt { text: "two".to_owned(), key: Some("k".to_owned()), ..Prompt::default() };
    let longshore_model::command::Reply::Prompted { prompt, .. } =
        stage.command(Command::Prompt(prompt)).unwrap()
    else {
        panic!("not prompted")
    };
    stage.command(Command::Interrupt).unwrap();
    stage.finish(first, TurnOutcome::Interrupted);
    stage.command(Command::CancelPrompt { prompt }).unwrap();
    stage
}

/// What a client knows of a call.
#[derive(Default)]
struct KnownCall {
    has_ended: bool,
    parts: String,
}

/// Reads objects as the front end does, and panics at what would harm it.
fn check(name: &str, objects: &[(u64, ChatMessageResponse)], is_over: bool) {
    let mut calls: BTreeMap<String, KnownCall> = BTreeMap::new();
    let mut cited = 0;
    for (_, object) in objects {
        let json = serde_json::to_value(object).unwrap();
        assert!(json["message"].is_string() && json["citations"].is_array(), "{name}: {json}");
        assert!(json["thinking"].is_string() || json["thinking"].is_null(), "{name}: {json}");
        assert!(object.citations.len() >= cited, "{name}: the client replaces its list");
        cited = object.citations.len();
        for call in &object.tool_calls {
            assert!(!call.call_id.is_empty() && !call.tool_name.is_empty(), "{name}: {call:?}");
            assert!(!call.tool_response.is_empty(), "{name}: {call:?}");
            assert_eq!(call.is_truncated, call.original_length.is_some(), "{name}: {call:?}");
            assert_eq!(call.is_complete, call.stream_part.is_none(), "{name}: {call:?}");
            let content = call.tool_call_details.content.as_deref().unwrap_or_default();
            for text in [content, &call.tool_call_details.summary] {
                assert!(text.chars().count() < 10_100, "{name}: {}", text.len());
            }
            let is_new = !calls.contains_key(&call.call_id);
            let seen = calls.entry(call.call_id.clone()).or_default();
            match call.event_type {
                ToolEvent::Call | ToolEvent::DelegationCall => match &call.stream_part {
                    Some(part) => {
                        assert!(!is_new && !seen.has_ended, "{name}: a part of what has not begun: {call:?}");
                        seen.parts.push_str(part);
                        assert!(seen.parts.chars().count() <= 10_000, "{name}: too many pieces");
                    }
                    None => assert!(is_new || !seen.has_ended, "{name}: it begins again: {call:?}"),
                },
                ToolEvent::Result | ToolEvent::DelegationResult | ToolEvent::Error => {
                    assert!(!is_new, "{name}: it ends without a beginning: {call:?}");
                    seen.has_ended = true;
                }
            }
        }
    }
    if is_over {
        let open: Vec<&String> = calls.iter().filter(|(_, seen)| !seen.has_ended).map(|(id, _)| id).collect();
        assert!(open.is_empty(), "{name}: these would be shown as running for ever: {open:?}");
    }
}

#[test]
fn every_prefix_of_every_session_leaves_the_client_well() {
    for (name, events) in scenes() {
        for turn in turns(&events) {
            for end in 0..=events.len() {
                let (objects, is_over) = read(&events[..end], turn);
                check(&name, &objects, is_over);
            }
            let (objects, is_over) = read(&events, turn);
            assert!(is_over, "{name}: the stream ends");
            assert!(!objects.is_empty(), "{name}");
        }
    }
}

#[test]
fn nothing_that_the_protocol_has_a_place_for_is_missing() {
    for (name, events) in scenes() {
        let timeline = Timeline::of(&events);
        for turn in turns(&events) {
            let answer = whole(&read(&events, turn).0);
            let calls: BTreeSet<&str> = answer.tool_calls.iter().map(|call| call.call_id.as_str()).collect();
            for item in timeline.items.iter().filter(|item| item.turn == Some(turn)) {
                let id = item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string());
                match &item.content {
                    Content::Message { .. } => {
                        assert!(answer.message.contains(&item.text), "{name}: {item:?}")
                    }
                    Content::Reasoning { .. } => {
                        assert!(answer.thinking.as_ref().unwrap().contains(&item.text), "{name}: {item:?}");
                    }
                    Content::Tool { .. }
                    | Content::Delegation { .. }
                    | Content::Diff { .. }
                    | Content::Plan { .. } => {
                        assert!(calls.contains(id.as_str()), "{name}: {item:?}");
                    }
                    Content::Approval { .. } | Content::Question { .. } => {
                        assert!(answer.message.contains(PLACE), "{name}: it says where: {}", answer.message);
                    }
                    Content::UserMessage { .. }
                    | Content::TurnDiff
                    | Content::TurnEnd(_)
                    | Content::Notice { .. } => {}
                }
            }
        }
    }
}

#[test]
fn files_are_cited_and_long_outputs_are_cut() {
    let stage = files();
    let (objects, _) = read(&stage.events, turns(&stage.events)[0]);
    let answer = whole(&objects);
    assert_eq!(*answer.citations, ["cart.py", "test.py"]);
    assert_eq!(answer.message, "First: {\"a\": \"}\"}.\n\nSecond.");
    assert_eq!(answer.thinking.as_deref(), Some("Where is it?"));
    let [read, edit, print] = answer.tool_calls.as_slice() else { panic!("{:?}", answer.tool_calls) };
    assert_eq!(
        (read.event_type, read.tool_response.as_str()),
        (ToolEvent::Result, "Read: /home/dev/project/cart.py")
    );
    assert_eq!(read.tool_call_details.content.as_deref(), Some("total = 0 # }\"{"));
    let written = edit.tool_call_details.arguments["content"].as_str().unwrap();
    assert!(written.starts_with("xxx") && written.contains("20000 chars total"), "{}", written.len());
    assert!(edit.tool_call_details.summary.contains("```diff"), "{edit:?}");
    assert_eq!((print.is_truncated, print.original_length), (true, Some(4 * 500 * 12)));
    let content = print.tool_call_details.content.as_deref().unwrap();
    assert!(content.contains("... [truncated — 24000 chars total"), "{}", &content[content.len() - 100..]);
}

#[test]
fn an_interrupted_turn_ends_its_calls_and_shows_what_waited() {
    let stage = interrupted();
    let answer = whole(&read(&stage.events, turns(&stage.events)[0]).0);
    assert_eq!(answer.tool_calls[0].event_type, ToolEvent::Error);
    assert!(answer.message.contains("waits for an approval** to run a command"), "{}", answer.message);
    assert!(
        answer.message.contains("rm -r x\\u{202e}"),
        "what one cannot see is written out: {}",
        answer.message
    );
    assert!(answer.message.ends_with("*The turn was stopped.*"), "{}", answer.message);
    let stage = taken_back();
    let second = turns(&stage.events)[1];
    let answer = whole(&read(&stage.events, second).0);
    assert!(
        answer.message.contains("is held") && answer.message.contains("taken back"),
        "{}",
        answer.message
    );
}

fn info_of(events: &[Event]) -> SessionInfo {
    Session::fold(events).unwrap().info()
}

fn paragraphs(text: &str) -> Vec<&str> {
    // A notice takes the place of the one before it, which a stream has said.
    let mut paragraphs: Vec<&str> = text.split("\n\n").filter(|line| !line.starts_with('⚠')).collect();
    paragraphs.sort_unstable();
    paragraphs
}

#[test]
fn a_turn_that_runs_has_no_answer_in_the_history_and_one_that_ended_has_what_was_streamed() {
    for (name, events) in scenes() {
        for end in 1..=events.len() {
            let (info, timeline) = (info_of(&events[..end]), Timeline::of(&events[..end]));
            let messages = history::messages(&info, &timeline, PLACE);
            let ids: BTreeSet<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            assert_eq!(ids.len(), messages.len(), "{name}: each has its own id");
            if info.turn.is_some() {
                let last = messages.last().unwrap();
                assert_eq!(last.kind, MessageType::Human, "{name} at {end}: the page resumes only then");
            }
        }
        let (info, timeline) = (info_of(&events), Timeline::of(&events));
        for message in history::messages(&info, &timeline, PLACE) {
            if message.kind == MessageType::AiGenerated {
                let streamed = turns(&events).into_iter().map(|turn| whole(&read(&events, turn).0));
                let same = streamed.into_iter().any(|answer| {
                    // What ends late is said late in a stream, and right behind its beginning in the history.
                    paragraphs(&answer.message) == paragraphs(&message.content)
                        && answer.thinking == message.thinking
                        && answer.citations == message.citations
                        && answer.tool_calls.len() == message.tool_calls.len()
                });
                assert!(same, "{name}: {message:#?}");
            }
        }
    }
}

#[test]
fn a_steered_message_stands_where_it_was_said() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("one");
    let say = |stage: &mut Stage, text: &str| {
        let item = stage.item();
        let done = Body::MessageDone { phase: None, partial: false };
        stage.said(Draft::new(done).turn(turn).item(item).text(text));
    };
    say(&mut stage, "first");
    assert_eq!(stage.prompt_when("two", When::Steer), turn);
    say(&mut stage, "second");
    stage.finish(turn, TurnOutcome::Completed);
    let messages = history::messages(&info_of(&stage.events), &Timeline::of(&stage.events), PLACE);
    let contents: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(contents, ["one", "first", "two", "second"]);
}

fn body(framing: Framing, objects: &[(u64, ChatMessageResponse)]) -> String {
    let mut text = String::new();
    objects.iter().for_each(|(seq, object)| framing.write(&mut text, longshore_model::id::Seq(*seq), object));
    text + framing.end()
}

/// The streams of all scenes, for clients in other languages.
#[test]
fn the_recorded_streams_are_fresh() {
    let mut recorded = Vec::new();
    for (name, events) in scenes() {
        for (number, turn) in turns(&events).into_iter().enumerate() {
            let objects = read(&events, turn).0;
            let mut stream = json!({
                "name": format!("{name} {}", number + 1),
                "bare": body(Framing::Bare, &objects),
                "whole": whole(&objects),
            });
            // The long one would make the file three times as long.
            if name != "files" {
                stream["lines"] = body(Framing::Lines, &objects).into();
                stream["events"] = body(Framing::Events, &objects).into();
            }
            recorded.push(stream);
        }
    }
    let fresh = format!("{:#}\n", json!(recorded));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract/chunks.json");
    if std::fs::read_to_string(&path).unwrap_or_default() != fresh {
        std::fs::write(&path, fresh).unwrap();
        panic!("contract/chunks.json was old; it is rewritten now: look at the difference and commit it");
    }
}
