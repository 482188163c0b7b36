//! `codex exec`: what no recording holds, and the shapes of old releases.

mod harness;
mod robustness;
mod runs;
mod shapes;
mod turns;
