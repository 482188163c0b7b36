//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the session that
//! hears them is one that could be.

use std::sync::Arc;

use longshore_drivers::acp::replay::{Player, recorded_row};
use longshore_drivers::capture::{Capture, Direction, Entry, Play, Step, replay};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use proptest::prelude::*;

use super::recordings;
use crate::hearing::{Hub, apply, harm, nothing_dropped, read, shuffle};

fn check(capture: &Capture, steps: &[Step]) {
    let row = recorded_row(&capture.agent);
    Hub::hear(Arc::from(row.name.as_ref()), row.capabilities(), steps).check();
}

#[test]
fn every_prefix_of_a_recording_leaves_a_session_that_could_be() {
    for path in recordings() {
        let capture = read(&path);
        for end in 0..=capture.entries.len() {
            let entries = capture.entries[..end].to_vec();
            let prefix = Capture { entries, ..capture.clone() };
            let steps = replay(&prefix).unwrap();
            nothing_dropped(&prefix, &steps);
            check(&prefix, &steps);
        }
    }
}

/// Wherever a recording stops, an agent that then says nothing leaves nobody waiting for it.
#[test]
fn silence_ends_every_wait() {
    for path in recordings() {
        let capture = read(&path);
        let stride = capture.entries.len() / 20 + 1;
        for end in (1..=capture.entries.len()).step_by(stride) {
            let mut player = Player::new(&capture.agent);
            player.play_all(&capture.entries[..end]);
            for session in player.live() {
                player.tell(session, AgentCommand::SetMode(Mode::Full));
                player.tell(session, AgentCommand::SetModel("m".to_owned()));
                player.tell(session, AgentCommand::Rename("title".to_owned()));
                player.tell(session, AgentCommand::Archive(true));
                player.wait(31.0);
                // Another prompt may have waited for the first.
                for _ in 0..3 {
                    if let Some(turn) = player.turn(session) {
                        player.tell(session, AgentCommand::Interrupt { turn });
                        player.wait(11.0);
                    }
                }
            }
            player.wait(600.0);
            assert!(!player.waits(), "{} cut at {end}", path.display());
            for session in player.live() {
                assert_eq!(player.turn(session), None, "{} cut at {end}", path.display());
            }
            check(&capture, &player.stand().steps);
        }
    }
}

/// Recordings to harm: short, and with everything in them that a turn can have.
fn fragile() -> Vec<Capture> {
    let wanted = [
        "gemini-edit",
        "gemini-load-later",
        "copilot-tool-allow",
        "copilot-mode",
        "codex-tool-allow",
        "codex_untrusted-edit",
        "claude-terminal",
        "claude-plan",
        "opencode-edit",
        "opencode-perm-hang-cancel",
    ];
    let all = recordings();
    let of = |name: &&str| read(all.iter().find(|path| path.file_stem().unwrap() == *name).unwrap());
    wanted.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn harmed_recordings_panic_nobody_and_are_kept(
        which in 0..10usize,
        harms in prop::collection::vec((0..400usize, harm()), 1..12),
    ) {
        let mut capture = fragile().swap_remove(which);
        for (at, harm) in &harms {
            apply(&mut capture.entries, *at, harm);
        }
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        check(&capture, &steps);
    }

    #[test]
    fn shuffled_recordings_panic_nobody_and_are_kept(which in 0..10usize, seed in any::<u64>()) {
        let mut capture = fragile().swap_remove(which);
        shuffle(&mut capture.entries, seed);
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        check(&capture, &steps);
    }

    #[test]
    fn any_line_at_all_is_kept(line in any::<String>()) {
        let capture = Capture {
            driver: "acp".to_owned(),
            entries: vec![Entry::said(0.0, Direction::FromAgent, &line)],
            ..Capture::default()
        };
        prop_assert_eq!(capture.entries[0].line(), line);
        nothing_dropped(&capture, &replay(&capture).unwrap());
    }
}
