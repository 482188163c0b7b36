//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the sessions that
//! hear them are ones that could be.

use longshore_drivers::capture::{Capture, Direction, Entry, Play, Step, replay};
use longshore_drivers::opencode::replay::Player;
use longshore_drivers::opencode::{capabilities, name};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::id::{Ids, TurnId};
use longshore_model::time::Timestamp;
use proptest::prelude::*;

use super::recordings;
use crate::hearing::{Hub, apply, harm, nothing_dropped, read, shuffle};

/// The sessions that hear this are ones that could be.
fn could_be(steps: &[Step]) {
    Hub::hear(name(), capabilities(), steps).check();
}

#[test]
fn every_prefix_of_a_recording_leaves_sessions_that_could_be() {
    for path in recordings() {
        let capture = read(&path);
        for end in 0..=capture.entries.len() {
            let entries = capture.entries[..end].to_vec();
            let prefix = Capture { entries, ..capture.clone() };
            let steps = replay(&prefix).unwrap();
            nothing_dropped(&prefix, &steps);
            could_be(&steps);
        }
    }
}

/// Wherever a recording stops, an OpenCode that is at nothing and answers nothing leaves nobody waiting for it.
#[test]
fn silence_ends_every_wait() {
    for path in recordings() {
        let capture = read(&path);
        let stride = capture.entries.len() / 20 + 1;
        for end in (1..=capture.entries.len()).step_by(stride) {
            let mut player = Player::default();
            player.play_all(&capture.entries[..end]);
            for session in player.live() {
                let mut ids = Ids::seeded(end as u64);
                let turn = TurnId(ids.next(Timestamp::default()));
                player.tell(session, AgentCommand::Interrupt { turn });
                player.tell(session, AgentCommand::SetMode(Mode::Full));
                player.tell(session, AgentCommand::SetModel("p/m".to_owned()));
                player.tell(session, AgentCommand::Rename("title".to_owned()));
                player.tell(session, AgentCommand::Archive(true));
            }
            player.reconnect();
            player.wait(600.0);
            assert!(!player.waits(), "{} cut at {end}", path.display());
            could_be(&player.stand().steps);
        }
    }
}

/// Recordings to harm: short, and with everything in them that a turn can have.
const FRAGILE: [&str; 11] = ["04_", "05b", "07_", "08b", "09_", "10_", "11_", "11b", "12b", "18_", "27_"];

fn fragile(which: usize) -> Capture {
    let all = recordings();
    let of =
        |path: &&std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(FRAGILE[which]);
    read(all.iter().find(of).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn harmed_recordings_panic_nobody_and_are_kept(
        which in 0..FRAGILE.len(),
        harms in prop::collection::vec((0..400usize, harm()), 1..12),
    ) {
        let mut capture = fragile(which);
        for (at, harm) in &harms {
            apply(&mut capture.entries, *at, harm);
        }
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        could_be(&steps);
    }

    #[test]
    fn shuffled_recordings_panic_nobody_and_are_kept(which in 0..FRAGILE.len(), seed in any::<u64>()) {
        let mut capture = fragile(which);
        shuffle(&mut capture.entries, seed);
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        could_be(&steps);
    }

    #[test]
    fn any_line_at_all_is_kept(line in any::<String>()) {
        let capture = Capture {
            driver: "opencode".to_owned(),
            entries: vec![Entry::said(0.0, Direction::FromAgent, &line)],
            ..Capture::default()
        };
        nothing_dropped(&capture, &replay(&capture).unwrap());
    }
}
