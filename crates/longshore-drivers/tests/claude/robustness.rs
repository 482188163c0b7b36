//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the session that
//! hears them is one that could be.

use longshore_drivers::capture::{Capture, Direction, Entry, Play, replay};
use longshore_drivers::claude::replay::Player;
use longshore_drivers::claude::{capabilities, name};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::id::{Ids, TurnId};
use longshore_model::time::Timestamp;
use proptest::prelude::*;

use super::{read, recordings};
use crate::hearing::{Hub, apply, harm, nothing_dropped, shuffle};

#[test]
fn every_prefix_of_a_recording_leaves_a_session_that_could_be() {
    for path in recordings() {
        let capture = read(&path);
        for end in 0..=capture.entries.len() {
            let entries = capture.entries[..end].to_vec();
            let prefix = Capture { entries, ..capture.clone() };
            let steps = replay(&prefix).unwrap();
            nothing_dropped(&prefix, &steps);
            Hub::hear(name(), capabilities(), &steps).check();
        }
    }
}

/// Wherever a recording stops, one that then says nothing leaves nobody waiting for it.
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
                player.tell(session, AgentCommand::SetModel("m".to_owned()));
                player.tell(session, AgentCommand::Rename("title".to_owned()));
                player.tell(session, AgentCommand::Archive(true));
            }
            player.wait(600.0);
            assert!(!player.waits(), "{} cut at {end}", path.display());
            Hub::hear(name(), capabilities(), &player.stand().steps).check();
        }
    }
}

/// Recordings to harm: short, and with everything in them that a turn can have.
const FRAGILE: [&str; 12] =
    ["01_", "05_", "08_", "10_", "12c", "12d", "13c", "14_", "16c", "18d", "36_", "43b"];

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
        Hub::hear(name(), capabilities(), &steps).check();
    }

    #[test]
    fn shuffled_recordings_panic_nobody_and_are_kept(which in 0..FRAGILE.len(), seed in any::<u64>()) {
        let mut capture = fragile(which);
        shuffle(&mut capture.entries, seed);
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        Hub::hear(name(), capabilities(), &steps).check();
    }

    #[test]
    fn any_line_at_all_is_kept(line in any::<String>()) {
        let capture = Capture {
            driver: "claude".to_owned(),
            entries: vec![Entry::said(0.0, Direction::FromAgent, &line)],
            ..Capture::default()
        };
        nothing_dropped(&capture, &replay(&capture).unwrap());
    }
}
