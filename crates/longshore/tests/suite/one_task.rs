//! One task through every driver: the same timeline. Compared is what every agent was recorded with; that each still does so
//! is found out in `scenarios.rs`, where all of them play the task.

use longshore::scenario::shape::essence;
use longshore::scenario::{RecordedAgent, Shape, differences};
use serde_json::json;

/// The task as everybody should tell it: a command with its output, a change with its diff, an approval for each, a
/// report, and the end of the turn.
fn told_by_all() -> Shape {
    let command = "expr 770000 + 7 > made.txt; cat made.txt";
    let shape = json!([
        { "is": "prompt", "text": "do it" },
        { "is": "approval", "what": command, "to": "run", "decision": "allow_once" },
        { "is": "tool", "what": command, "kind": "execute", "status": "completed", "output": "770007" },
        { "is": "approval", "what": "heron.txt", "to": "change", "shows": ["add heron.txt +1 -0"], "decision": "allow_once" },
        { "is": "diff", "what": "heron.txt", "status": "completed", "changes": ["add heron.txt +1 -0"] },
        { "is": "message", "text": "All done.", "streamed": true },
        { "is": "turn", "outcome": "completed", "usage": true },
    ]);
    serde_json::from_value(shape).unwrap()
}

const USAGE: &str = "the end of the turn: usage none instead of yes";
const UPDATE: &str = "diff of `heron.txt`: changes `update heron.txt +1 -0` instead of `add heron.txt +1 -0`";

const SHOWS_UPDATE: &str =
    "approval of `heron.txt`: shows `update heron.txt +1 -0` instead of `add heron.txt +1 -0`";

/// Where an agent differs by its nature.
const DIFFERS: [(&str, &[&str]); 12] = [
    ("codex", &[]),
    // Headless it asks nobody, says what is whole, and names a file that it changed without the change.
    (
        "codex-exec",
        &[
            "approval of `expr 770000 + 7 > made.txt; cat made.txt` is missing",
            "approval of `heron.txt` is missing",
            "diff of `heron.txt`: changes `add heron.txt +0 -0` instead of `add heron.txt +1 -0`",
            "message `All done.`: streamed none instead of yes",
        ],
    ),
    ("claude", &[]),
    ("opencode", &[]),
    // It shows what a command printed to its model only.
    ("gemini", &["tool call `expr 770000 + 7 > made.txt; cat made.txt`: output none instead of 770007"]),
    // It tells of a new file as of one that was empty, and names it in what it says next.
    (
        "copilot",
        &[
            SHOWS_UPDATE,
            UPDATE,
            "message `All done.`: text `Info: $WORK/heron.txtAll done.` instead of `All done.`",
        ],
    ),
    // These three do not tell in the protocol what a turn used.
    ("codex-acp", &[USAGE]),
    ("claude-code-acp", &[USAGE]),
    ("opencode-acp", &[SHOWS_UPDATE, UPDATE, USAGE]),
    ("react", &[]),
    ("claude-agent-acp", &[]),
    ("qwen", &[SHOWS_UPDATE, UPDATE]),
];

#[test]
fn the_same_task_has_the_same_shape_with_every_agent() {
    let mut faults = Vec::new();
    for (name, differs) in DIFFERS {
        let recorded = RecordedAgent::of(name).unwrap();
        let seen = differences(&told_by_all(), &essence(&recorded.scenarios["task"]));
        if seen != differs {
            faults.push(format!("{name}: {seen:#?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let known: Vec<&str> = RecordedAgent::agents().collect();
    assert_eq!(DIFFERS.map(|(name, _)| name).to_vec(), known, "every agent is asked");
}
