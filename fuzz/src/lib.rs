//! The work of every target: it gives fuzzed lines to a driver or a reader, and checks that no line is dropped and that
//! every session is legal.

#[path = "../../crates/longshore-drivers/tests/hearing/hub.rs"]
mod hub;

use longshore_drivers::capture::{Capture, CaptureEntry, Direction, ReplayStep, replay};
use longshore_drivers::import::{Reading, RecordReader};
use longshore_drivers::spec::Agent;
use longshore_drivers::table;
use longshore_model::event::Raw;

/// The fuzzed lines as a recording. A line that is no entry of a recording becomes a line of the agent.
fn capture(driver: &str, data: &[u8]) -> Capture {
    let text = String::from_utf8_lossy(data);
    let entry = |line: &str| {
        serde_json::from_str::<CaptureEntry>(line)
            .unwrap_or_else(|_| CaptureEntry::said(0.0, Direction::FromAgent, line))
    };
    // The first line of a real recording is its header.
    let lines = text.lines().filter(|line| !line.starts_with("{\"capture\""));
    // Inputs of a driver are no lines of the agent.
    let wire = lines.map(entry).filter(|entry| entry.dir != Direction::Told);
    Capture { driver: driver.to_owned(), entries: wire.collect(), ..Capture::default() }
}

/// Replays the data with a driver, and checks the result.
pub fn hear(driver: &str, agent: &str, data: &[u8]) {
    let capture = capture(driver, data);
    let steps = replay(&capture).unwrap_or_default();
    // A server outlives its sessions. Lines that it sends without a session reach no session.
    let outlived = driver == "opencode" && steps.iter().any(|step| matches!(step, ReplayStep::Finished(_)));
    if !outlived {
        hub::nothing_dropped(&capture, &steps);
    }
    let found = |known: &&Agent| known.name() == agent;
    let Some(known) = table::built_in().iter().find(found).cloned() else {
        panic!("there is no agent {agent}")
    };
    hub::Hub::hear(agent.into(), known.capabilities(), &steps).check();
}

/// Gives the data to a reader twice. Checks that every line leaves a draft, and that both results are the same.
pub fn read(reader: impl Fn(&str) -> Box<dyn RecordReader>, data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let told = || {
        let (mut reader, mut told) = (reader("the-conversation"), Reading::default());
        for line in text.lines() {
            let (raw, before) = (Raw::from(line), told.drafts.len());
            reader.line(&raw, None, &mut told);
            let kept = told.drafts[before..].iter().any(|(_, draft)| draft.raw.as_ref() == Some(&raw));
            assert!(kept, "dropped: {line}");
        }
        reader.rest(&mut told);
        told.drafts
    };
    assert_eq!(told(), told());
}
