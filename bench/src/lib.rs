//! The parts that the programs of the benchmark share: the prompt that scripts a turn, and the marker in every delta.
//!
//! | program | is |
//! |---|---|
//! | `fake-codex` | an agent that speaks as fast as its prompt says |
//! | `reference` | the relay that the hub is compared with: parse, commit, send, nothing else |
//! | `bench` | starts both, runs the scenarios on both, prints the figures |

pub mod marker;
pub mod script;
