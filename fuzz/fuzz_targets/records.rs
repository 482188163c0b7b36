//! Fuzzes the readers of past conversations with lines of a record.
#![no_main]

use longshore_drivers::claude::import::Transcripts;
use longshore_drivers::codex::import::Rollouts;
use longshore_drivers::import::{Records, ServedRecords};
use longshore_drivers::opencode::import::Database;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    longshore_fuzz::read(|native| Rollouts.reader(native), data);
    longshore_fuzz::read(|native| Transcripts.reader(native), data);
    longshore_fuzz::read(|native| Database.reader(native), data);
});
