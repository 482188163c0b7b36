//! Every recording of the real OpenCode, heard again.

use longshore_drivers::capture::{ReplayStep, replay};
use longshore_model::event::Body;

use super::{HEARD, recordings};
use crate::hearing::compare_story;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/opencode/**/*.jsonl", |path| {
        compare_story(path, |story| insta::assert_snapshot!(story));
    });
}

#[test]
fn nothing_that_opencode_said_is_dropped_or_kept_twice() {
    // A conversation of an earlier process is gone on with, which the recorded client did without asking.
    HEARD.keeps_all_that_was_said_and_no_more(|raw| {
        raw.starts_with(r#"{"method":"GET","path":"/session/ses_"#)
    });
}

/// No event that the waist has a word for is kept raw because it could not be read.
#[test]
fn every_recorded_event_can_be_read() {
    for (path, capture) in recordings() {
        for step in replay(&capture).unwrap() {
            if let ReplayStep::Said { draft, .. } = step
                && let Body::Raw { kind, fault } = &draft.body
            {
                assert_eq!(*fault, None, "{kind} in {}", path.display());
            }
        }
    }
}
