//! What every target does: hear what was fuzzed, and see that nothing is dropped and every session could be.

#[path = "../../crates/longshore-drivers/tests/hearing/hub.rs"]
mod hub;

use longshore_drivers::capture::{Capture, CaptureEntry, Direction, ReplayStep, replay};
use longshore_drivers::import::{Reading, RecordReader};
use longshore_drivers::spec::Agent;
use longshore_drivers::table;
use longshore_model::event::Raw;

/// A recording is lines, and so is what was fuzzed. A line that is none of a recording is one that the agent said.
fn capture(driver: &str, data: &[u8]) -> Capture {
    let text = String::from_utf8_lossy(data);
    let entry = |line: &str| {
        serde_json::from_str::<CaptureEntry>(line)
            .unwrap_or_else(|_| CaptureEntry::said(0.0, Direction::FromAgent, line))
    };
    // The first line of a real recording names it.
    let lines = text.lines().filter(|line| !line.starts_with("{\"capture\""));
    // What a driver of ours was told is no word of an agent.
    let wire = lines.map(entry).filter(|entry| entry.dir != Direction::Told);
    Capture { driver: driver.to_owned(), entries: wire.collect(), ..Capture::default() }
}

/// Has a driver hear it.
pub fn hear(driver: &str, agent: &str, data: &[u8]) {
    let capture = capture(driver, data);
    let steps = replay(&capture).unwrap_or_default();
    // A server outlives its sessions; what it says when there are none is told to nobody.
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

/// Has a record read: every line leaves something, and reading it again says the same.
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
