//! One file per thing that is tested.

mod script;
mod script_server;
