//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the session that
//! hears them is one that could be.

use longshore_drivers::codex::replay::CodexPlayer;

use super::HEARD;
use crate::hearing::tell_everything;

#[test]
fn every_prefix_of_a_recording_leaves_a_session_that_could_be() {
    HEARD.may_stop_anywhere();
}

/// Wherever a recording stops, a codex that then says nothing leaves nobody waiting for it.
#[test]
fn silence_ends_every_wait() {
    HEARD.waits_end_in_silence(|_| CodexPlayer::default(), tell_everything);
}

#[test]
fn harmed_recordings_panic_nobody_and_are_kept() {
    HEARD.survives_harm();
}

#[test]
fn shuffled_recordings_panic_nobody_and_are_kept() {
    HEARD.survives_shuffling();
}

#[test]
fn any_line_at_all_is_kept() {
    HEARD.keeps_any_line();
}
