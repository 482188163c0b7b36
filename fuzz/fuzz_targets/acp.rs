//! Fuzzes the driver of ACP with lines of the agent.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| longshore_fuzz::hear("acp", "gemini", data));
