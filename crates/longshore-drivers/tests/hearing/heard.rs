//! What must hold of every recording of every driver: heard whole, cut short, harmed and shuffled.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::{Capture, CaptureEntry, Direction, Narrator, Player, ReplayStep, replay};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::AgentCommand;
use longshore_model::event::AgentName;
use longshore_model::id::{Ids, TurnId};
use longshore_model::time::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::de::IgnoredAny;

use super::{Hub, apply, harm, nothing_dropped, read, shuffle};

/// A driver and its recordings.
pub(crate) struct DriverRecordings {
    /// What captures call it.
    pub(crate) driver: &'static str,
    /// Its recordings.
    pub(crate) recordings: fn() -> Vec<(PathBuf, Capture)>,
    /// How the names of those begin that are harmed: short ones, with everything in them that a turn can have.
    /// All of them are harmed where none is named.
    pub(crate) fragile: &'static [&'static str],
    /// The agent that was recorded, and what it can do.
    pub(crate) agent: fn(&Capture) -> (AgentName, Capabilities),
}

impl DriverRecordings {
    /// The sessions that hear this are ones that could be.
    pub(crate) fn could_be(&self, capture: &Capture, steps: &[ReplayStep]) {
        let (agent, capabilities) = (self.agent)(capture);
        Hub::hear(agent, capabilities, steps).check();
    }

    fn check(&self, capture: &Capture) {
        let steps = replay(capture).unwrap();
        nothing_dropped(capture, &steps);
        self.could_be(capture, &steps);
    }

    /// What an agent said is kept, each line as often as it was said. Of a frame that it did not say the driver's test
    /// module may say why it is there.
    pub(crate) fn keeps_all_that_was_said_and_no_more(&self, excused: impl Fn(&str) -> bool) {
        for (path, capture) in (self.recordings)() {
            let mut kept: HashMap<String, usize> = HashMap::new();
            for step in replay(&capture).unwrap() {
                if let ReplayStep::Said { draft, .. } = step
                    && let Some(raw) = &draft.raw
                {
                    *kept.entry(raw.to_string()).or_default() += 1;
                }
            }
            let mut said: HashMap<String, usize> = HashMap::new();
            for entry in capture.entries.iter().filter(|entry| entry.dir == Direction::FromAgent) {
                *said.entry(entry.line()).or_default() += 1;
            }
            kept.retain(|raw, _| said.contains_key(raw) || !excused(raw));
            assert_eq!(said, kept, "in {}", path.display());
        }
    }

    /// Wherever a recording stops, nothing of it is dropped, and what heard it is a session that could be.
    pub(crate) fn may_stop_anywhere(&self) {
        for (_, capture) in (self.recordings)() {
            for end in 0..=capture.entries.len() {
                let entries = capture.entries[..end].to_vec();
                self.check(&Capture { entries, ..capture.clone() });
            }
        }
    }

    /// Wherever a recording stops, an agent that then says nothing leaves nobody waiting for it.
    ///
    /// `stir` is what its sessions then still tell it.
    pub(crate) fn waits_end_in_silence<P: Player>(
        &self,
        new: impl Fn(&Capture) -> P,
        stir: impl Fn(&mut P, usize),
    ) {
        for (path, capture) in (self.recordings)() {
            let stride = capture.entries.len() / 20 + 1;
            for end in (1..=capture.entries.len()).step_by(stride) {
                let mut player = new(&capture);
                player.play_all(&capture.entries[..end]);
                stir(&mut player, end);
                player.wait(600.0);
                assert!(!player.waits(), "{} cut at {end}", path.display());
                self.could_be(&capture, &player.harness().steps);
            }
        }
    }

    /// Harmed lines panic nobody and are kept.
    pub(crate) fn survives_harm(&self) {
        let harms = prop::collection::vec((0..400usize, harm()), 1..12);
        self.try_fragile(harms, |capture, harms| {
            for (at, harm) in &harms {
                apply(&mut capture.entries, *at, harm);
            }
        });
    }

    /// Lines in any order panic nobody and are kept.
    pub(crate) fn survives_shuffling(&self) {
        self.try_fragile(any::<u64>(), |capture, seed| shuffle(&mut capture.entries, seed));
    }

    /// Any line at all is kept.
    pub(crate) fn keeps_any_line(&self) {
        let keeps = |line: String| {
            let entries = vec![CaptureEntry::said(0.0, Direction::FromAgent, &line)];
            let capture = Capture { driver: self.driver.to_owned(), entries, ..Capture::default() };
            // A recording holds JSON without the white space around it.
            let said = match serde_json::from_str::<IgnoredAny>(&line) {
                Ok(_) => line.trim(),
                Err(_) => line.as_str(),
            };
            prop_assert_eq!(capture.entries[0].line(), said);
            self.check(&capture);
            Ok(())
        };
        runner().run(&any::<String>(), keeps).unwrap();
    }

    /// Does something to one of the fragile recordings after the other, many times.
    fn try_fragile<S: Strategy>(&self, how: S, spoil: impl Fn(&mut Capture, S::Value)) {
        let fragile = self.fragile();
        let tried = (0..fragile.len(), how);
        let survives = |(which, how): (usize, S::Value)| {
            let mut capture = fragile[which].clone();
            spoil(&mut capture, how);
            self.check(&capture);
            Ok(())
        };
        runner().run(&tried, survives).unwrap();
    }

    fn fragile(&self) -> Vec<Capture> {
        let all = (self.recordings)();
        if self.fragile.is_empty() {
            return all.into_iter().map(|(_, capture)| capture).collect();
        }
        let named = |start: &&str| {
            let found = all.iter().find(|(path, _)| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
            });
            found.unwrap_or_else(|| panic!("no recording begins with {start}")).1.clone()
        };
        self.fragile.iter().map(named).collect()
    }
}

fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })
}

/// Every session tells its agent all that it can at any time.
pub(crate) fn tell_everything(player: &mut impl Player, seed: usize) {
    for session in player.live() {
        let mut ids = Ids::seeded(seed as u64);
        let turn = TurnId(ids.next(Timestamp::default()));
        player.tell(session, AgentCommand::Interrupt { turn });
        player.tell(session, AgentCommand::SetMode(Mode::Full));
        player.tell(session, AgentCommand::SetModel("p/m".to_owned()));
        player.tell(session, AgentCommand::Rename("title".to_owned()));
        player.tell(session, AgentCommand::Archive(true));
    }
}

/// Has a recording compared with its story: one line per event, reviewed by hand when it changes.
pub(crate) fn compare_story(path: &Path, compare: impl Fn(&str)) {
    let mut narrator = Narrator::new();
    let story: Vec<String> = replay(&read(path)).unwrap().iter().map(|step| narrator.step(step)).collect();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        compare(&story.join("\n"));
    });
}
