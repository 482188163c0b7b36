//! Codex, headless: the driver of `codex exec --json`, whose process runs one turn and ends.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | the JSON of `codex exec`, with its names, of this release and of old ones |
//! | [`translate`] | the driver |
//! | [`spec`] | how Longshore names, finds and starts it |
//! | [`replay`] | replays a recorded run as a session of ours |
//!
//! A session is a driver without a process. Each prompt starts a process in the work tree. The process gets
//! the prompt, answers and ends. The next process resumes the thread that the first process named. Mode,
//! model and images can only be given on the command line, so each process gets the current ones. The session
//! stays when a process dies. `codex exec` never requests an approval: if its sandbox does not allow an
//! action, it tells the model and reports nothing.

pub mod replay;
pub mod spec;
pub mod translate;
pub mod wire;

use std::sync::Arc;

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::AgentName;

pub use spec::ExecSpec;
pub use translate::Exec;

/// The name of the agent for clients.
pub const NAME: &str = "codex-exec";
/// Its name for people.
pub const TITLE: &str = "Codex (headless)";

/// [`NAME`] in the form of events.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What headless Codex can do. Its messages do not come in deltas. It names the files that it changes, but
/// does not report the changes.
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

/// The modes that need no approval of a person.
const MODES: [Mode; 3] = [Mode::Plan, Mode::AutoEdit, Mode::Full];
