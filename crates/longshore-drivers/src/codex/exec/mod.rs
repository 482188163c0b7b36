//! Codex, headless: the driver of `codex exec --json`, which runs one turn and ends.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | their JSON with their names, of this release and of old ones |
//! | [`translate`] | the driver |
//! | [`spec`] | how it is called, found and started |
//! | [`replay`] | what a recorded run would have been in our words |
//!
//! A session here is a driver without a process. Each prompt starts one in the work tree, which is told the prompt, speaks
//! and ends; the next one resumes the thread that the first one named. So mode, model and images, which can only be said
//! on its command line, are those of the moment, and whatever becomes of a process, the session stays. It never asks: what
//! its sandbox does not allow is refused to the model, and nobody hears of it.

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

/// What it can do. Its messages come whole, and it names the files that it changes but not how.
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
