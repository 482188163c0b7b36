//! The vectors: events in, timeline out. Every fold, in whatever language, runs the same files.

use std::path::Path;

use longshore_model::event::Event;
use longshore_model::timeline::Timeline;
use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn every_vector_folds_to_its_timeline() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let events: Vec<Event> = serde_json::from_value(vector["events"].clone()).unwrap();
        let timeline = serde_json::to_value(Timeline::of(&events)).unwrap();
        assert_eq!(timeline, vector["timeline"], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "there are vectors in {}", folder.display());
}

/// Writes the vectors anew from the scenes below: run with `LONGSHORE_BLESS=1` after a wanted change, and read the
/// difference before committing it.
#[test]
fn vectors_can_be_written_anew() {
    for (name, stage) in scenes() {
        let vector = json!({ "events": stage.events, "timeline": Timeline::of(&stage.events) });
        let text = format!("{vector:#}\n");
        if std::env::var_os("LONGSHORE_BLESS").is_some() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{name}.json")), &text).unwrap();
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{name}.json"));
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name} is stale: bless it");
    }
}

fn scenes() -> Vec<(&'static str, Stage)> {
    use longshore_model::event::{Body, Draft};
    use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
    use longshore_model::lifecycle::{Sleep, TurnOutcome};

    let mut plain = Stage::ready();
    let turn = plain.prompt("hello");
    let (thought, message) = (plain.item(), plain.item());
    plain.said(Draft::new(Body::ReasoningDelta).turn(turn).item(thought).text("think"));
    plain.said(Draft::new(Body::ReasoningDone { partial: false }).turn(turn).item(thought).text("thinking"));
    plain.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("Hel"));
    plain.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("lo"));
    plain.said(
        Draft::new(Body::MessageDone { phase: None, partial: false }).turn(turn).item(message).text("Hello!"),
    );
    plain.finish(turn, TurnOutcome::Completed);

    let mut tool = Stage::ready();
    let turn = tool.prompt("run it");
    let item = tool.item();
    let call = ToolCall {
        name: "exec_command".to_owned(),
        kind: ToolKind::Execute,
        command: Some("make test".to_owned()),
        cwd: Some("/home/dev/project".to_owned()),
        input: json!({ "cmd": "make test" }),
    };
    tool.said(Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text("make test"));
    tool.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("line 2\n"));
    let outcome = ToolOutcome { exit_code: Some(0), ..ToolOutcome::of(ToolStatus::Completed) };
    tool.said(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text("line 1\nline 2\n"));
    tool.finish(turn, TurnOutcome::Completed);

    let mut cut = Stage::ready();
    let turn = cut.prompt("go on");
    let message = cut.item();
    cut.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("I was about to"));
    cut.gone(Sleep { signal: Some(9), ..Sleep::default() }, "the agent was killed");

    vec![("plain", plain), ("tool", tool), ("cut", cut)]
}
