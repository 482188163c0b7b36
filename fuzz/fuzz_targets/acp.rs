//! The driver of acp against lines that a fuzzer made.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| longshore_fuzz::hear("acp", "gemini", data));
