//! The driver of opencode against lines that a fuzzer made.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| longshore_fuzz::hear("opencode", "opencode", data));
