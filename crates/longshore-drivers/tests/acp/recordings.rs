//! Every recording of the real agents, heard again.

use longshore_drivers::capture::{ReplayStep, replay};
use longshore_model::event::Body;
use longshore_model::item::ToolStatus;

use super::{HEARD, recordings};
use crate::hearing::compare_story;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/acp/**/*.jsonl", |path| {
        compare_story(path, |story| insta::assert_snapshot!(story));
    });
}

#[test]
fn nothing_that_an_agent_said_is_dropped() {
    HEARD.keeps_all_that_was_said_and_no_more(|_| false);
}

/// What is said of an agent's work ends with its turn, and a turn that was answered ends once.
#[test]
fn no_turn_leaves_a_call_or_a_message_open() {
    for (path, capture) in recordings() {
        let mut open: Vec<_> = Vec::new();
        for step in replay(&capture).unwrap() {
            let ReplayStep::Said { draft, .. } = step else { continue };
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
    for (path, capture) in recordings() {
        if !path.file_stem().unwrap().to_string_lossy().ends_with("-tool-deny") {
            continue;
        }
        let steps = replay(&capture).unwrap();
        let asked = steps.iter().any(|step| {
            matches!(step, ReplayStep::Said { draft, .. } if matches!(draft.body, Body::ApprovalRequested(_)))
        });
        let ended: Vec<ToolStatus> = steps
            .iter()
            .filter_map(|step| match step {
                ReplayStep::Said { draft, .. } => match &draft.body {
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
