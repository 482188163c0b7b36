//! Every recording of the real codex, heard again.

use std::collections::HashMap;

use longshore_drivers::capture::{Capture, Direction, Narrator, Step, replay};

use super::{read, recordings};

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/codex/**/*.jsonl", |path| {
        let capture = read(path);
        let mut narrator = Narrator::new();
        let story: Vec<String> = replay(&capture).unwrap().iter().map(|step| narrator.step(step)).collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(story.join("\n"));
        });
    });
}

#[test]
fn nothing_that_codex_said_is_dropped() {
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

#[test]
fn a_recording_is_written_as_it_was_read() {
    for path in recordings() {
        let capture = read(&path);
        let mut bytes = Vec::new();
        capture.write(&mut bytes).unwrap();
        let again = Capture::read(bytes.as_slice()).unwrap();
        assert_eq!(capture.entries.len(), again.entries.len());
        for (one, other) in capture.entries.iter().zip(&again.entries) {
            assert_eq!((one.t, one.dir, one.line()), (other.t, other.dir, other.line()));
        }
    }
}
