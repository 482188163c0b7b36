//! Every recording of the real codex, heard again.

use longshore_drivers::capture::Capture;

use super::{HEARD, recordings};
use crate::hearing::compare_story;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/codex/**/*.jsonl", |path| {
        compare_story(path, |story| insta::assert_snapshot!(story));
    });
}

#[test]
fn nothing_that_codex_said_is_dropped() {
    HEARD.keeps_all_that_was_said_and_no_more(|_| false);
}

#[test]
fn a_recording_is_written_as_it_was_read() {
    for (_, capture) in recordings() {
        let mut bytes = Vec::new();
        capture.write(&mut bytes).unwrap();
        let again = Capture::read(bytes.as_slice()).unwrap();
        assert_eq!(capture.entries.len(), again.entries.len());
        for (one, other) in capture.entries.iter().zip(&again.entries) {
            assert_eq!((one.t, one.dir, one.line()), (other.t, other.dir, other.line()));
        }
    }
}
