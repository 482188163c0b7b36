//! Every recording of the real Claude Code, heard again.

use super::HEARD;
use crate::hearing::compare_story;

/// One line per event, reviewed by hand when it changes.
#[test]
fn every_recording_tells_the_same_story() {
    insta::glob!("../..", "captures/claude/**/*.jsonl", |path| {
        compare_story(path, |story| insta::assert_snapshot!(story));
    });
}

#[test]
fn nothing_that_claude_said_is_dropped_or_kept_twice() {
    HEARD.keeps_all_that_was_said_and_no_more(|_| false);
}
