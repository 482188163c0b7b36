//! What tool calls of all agents are called for people. The cases are a file, so that clients in other languages run them.

use std::path::Path;

use longshore_model::describe::{after, before, finished, running};
use longshore_model::item::{FileChange, ToolCall, ToolOutcome};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize)]
struct Case {
    call: ToolCall,
    outcome: ToolOutcome,
    #[serde(default)]
    output: String,
    #[serde(default)]
    changes: Vec<FileChange>,
    running: String,
    finished: String,
    before: String,
    after: String,
}

/// Written anew with `LONGSHORE_BLESS=1`; only calls and outcomes are given, the rest is said by us and read by people.
#[test]
fn every_call_is_said_as_the_vectors_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors-describe.json");
    let mut cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    if std::env::var_os("LONGSHORE_BLESS").is_some() {
        for case in &mut cases {
            case.running = running(&case.call);
            case.finished = finished(&case.call, &case.outcome);
            case.before = before(&case.call);
            case.after = after(&case.call, &case.outcome, &case.output, &case.changes);
        }
        std::fs::write(&path, serde_json::to_string_pretty(&cases).unwrap() + "\n").unwrap();
    }
    assert!(cases.len() >= 30);
    for case in cases {
        assert_eq!(running(&case.call), case.running);
        assert_eq!(finished(&case.call, &case.outcome), case.finished);
        assert_eq!(before(&case.call), case.before);
        assert_eq!(after(&case.call, &case.outcome, &case.output, &case.changes), case.after);
    }
}

#[test]
fn a_fence_cannot_be_ended_by_what_is_in_it() {
    let call: ToolCall =
        serde_json::from_str(r#"{"name":"Bash","kind":"execute","command":"echo '````'"}"#).unwrap();
    assert_eq!(before(&call), "`````sh\necho '````'\n`````");
}
