//! Scenarios: every agent plays them on a scripted model, and recordings show what each agent did.
//!
//! | module | holds |
//! |---|---|
//! | [`set`] | the scenarios, which are data: `set.json` |
//! | `installed` | an installed agent, and how it runs on a scripted model |
//! | `staged` | an installed agent on a stage, where it plays one scenario after another |
//! | `stage` | the private place in which the agent plays |
//! | `door` | the door of the stage, for an agent that calls back |
//! | `play` | plays a scenario |
//! | `machine` | what the machine shows of the agent meanwhile |
//! | `guess` | how a model makes an unknown agent do things |
//! | `program` | agents of the settings that Longshore knows by their programs |
//! | [`shape`] | reduces a session's timeline to what is the same in every run |
//! | [`differs`] | compares two shapes, and describes the differences in words |
//! | [`recorded`] | what each agent did when Longshore was tested with it: `recorded/` |
//!
//! `longshore verify` plays all scenarios and reports what differs. `longshore record` plays one scenario and
//! keeps the wire.

pub mod differs;
mod door;
mod guess;
mod installed;
mod machine;
mod play;
mod program;
pub mod recorded;
pub mod set;
pub mod shape;
mod stage;
mod staged;

pub use differs::differences;
pub use installed::{InstalledAgent, MODEL_URL, WhyNot};
pub use recorded::RecordedAgent;
pub use set::{Scenario, scenario, scenarios};
pub use shape::{Shape, Thing};
pub use staged::{Played, StagedAgent};
