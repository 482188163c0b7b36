//! The readers of past conversations against lines that a fuzzer made.
#![no_main]

use longshore_drivers::past::claude::Transcripts;
use longshore_drivers::past::codex::Rollouts;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    longshore_fuzz::read(&Rollouts, data);
    longshore_fuzz::read(&Transcripts, data);
});
