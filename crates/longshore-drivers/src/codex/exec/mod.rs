//! Codex, headless: the driver of `codex exec --json`, which runs one turn and ends.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | their JSON with their names, of this release and of old ones |
//! | [`translate`] | the driver |
//! | [`spec`] | how to call, find and start it |
//! | [`replay`] | replays a recorded run as a session of ours |
//!
//! A session here is a driver without a process. Each prompt starts a process in the work tree, which gets the prompt,
//! answers and ends; the next process resumes the thread that the first one named. Mode, model and images can only be
//! given on the command line, so each process gets the current ones. The session stays when a process dies. `codex exec`
//! never asks: if its sandbox does not allow something, it refuses that to the model and reports nothing.

pub mod replay;
pub mod spec;
pub mod translate;
pub mod wire;

use std::sync::Arc;

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::AgentName;

pub use spec::ExecSpec;
pub use translate::Exec;

/// What clients call it.
pub const NAME: &str = "codex-exec";
/// Its name for people.
pub const TITLE: &str = "Codex (headless)";

/// [`NAME`], as events carry it.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What headless Codex can do. Its messages come whole. It names the files that it changes, but not the
/// changes.
pub fn capabilities() -> Capabilities {
    Capabilities {
        open_session: true,
        send_prompt: true,
        attachments: true,
        multi_turn: true,
        interrupt: true,
        fork: true,
        modes: MODES.to_vec(),
        models: true,
        own_record: true,
        custom: [("fileDiffs".to_owned(), false.into())].into(),
        ..Capabilities::default()
    }
}

/// The modes that need nobody to ask.
const MODES: [Mode; 3] = [Mode::Plan, Mode::AutoEdit, Mode::Full];
