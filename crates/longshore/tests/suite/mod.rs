//! One file per thing that is tested.

mod cli;
mod codex_control;
mod codex_turns;
mod crash;
mod past;
mod rig;
mod script;
mod script_server;
mod slow;
mod tidy;
mod tidy_texts;
