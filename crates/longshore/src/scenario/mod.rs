//! Scenarios: what every agent is tried with, on a scripted model, and what each was seen to do.
//!
//! | module | holds |
//! |---|---|
//! | [`set`] | the scenarios, which are data: `set.json` |
//! | [`stage`] | a private place in which one agent plays one scenario |
//! | `play` | the playing of it |
//! | `guess` | how the model of an agent has it do things of which nothing is known |
//! | `program` | agents of the settings that are known by their programs |
//! | [`shape`] | what a session's timeline comes to, without what differs from run to run |
//! | [`differs`] | two shapes, and what differs in words |
//! | [`recorded`] | what each agent did when Longshore was tested with it: `recorded/` |
//!
//! `longshore verify` plays them all and tells what differs; `longshore record` plays one and keeps the wire.

pub mod differs;
mod guess;
mod play;
mod program;
pub mod recorded;
pub mod set;
pub mod shape;
pub mod stage;

pub use differs::differences;
pub use recorded::RecordedAgent;
pub use set::{Scenario, scenario, scenarios};
pub use shape::{Shape, Thing};
pub use stage::{InstalledAgent, MODEL_URL, Played, ScenarioStage, WhyNot};
