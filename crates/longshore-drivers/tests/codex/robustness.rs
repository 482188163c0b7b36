//! Recordings that break off, are mangled or out of order: nothing panics, nothing is dropped, and the session that
//! hears them is one that could be.

use longshore_drivers::capture::{Capture, Direction, Entry, Play, Step, replay};
use longshore_drivers::codex::replay::Player;
use longshore_drivers::codex::{capabilities, name};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::id::{Ids, TurnId};
use longshore_model::time::Timestamp;
use proptest::prelude::*;

use super::{read, recordings};
use crate::hearing::{Hub, apply, harm, nothing_dropped, shuffle};

fn check(steps: &[Step]) {
    Hub::hear(name(), capabilities(), steps).check();
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
            check(&steps);
        }
    }
}

/// Wherever a recording stops, a codex that then says nothing leaves nobody waiting for it.
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
            check(&player.stand().steps);
        }
    }
}

/// A recording to harm: short, and with everything in it that a turn can have.
fn fragile() -> Vec<Capture> {
    let wanted = [
        "01_hello",
        "c03_cmd_accept",
        "c12_patch",
        "c16_user",
        "d01_interrupt",
        "f07_cut",
        "g02_mcp",
        "k01",
        "k02",
    ];
    let all = recordings();
    let of = |start: &&str| {
        let path = all.iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with(start));
        read(path.unwrap())
    };
    wanted.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn harmed_recordings_panic_nobody_and_are_kept(
        which in 0..9usize,
        harms in prop::collection::vec((0..400usize, harm()), 1..12),
    ) {
        let mut capture = fragile().swap_remove(which);
        for (at, harm) in &harms {
            apply(&mut capture.entries, *at, harm);
        }
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        check(&steps);
    }

    #[test]
    fn shuffled_recordings_panic_nobody_and_are_kept(which in 0..9usize, seed in any::<u64>()) {
        let mut capture = fragile().swap_remove(which);
        shuffle(&mut capture.entries, seed);
        let steps = replay(&capture).unwrap();
        nothing_dropped(&capture, &steps);
        check(&steps);
    }

    #[test]
    fn any_line_at_all_is_kept(line in any::<String>()) {
        let capture = Capture {
            driver: "codex".to_owned(),
            entries: vec![Entry::said(0.0, Direction::FromAgent, &line)],
            ..Capture::default()
        };
        prop_assert_eq!(capture.entries[0].line(), line);
        nothing_dropped(&capture, &replay(&capture).unwrap());
    }
}
