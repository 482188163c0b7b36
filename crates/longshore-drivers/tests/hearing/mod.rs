//! What the tests of every driver need to hear recordings again, whole and harmed.

mod heard;
mod hub;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use longshore_drivers::capture::{Capture, CaptureEntry};
use longshore_model::id::Ids;
use longshore_model::time::Timestamp;
use proptest::prelude::*;

pub(crate) use heard::{DriverRecordings, compare_story, tell_everything};
pub(crate) use hub::{Hub, nothing_dropped};

/// One way to harm one line.
#[derive(Clone, Debug)]
pub(crate) enum Harm {
    Cut(usize),
    Overwrite(usize, char),
    Insert(usize, String),
    Swap(usize),
    Repeat,
    Drop,
}

pub(crate) fn harm() -> impl Strategy<Value = Harm> {
    let scrap =
        prop_oneof!["[ -~]{1,6}", Just("null".to_owned()), Just("{}".to_owned()), Just("\"".to_owned())];
    prop_oneof![
        (0..2_000usize).prop_map(Harm::Cut),
        (0..2_000usize, any::<char>()).prop_map(|(at, with)| Harm::Overwrite(at, with)),
        (0..2_000usize, scrap).prop_map(|(at, with)| Harm::Insert(at, with)),
        (0..80usize).prop_map(Harm::Swap),
        Just(Harm::Repeat),
        Just(Harm::Drop),
    ]
}

pub(crate) fn apply(entries: &mut Vec<CaptureEntry>, at: usize, harm: &Harm) {
    if entries.is_empty() {
        return;
    }
    let at = at % entries.len();
    let mut letters: Vec<char> = entries[at].line().chars().collect();
    match harm {
        Harm::Swap(other) => {
            let other = other % entries.len();
            entries.swap(at, other);
            return;
        }
        Harm::Repeat => {
            let again = entries[at].clone();
            entries.insert(at, again);
            return;
        }
        Harm::Drop => {
            entries.remove(at);
            return;
        }
        Harm::Cut(to) => letters.truncate(to % (letters.len() + 1)),
        Harm::Overwrite(place, with) => {
            let place = place % letters.len().max(1);
            if let Some(letter) = letters.get_mut(place) {
                *letter = *with;
            }
        }
        Harm::Insert(place, with) => {
            let place = place % (letters.len() + 1);
            letters.splice(place..place, with.chars());
        }
    }
    let line: String = letters.into_iter().collect();
    entries[at] = CaptureEntry::said(entries[at].t, entries[at].dir, &line);
}

/// Puts the lines of a recording into another order.
pub(crate) fn shuffle(entries: &mut [CaptureEntry], seed: u64) {
    let mut ids = Ids::seeded(seed);
    for at in (1..entries.len()).rev() {
        let draw = ids.next(Timestamp::default()).as_u64_pair().1 as usize;
        entries.swap(at, draw % (at + 1));
    }
}

/// Reads a recording.
pub(crate) fn read(path: &Path) -> Capture {
    Capture::read(BufReader::new(File::open(path).unwrap())).unwrap()
}

/// All recordings of a driver, of which there are more than so many.
pub(crate) fn recordings_of(driver: &str, more_than: usize) -> Vec<(PathBuf, Capture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("captures").join(driver);
    let versions = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        versions.flat_map(|version| version.read_dir().unwrap()).map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > more_than, "the recordings are gone");
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}
