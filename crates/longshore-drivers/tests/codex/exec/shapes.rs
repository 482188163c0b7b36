//! Lines of old releases: every name that each part of them has had.

use longshore_drivers::codex::exec::wire::{Called, ExecEvent, Returned, read};
use longshore_model::event::{Body, RawFault};
use longshore_model::item::{ToolKind, ToolStatus};
use serde_json::{Map, Value, json};

use super::harness::{DriverHarness, bodies};

/// A line whose type stands where it is said to, around the fields.
fn line(place: &str, container: &str, kind: &str, mut fields: Map<String, Value>) -> Value {
    let mut line = Map::new();
    match place {
        "inside" => drop(fields.insert("type".to_owned(), kind.into())),
        outside => drop(line.insert(outside.to_owned(), kind.into())),
    }
    line.insert(container.to_owned(), fields.into());
    line.into()
}

fn fields(of: &[(&str, Value)]) -> Map<String, Value> {
    of.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

#[test]
fn every_shape_of_a_call_and_its_result_is_one_call() {
    let mut tried = 0;
    for place in ["type", "event", "inside"] {
        for container in ["item", "msg", "payload"] {
            for (name, id, arguments) in [
                ("tool_name", "id", "arguments"),
                ("tool_name", "id", "args"),
                ("tool_name", "call_id", "arguments"),
                ("tool_name", "call_id", "args"),
                ("tool", "id", "arguments"),
                ("tool", "id", "args"),
                ("tool", "call_id", "arguments"),
                ("tool", "call_id", "args"),
            ] {
                let (mut harness, turn) = DriverHarness::in_turn();
                let call = fields(&[
                    (id, "tool_abc123".into()),
                    (name, "Bash".into()),
                    (arguments, json!({"command": ["ls", "-la"]})),
                ]);
                let call = line(place, container, "tool_call", call);
                let out = harness.kept(&call);
                let [Body::ToolStarted(started)] = bodies(&out)[..] else { panic!("{call}: {out:?}") };
                assert_eq!((started.name.as_str(), started.kind), ("Bash", ToolKind::Execute), "{call}");
                assert_eq!(started.command.as_deref(), Some("ls -la"), "{call}");
                let item = out.said[0].1.item;
                let result =
                    fields(&[(id, "tool_abc123".into()), ("ok", true.into()), ("output", "a\nb".into())]);
                let out = harness.kept(&line(place, container, "tool_result", result));
                let [(_, draft)] = &out.said[..] else { panic!("{out:?}") };
                assert!(
                    matches!(&draft.body, Body::ToolFinished(end) if end.status == ToolStatus::Completed)
                );
                assert_eq!((draft.item, draft.turn, draft.text.as_deref()), (item, Some(turn), Some("a\nb")));
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 3 * 3 * 8);
}

#[test]
fn the_first_name_of_a_part_counts() {
    let said = read(
        r#"{"type":"TOOL_CALL","event":"tool_result","msg":{"id":"no"},"item":{"id":"yes","call_id":"no",
            "tool_name":"yes","tool":"no","arguments":{"a":1},"args":{"a":2}}}"#,
    );
    let called = Called { id: "yes".to_owned(), name: "yes".to_owned(), arguments: json!({"a": 1}) };
    assert_eq!(said.unwrap().said, ExecEvent::Called(called));
}

#[test]
fn what_a_call_leaves_out_is_made_up_for() {
    for (line, id, name, arguments) in [
        (json!({"type": "tool_call"}), "", "tool", json!(null)),
        (json!({"type": "tool_call", "tool": "read"}), "", "read", json!(null)),
        (json!({"event": "tool_call", "payload": {"call_id": 7}}), "7", "tool", json!(null)),
        (json!({"type": "tool_call", "item": {"args": "{\"a\":1}"}}), "", "tool", json!({"a": 1})),
        (json!({"type": "tool_call", "item": {"args": "plain"}}), "", "tool", json!("plain")),
    ] {
        let called = Called { id: id.to_owned(), name: name.to_owned(), arguments };
        assert_eq!(read(&line.to_string()).unwrap().said, ExecEvent::Called(called), "{line}");
    }
}

#[test]
fn a_result_says_whether_it_is_good_by_ok_or_by_its_error() {
    for (fields, ok, error) in [
        (json!({"ok": true}), true, None),
        (json!({"ok": false}), false, None),
        (json!({"ok": false, "error": "denied"}), false, Some("denied")),
        (json!({"ok": true, "error": "a warning"}), true, Some("a warning")),
        (json!({"error": "denied"}), false, Some("denied")),
        (json!({"error": {"message": "denied"}}), false, Some("denied")),
        (json!({"error": null}), true, None),
        (json!({}), true, None),
    ] {
        let line = json!({"type": "tool_result", "item": fields});
        let returned =
            Returned { id: String::new(), ok, output: Value::Null, error: error.map(str::to_owned) };
        assert_eq!(read(&line.to_string()).unwrap().said, ExecEvent::Returned(returned), "{line}");
    }
}

#[test]
fn results_are_words_or_data() {
    let (mut harness, _) = DriverHarness::in_turn();
    let result = |id: &str, output: Value, error: Value| json!({"type": "tool_result", "item": {"id": id, "output": output, "error": error}});
    // One that nobody called is begun when it ends.
    let out = harness.kept(&result("a", json!({"rows": 3}), json!(null)));
    let [Body::ToolStarted(_), Body::ToolFinished(end)] = bodies(&out)[..] else { panic!("{out:?}") };
    assert_eq!((end.status, &end.result), (ToolStatus::Completed, &json!({"rows": 3})));
    let out = harness.kept(&result("b", json!("half"), json!("broken off")));
    let (_, draft) = out.said.last().unwrap();
    assert!(matches!(&draft.body, Body::ToolFinished(end) if end.status == ToolStatus::Failed));
    assert_eq!(draft.text.as_deref(), Some("half\nbroken off"));
    // And one that has ended has ended.
    let out = harness.kept(&result("b", json!("again"), json!(null)));
    assert!(matches!(bodies(&out)[..], [Body::Raw { .. }]));
}

#[test]
fn calls_without_a_name_are_not_taken_for_one_another() {
    let (mut harness, _) = DriverHarness::in_turn();
    let mut items = Vec::new();
    for tool in ["one", "two"] {
        let started = harness.kept(&json!({"type": "tool_call", "item": {"tool": tool}}));
        let ended = harness.kept(&json!({"type": "tool_result", "item": {"output": tool}}));
        assert_eq!(started.said[0].1.item, ended.said[0].1.item);
        items.push(started.said[0].1.item);
    }
    assert_ne!(items[0], items[1]);
}

#[test]
fn lines_that_say_nothing_to_us_are_kept_by_their_names() {
    for (line, kind) in [
        (json!({"type": "turn.started"}), "turn.started"),
        (json!({"event": "Token_Count", "payload": {"type": "x"}}), "token_count/x"),
        (json!({"msg": {"type": "task_started"}}), "task_started"),
        (json!({"type": "thread.started"}), "thread.started"),
        (json!({}), "line"),
    ] {
        let (mut harness, _) = DriverHarness::in_turn();
        let out = harness.kept(&line);
        assert!(matches!(bodies(&out)[..], [Body::Raw { kind: of, fault: None }] if of == kind), "{out:?}");
    }
    let (mut harness, _) = DriverHarness::in_turn();
    for line in [json!([]), json!(null), json!({"type": "turn.completed", "usage": {"input_tokens": "many"}})]
    {
        let out = harness.kept(&line);
        assert!(matches!(bodies(&out)[..], [Body::Raw { fault: Some(RawFault::Malformed), .. }]), "{out:?}");
    }
    let out = harness.item("completed", json!({"id": "f", "type": "file_change", "changes": 3}));
    assert!(matches!(bodies(&out)[..], [Body::Raw { fault: Some(RawFault::Malformed), .. }]), "{out:?}");
}
