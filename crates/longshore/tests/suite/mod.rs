//! One file per thing that is tested.

mod agents;
mod calling_back;
mod cli;
mod codex_control;
mod codex_exec;
mod codex_turns;
mod crash;
mod demo;
mod devices;
mod gateway;
mod gateway_words;
mod mcp;
mod one_task;
mod past;
mod react;
mod react_team;
mod rig;
mod script;
mod script_apis;
mod script_routes;
mod script_server;
mod slow;
mod story;
mod tidy;
mod tidy_texts;
mod verify;
