//! Recordings of `codex exec` that break off, are mangled or out of order.

use std::path::PathBuf;

use longshore_drivers::capture::{Capture, Direction, Player};
use longshore_drivers::codex::exec::replay::{ExecPlayer, is_run};
use longshore_drivers::codex::exec::{Exec, NAME, capabilities, name};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;

use crate::codex::recordings;
use crate::hearing::DriverRecordings;

const HEARD: DriverRecordings =
    DriverRecordings { driver: NAME, recordings: runs, fragile: &[], agent: |_| (name(), capabilities()) };

/// Those that hold nothing but runs.
fn runs() -> Vec<(PathBuf, Capture)> {
    let mut runs = recordings();
    runs.retain(|(_, capture)| {
        let mut spawns = capture.entries.iter().filter(|entry| entry.dir == Direction::Spawn).peekable();
        spawns.peek().is_some() && spawns.all(is_run)
    });
    for (_, capture) in &mut runs {
        capture.driver = NAME.to_owned();
    }
    assert_eq!(runs.len(), 12);
    runs
}

#[test]
fn every_prefix_of_a_run_leaves_a_session_that_could_be() {
    HEARD.may_stop_anywhere();
}

#[test]
fn silence_ends_every_wait() {
    for (path, capture) in runs() {
        for end in 1..=capture.entries.len() {
            let mut player = ExecPlayer::default();
            player.play_all(&capture.entries[..end]);
            player.wait(600.0);
            assert!(!player.waits(), "{} cut at {end}", path.display());
        }
    }
}

#[test]
fn words_before_there_is_a_session_harm_nobody() {
    let mut driver = Exec::new();
    let mut out = Output::default();
    let mut cx = Context { now: Timestamp::default(), ids: &mut Ids::seeded(1) };
    driver.handle(Input::Line("{}".into()), &mut cx, &mut out);
    driver.handle(Input::Tick, &mut cx, &mut out);
    assert!(out.said.is_empty() && driver.deadline().is_none());
}

#[test]
fn harmed_runs_panic_nobody_and_are_kept() {
    HEARD.survives_harm();
}

#[test]
fn shuffled_runs_panic_nobody_and_are_kept() {
    HEARD.survives_shuffling();
}

#[test]
fn any_line_at_all_is_kept() {
    HEARD.keeps_any_line();
}
