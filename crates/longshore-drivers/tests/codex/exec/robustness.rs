//! Recordings of `codex exec` that break off, are mangled or out of order.

use std::sync::LazyLock;

use longshore_drivers::capture::{Capture, Direction, Entry, Play, Step, replay};
use longshore_drivers::codex::exec::replay::{Player, is_run};
use longshore_drivers::codex::exec::{NAME, capabilities, name};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;
use proptest::prelude::*;

use crate::codex::{read, recordings};
use crate::hearing::{Hub, apply, harm, nothing_dropped, shuffle};

/// Those that hold nothing but runs.
static RUNS: LazyLock<Vec<Capture>> = LazyLock::new(|| {
    let mut runs: Vec<Capture> = recordings().iter().map(|path| read(path)).collect();
    runs.retain(|capture| {
        let mut spawns = capture.entries.iter().filter(|entry| entry.dir == Direction::Spawn).peekable();
        spawns.peek().is_some() && spawns.all(is_run)
    });
    for capture in &mut runs {
        capture.driver = NAME.to_owned();
    }
    assert_eq!(runs.len(), 12);
    runs
});

fn check(capture: &Capture, steps: &[Step]) {
    nothing_dropped(capture, steps);
    Hub::hear(name(), capabilities(), steps).check();
}

#[test]
fn every_prefix_of_a_run_leaves_a_session_that_could_be() {
    for capture in RUNS.iter() {
        for end in 0..=capture.entries.len() {
            let prefix = Capture { entries: capture.entries[..end].to_vec(), ..capture.clone() };
            check(&prefix, &replay(&prefix).unwrap());
        }
    }
}

#[test]
fn silence_ends_every_wait() {
    for capture in RUNS.iter() {
        for end in 1..=capture.entries.len() {
            let mut player = Player::default();
            player.play_all(&capture.entries[..end]);
            player.wait(600.0);
            assert!(!player.waits(), "{} cut at {end}", capture.scenario);
        }
    }
}

#[test]
fn words_before_there_is_a_session_harm_nobody() {
    let mut driver = longshore_drivers::codex::exec::Exec::new();
    let mut out = Output::default();
    let mut cx = Context { now: Timestamp::default(), ids: &mut Ids::seeded(1) };
    driver.handle(Input::Line("{}".into()), &mut cx, &mut out);
    driver.handle(Input::Tick, &mut cx, &mut out);
    assert!(out.said.is_empty() && driver.deadline().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn harmed_runs_panic_nobody_and_are_kept(
        which in any::<prop::sample::Index>(),
        harms in prop::collection::vec((0..400usize, harm()), 1..12),
    ) {
        let mut capture = which.get(&RUNS).clone();
        for (at, harm) in &harms {
            apply(&mut capture.entries, *at, harm);
        }
        check(&capture, &replay(&capture).unwrap());
    }

    #[test]
    fn shuffled_runs_panic_nobody_and_are_kept(which in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let mut capture = which.get(&RUNS).clone();
        shuffle(&mut capture.entries, seed);
        check(&capture, &replay(&capture).unwrap());
    }

    #[test]
    fn any_line_at_all_is_kept(line in any::<String>()) {
        let entries = vec![Entry::said(0.0, Direction::FromAgent, &line)];
        let capture = Capture { driver: NAME.to_owned(), entries, ..Capture::default() };
        check(&capture, &replay(&capture).unwrap());
    }
}
