//! Every recording of the real agents, heard again.

use std::collections::HashMap;

use longshore_drivers::capture::{Direction, Narrator, Step, replay};
use longshore_model::event::Body;
use longshore_model::item::ToolStatus;

use super::recordings;
use crate::hearing::read;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/acp/**/*.jsonl", |path| {
        let mut narrator = Narrator::new();
        let story: Vec<String> =
            replay(&read(path)).unwrap().iter().map(|step| narrator.step(step)).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(story.join("\n"));
        });
    });
}

#[test]
fn nothing_that_an_agent_said_is_dropped() {
    for path in recordings() {
        let capture = read(&path);
        let mut kept: HashMap<String, usize> = HashMap::new();
        for step in replay(&capture).unwrap() {
            if let Step::Said { draft, .. } = step
                && let Some(raw) = &draft.raw
            {
                *kept.entry(raw.to_string()).or_default() += 1;
            }
        }
        let mut said: HashMap<String, usize> = HashMap::new();
        for entry in capture.entries.iter().filter(|entry| entry.dir == Direction::FromAgent) {
            *said.entry(entry.line()).or_default() += 1;
        }
        assert_eq!(said, kept, "in {}", path.display());
    }
}

/// What is said of an agent's work ends with its turn, and a turn that was answered ends once.
#[test]
fn no_turn_leaves_a_call_or_a_message_open() {
    for path in recordings() {
        let mut open: Vec<_> = Vec::new();
        for step in replay(&read(&path)).unwrap() {
            let Step::Said { draft, .. } = step else { continue };
            match &draft.body {
                Body::ToolStarted(_) => open.push(draft.item),
                Body::MessageDelta | Body::ReasoningDelta if !open.contains(&draft.item) => {
                    open.push(draft.item);
                }
                Body::ToolFinished(_) | Body::MessageDone { .. } | Body::ReasoningDone { .. } => {
                    assert!(open.contains(&draft.item), "{:?} in {}", draft.body, path.display());
                    open.retain(|item| *item != draft.item);
                }
                Body::FileDiff(diff) => {
                    assert!(open.contains(&draft.item), "a diff on a call in {}", path.display());
                    assert!(!diff.changes.is_empty());
                }
                Body::TurnFinished(_) => assert!(open.is_empty(), "{open:?} in {}", path.display()),
                _ => {}
            }
        }
    }
}

/// The same scenario has the same outcome with every agent, except where the agents themselves differ.
#[test]
fn a_denied_command_is_declined_whichever_agent_asked() {
    let mut seen = 0;
    for path in recordings() {
        if !path.file_stem().unwrap().to_string_lossy().ends_with("-tool-deny") {
            continue;
        }
        let steps = replay(&read(&path)).unwrap();
        let asked = steps.iter().any(|step| {
            matches!(step, Step::Said { draft, .. } if matches!(draft.body, Body::ApprovalRequested(_)))
        });
        let ended: Vec<ToolStatus> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Said { draft, .. } => match &draft.body {
                    Body::ToolFinished(outcome) => Some(outcome.status),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        if asked {
            seen += 1;
            assert_eq!(ended, [ToolStatus::Declined], "in {}", path.display());
        }
    }
    assert!(seen >= 4, "{seen}");
}
