//! What a turn is made of: messages joined with their pieces, tools, changes, lists.

use longshore_model::capability::Mode;
use longshore_model::event::Body;
use longshore_model::item::{FileChangeKind, PlanStatus, ToolKind, ToolStatus};
use serde_json::{Value, json};

use super::harness::{DriverHarness, bodies, only_draft};

fn begin(harness: &mut DriverHarness, message: &str, kind: &str) -> longshore_model::id::ItemId {
    harness.stream(json!({"type": "message_start", "message": {"id": message}}));
    let out =
        harness.stream(json!({"type": "content_block_start", "index": 0, "content_block": {"type": kind}}));
    only_draft(&out).item.unwrap()
}

#[test]
fn pieces_and_the_whole_are_one_item() {
    for (kind, field, delta, grows) in [
        ("text", "text", "text_delta", Body::MessageDelta),
        ("thinking", "thinking", "thinking_delta", Body::ReasoningDelta),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let item = begin(&mut harness, "m", kind);
        let out = harness.stream(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": delta, field: "he\"y"}}),
        );
        let draft = only_draft(&out);
        assert_eq!((draft.item, &draft.body, draft.text.as_deref()), (Some(item), &grows, Some("he\"y")));
        assert_eq!(draft.turn, Some(harness.turn));
        let out = harness.block("m", json!({"type": kind, field: "hey you"}));
        let draft = only_draft(&out);
        assert_eq!((draft.item, draft.text.as_deref()), (Some(item), Some("hey you")));
        // What grows after that belongs to nothing.
        let out = harness
            .stream(json!({"type": "content_block_delta", "index": 0, "delta": {"type": delta, field: "x"}}));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    }
}

/// Claude makes calls that may change something one after another, and says nothing when the next one begins.
#[test]
fn a_call_that_is_announced_begins_when_its_turn_comes() {
    let mut harness = DriverHarness::in_turn(Mode::Full);
    let session = harness.session;
    let input = |id: &str| json!({"command": id, "file_path": id});
    let began = |out: &longshore_model::driver::Output| -> Vec<String> {
        let id = |body: &Body| match body {
            Body::ToolStarted(call) => call.input["command"].as_str().map(str::to_owned),
            _ => None,
        };
        bodies(out, session).into_iter().filter_map(id).collect()
    };
    assert_eq!(began(&harness.tool_use("a", "Bash", input("a"))), ["a"]);
    for (id, name) in [("b", "Bash"), ("c", "Read"), ("d", "Read"), ("e", "Bash")] {
        let out = harness.tool_use(id, name, input(id));
        assert!(began(&out).is_empty());
        assert!(only_draft(&out).raw.is_some(), "its line is kept");
    }
    let mut ended = |id: &str| began(&harness.tool_result(id, false, json!("done"), Value::Null));
    assert_eq!(ended("a"), ["b"]);
    assert_eq!(ended("b"), ["c", "d"], "those that only look run side by side");
    assert!(ended("c").is_empty());
    assert_eq!(ended("d"), ["e"]);
    assert!(ended("e").is_empty());
}

/// The stream broke, and the model was asked again: nothing may be read twice.
#[test]
fn what_a_broken_stream_left_behind_is_thrown_away() {
    for again in ["assistant", "message_start", "result"] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let item = begin(&mut harness, "first", "text");
        harness.stream(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}));
        let out = match again {
            "assistant" => harness.block("second", json!({"type": "text", "text": "whole"})),
            "message_start" => harness.stream(json!({"type": "message_start", "message": {"id": "second"}})),
            _ => harness.result(json!({})),
        };
        let (_, left) = &out.said[0];
        assert_eq!(left.body, Body::MessageDone { phase: None, partial: true });
        assert_eq!((left.item, left.text.as_deref()), (Some(item), Some("")));
        if again == "assistant" {
            assert_ne!(out.said[1].1.item, Some(item));
            assert_eq!(out.said[1].1.text.as_deref(), Some("whole"));
        }
    }
}

#[test]
fn tools_have_kinds_names_and_titles() {
    for (tool, input, kind, name, title) in [
        ("Bash", json!({"command": "ls"}), ToolKind::Execute, "Bash", "ls"),
        ("Read", json!({"file_path": "/w/a"}), ToolKind::Read, "Read", "/w/a"),
        ("Edit", json!({"file_path": "/w/a"}), ToolKind::Edit, "Edit", "/w/a"),
        ("Write", json!({"file_path": "/w/a"}), ToolKind::Edit, "Write", "/w/a"),
        ("MultiEdit", json!({"file_path": "/w/a"}), ToolKind::Edit, "MultiEdit", "/w/a"),
        ("NotebookEdit", json!({"notebook_path": "/w/n"}), ToolKind::Edit, "NotebookEdit", "/w/n"),
        ("Glob", json!({"pattern": "*.rs"}), ToolKind::Search, "Glob", "*.rs"),
        ("Grep", json!({"pattern": "x"}), ToolKind::Search, "Grep", "x"),
        ("WebFetch", json!({"url": "u"}), ToolKind::Fetch, "WebFetch", "u"),
        ("WebSearch", json!({"query": "q"}), ToolKind::Fetch, "WebSearch", "q"),
        ("Task", json!({"description": "d"}), ToolKind::Delegate, "Task", "d"),
        ("Agent", json!({"prompt": "p"}), ToolKind::Delegate, "Agent", "p"),
        ("TodoWrite", json!({"todos": []}), ToolKind::Think, "TodoWrite", "TodoWrite"),
        ("mcp__db__run__it", json!({}), ToolKind::Other, "db.run__it", "db.run__it"),
        ("Skill", json!({"skill": "s"}), ToolKind::Other, "Skill", "s"),
        ("New", json!(null), ToolKind::Other, "New", "New"),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let out = harness.tool_use("t", tool, input);
        let draft = only_draft(&out);
        let Body::ToolStarted(call) = &draft.body else { panic!("{:?}", draft.body) };
        assert_eq!((call.kind, call.name.as_str(), draft.text.as_deref()), (kind, name, Some(title)));
        assert_eq!(call.cwd.as_deref(), (kind == ToolKind::Execute).then_some("/w"));
    }
}

#[test]
fn results_end_calls() {
    let rejected = json!("User rejected tool use");
    for (tool, is_error, content, data, status, exit, text) in [
        ("Bash", false, json!("out"), json!({"stdout": "out"}), ToolStatus::Completed, None, "out"),
        ("Bash", false, json!("(Bash completed with no output)"), json!({}), ToolStatus::Completed, None, ""),
        ("Bash", true, json!("Exit code 3\nboom"), json!("Error"), ToolStatus::Failed, Some(3), "boom"),
        ("Bash", true, json!("Exit code 137"), json!("Error"), ToolStatus::Failed, Some(137), ""),
        ("Bash", false, json!("Exit code 3"), json!({}), ToolStatus::Completed, None, "Exit code 3"),
        (
            "Read",
            true,
            json!("<tool_use_error>gone</tool_use_error>"),
            json!("Error: gone"),
            ToolStatus::Failed,
            None,
            "gone",
        ),
        ("Grep", true, json!("stop"), rejected, ToolStatus::Cancelled, None, "stop"),
        (
            "X",
            false,
            json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            json!(null),
            ToolStatus::Completed,
            None,
            "a\nb",
        ),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        harness.tool_use("t", tool, json!({"command": "c"}));
        let out = harness.tool_result("t", is_error, content, data);
        let draft = only_draft(&out);
        let Body::ToolFinished(outcome) = &draft.body else { panic!("{:?}", draft.body) };
        assert_eq!(
            (outcome.status, outcome.exit_code, draft.text.as_deref()),
            (status, exit, Some(text)),
            "{tool}"
        );
        assert_eq!(outcome.result, Value::Null);
        // A second result is of nothing.
        let out = harness.tool_result("t", false, json!("again"), Value::Null);
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    }
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool_use("t", "mcp__a__b", json!({}));
    let content = json!([{"type": "image", "source": {}}, {"type": "text", "text": "seen"}]);
    let out = harness.tool_result("t", false, content.clone(), Value::Null);
    assert!(matches!(&only_draft(&out).body, Body::ToolFinished(outcome) if outcome.result == content));
}

#[test]
fn a_call_without_a_result_ends_with_its_turn() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tool_use("t", "Bash", json!({"command": "c"}));
    let out = harness.result(json!({}));
    let Body::ToolFinished(outcome) = &out.said[0].1.body else { panic!("{:?}", out.said) };
    assert_eq!(outcome.status, ToolStatus::Cancelled);
}

#[test]
fn changes_are_diffs_on_the_item_of_their_tool() {
    let patch =
        json!([{"oldStart": 4, "oldLines": 2, "newStart": 4, "newLines": 2, "lines": [" a", "-b", "+B"]}]);
    for (tool, input, data, kind, diff) in [
        (
            "Write",
            json!({"file_path": "/w/n", "content": "a\n"}),
            json!({"type": "create", "filePath": "/w/n", "content": "a\n", "structuredPatch": [], "originalFile": null}),
            FileChangeKind::Add,
            "--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+a\n",
        ),
        (
            "Edit",
            json!({"file_path": "/w/n"}),
            json!({"filePath": "/w/n", "structuredPatch": patch}),
            FileChangeKind::Update,
            "--- a/n\n+++ b/n\n@@ -4,2 +4,2 @@\n a\n-b\n+B\n",
        ),
        (
            "Write",
            json!({"file_path": "/w/n", "content": "a\nB"}),
            json!({"type": "update", "filePath": "/w/n", "content": "a\nB", "structuredPatch": patch, "originalFile": "a\nb"}),
            FileChangeKind::Update,
            "--- a/n\n+++ b/n\n@@ -4,2 +4,2 @@\n a\n-b\n+B\n",
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/w/n", "new_source": "x = 1\n"}),
            json!({"new_source": "x = 1\n"}),
            FileChangeKind::Update,
            "--- a/n\n+++ b/n\n@@ where in the file is not known\n+x = 1\n",
        ),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let item = only_draft(&harness.tool_use("t", tool, input)).item;
        let out = harness.tool_result("t", false, json!("ok"), data);
        let (_, changed) = &out.said[0];
        let Body::FileDiff(made) = &changed.body else { panic!("{:?}", out.said) };
        assert_eq!((changed.item, made.status), (item, ToolStatus::Completed));
        assert_eq!((made.changes[0].kind, made.changes[0].diff.as_str()), (kind, diff), "{tool}");
        assert!(matches!(out.said[1].1.body, Body::ToolFinished(_)));
    }
    // Nothing changed, or nothing was done.
    for (is_error, data) in [
        (false, json!({"type": "update", "filePath": "/w/n", "structuredPatch": [], "originalFile": "a"})),
        (true, json!("Error")),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        harness.tool_use("t", "Write", json!({"file_path": "/w/n", "content": "a"}));
        let out = harness.tool_result("t", is_error, json!("x"), data);
        assert!(matches!(only_draft(&out).body, Body::ToolFinished(_)));
    }
}

#[test]
fn lists_are_plans() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let mut run = |tool: &str, input: Value, data: Value| {
        harness.tool_use("t", tool, input);
        let out = harness.tool_result("t", false, json!("ok"), data);
        bodies(&out, harness.session).into_iter().find_map(|body| match body {
            Body::PlanUpdated { steps } => {
                Some(steps.iter().map(|step| (step.text.clone(), step.status)).collect::<Vec<_>>())
            }
            _ => None,
        })
    };
    use PlanStatus::{Completed, InProgress, Pending};
    let step = |text: &str, status| (text.to_owned(), status);
    let todos = json!([{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]);
    let plan = run("TodoWrite", json!({"todos": todos}), json!({"newTodos": todos}));
    assert_eq!(plan, Some(vec![step("a", Completed), step("b", Pending)]));

    let create = |id: &str, subject: &str| json!({"task": {"id": id, "subject": subject}});
    assert_eq!(run("TaskCreate", json!({}), create("2", "two")), Some(vec![step("two", Pending)]));
    let plan = run("TaskCreate", json!({}), create("10", "ten"));
    assert_eq!(plan, Some(vec![step("two", Pending), step("ten", Pending)]));
    let plan = run("TaskUpdate", json!({"taskId": "2", "status": "in_progress"}), json!({"success": true}));
    assert_eq!(plan, Some(vec![step("two", InProgress), step("ten", Pending)]));
    let plan = run("TaskUpdate", json!({"taskId": "10", "status": "deleted"}), json!({"success": true}));
    assert_eq!(plan, Some(vec![step("two", InProgress)]));
    assert_eq!(run("TaskUpdate", json!({"taskId": "77", "status": "completed"}), json!({})), None);
    let listed = json!({"tasks": [{"id": "2", "subject": "two", "status": "in_progress"}]});
    assert_eq!(run("TaskList", json!({}), listed), None, "the list is known already");
    let listed = json!({"tasks": [{"id": "3", "subject": "three", "status": "completed"}]});
    assert_eq!(run("TaskList", json!({}), listed), Some(vec![step("three", Completed)]));
    assert_eq!(run("Bash", json!({}), json!({})), None);
}

#[test]
fn pictures_in_a_result_are_attached_and_not_told_as_data_once_more() {
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    for (tool, input, content, name, text) in [
        ("Read", json!({"file_path": "/w/pic.png"}), json!([picture]), Some("pic.png"), ""),
        ("mcp__browser__shot", json!({}), json!([{"type": "text", "text": "done"}, picture]), None, "done"),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        harness.tool_use("t", tool, input);
        let out = harness.tool_result("t", false, content, Value::Null);
        let draft = only_draft(&out);
        let Body::ToolFinished(outcome) = &draft.body else { panic!("{out:?}") };
        assert_eq!(draft.text.as_deref(), Some(text));
        assert_eq!(outcome.attachments.len(), 1, "{outcome:?}");
        let attached = &outcome.attachments[0];
        assert_eq!((attached.name.as_deref(), attached.media_type.as_str()), (name, "image/png"));
        assert!(outcome.result.is_null(), "{outcome:?}");
    }
}
