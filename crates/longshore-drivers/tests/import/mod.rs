//! Conversations that were held elsewhere: readers of records, and the anchor that watches them.

mod harm;
mod opencode;
mod readers;
mod watching;

use std::path::{Path, PathBuf};

use longshore_drivers::claude::import::Transcripts;
use longshore_drivers::codex::import::Rollouts;
use longshore_drivers::import::{Reading, RecordLine, RecordLines, RecordReader, Records, ServedRecords};
use longshore_drivers::opencode::import::Database;
use longshore_model::event::Draft;
use longshore_model::time::Timestamp;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures/records")
}

/// Every record that was captured, with its name.
fn records() -> Vec<(String, PathBuf)> {
    let mut all = Vec::new();
    for folder in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = format!(
                "{}-{}",
                folder.file_name().unwrap().to_string_lossy(),
                file.file_stem().unwrap().to_string_lossy()
            );
            all.push((name, file));
        }
    }
    all.sort();
    assert!(all.len() > 25, "the records are not there");
    all
}

fn kind_of(name: &str) -> &'static dyn Records {
    if name.contains("claude") { &Transcripts } else { &Rollouts }
}

/// Somebody who reads such a record from its beginning.
fn reader_of(name: &str) -> Box<dyn RecordReader> {
    match name.contains("opencode") {
        true => Database.reader("the-conversation"),
        false => kind_of(name).reader("the-conversation"),
    }
}

/// The whole lines of a file.
fn lines_of(file: &Path) -> Vec<RecordLine> {
    let mut lines = RecordLines::of_file(file.to_owned());
    let mut all = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        all.push(line);
    }
    all
}

fn hear(reader: &mut dyn RecordReader, lines: &[RecordLine], told: &mut Reading) {
    for line in lines {
        reader.line(&line.text, line.fault, told);
    }
}

/// What a reader says of lines that it hears from the first.
fn read(name: &str, lines: &[RecordLine]) -> Vec<(Timestamp, Draft)> {
    let mut told = Reading::default();
    hear(&mut *reader_of(name), lines, &mut told);
    told.drafts
}
