//! Every recording of the real OpenCode, heard again.

use std::collections::HashMap;

use longshore_drivers::capture::{Direction, Narrator, Step, replay};
use longshore_model::event::Body;

use super::recordings;
use crate::hearing::read;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/opencode/**/*.jsonl", |path| {
        let capture = read(path);
        let mut narrator = Narrator::new();
        let story: Vec<String> = replay(&capture).unwrap().iter().map(|step| narrator.step(step)).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(story.join("\n"));
        });
    });
}

#[test]
fn nothing_that_opencode_said_is_dropped_or_kept_twice() {
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
        // A conversation of an earlier process is gone on with, which the recorded client did without asking.
        kept.retain(|raw, _| {
            said.contains_key(raw) || !raw.starts_with(r#"{"method":"GET","path":"/session/ses_"#)
        });
        assert_eq!(said, kept, "in {}", path.display());
    }
}

/// No event that the waist has a word for is kept raw because it could not be read.
#[test]
fn every_recorded_event_can_be_read() {
    for path in recordings() {
        for step in replay(&read(&path)).unwrap() {
            if let Step::Said { draft, .. } = step
                && let Body::Raw { kind, fault } = &draft.body
            {
                assert_eq!(*fault, None, "{kind} in {}", path.display());
            }
        }
    }
}
