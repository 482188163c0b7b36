//! The readers of past conversations against lines that a fuzzer made.
#![no_main]

use longshore_drivers::import::claude::Transcripts;
use longshore_drivers::import::codex::Rollouts;
use longshore_drivers::import::opencode::Database;
use longshore_drivers::import::{Records, ServedRecords};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    longshore_fuzz::read(|native| Rollouts.reader(native), data);
    longshore_fuzz::read(|native| Transcripts.reader(native), data);
    longshore_fuzz::read(|native| Database.reader(native), data);
});
