//! Fuzzes the driver of opencode with lines of the agent.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| longshore_fuzz::hear("opencode", "opencode", data));
