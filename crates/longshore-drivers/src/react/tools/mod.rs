//! The tools of the built-in agent.

mod bound;
mod command;
mod edits;
mod exec;
mod interface;
mod mcp;
mod patch;
mod read;
mod sandbox;
mod search;
mod shell;

use longshore_model::capability::Mode;
use longshore_model::item::{FileDiff, ToolCall, ToolKind};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use interface::{
    Ask, Call, Definition, Elicitation, Permit, Progress, Risk, ToolResult, ToolSettings, Verdict,
};

/// All tools that there are for one session.
#[derive(Debug)]
pub struct Toolbox {
    settings: ToolSettings,
}

impl Toolbox {
    /// Makes the tools ready, and starts the MCP servers. What could not be made ready is in [`Toolbox::notices`].
    pub async fn new(settings: ToolSettings) -> Self {
        Self { settings }
    }

    /// What a person should know: a server that did not start, a sandbox that there is not.
    pub fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// The tools, as the model is told of them.
    pub fn definitions(&self) -> Vec<Definition> {
        Vec::new()
    }

    /// A call, as the timeline shows it.
    pub fn tool_call(&self, call: &Call) -> ToolCall {
        ToolCall {
            name: call.name.clone(),
            kind: ToolKind::Other,
            command: None,
            cwd: Some(self.settings.cwd.display().to_string()),
            input: call.arguments.clone(),
        }
    }

    /// Whether a call may run in this mode.
    pub fn verdict(&self, _call: &Call, _mode: Mode) -> Verdict {
        Verdict::Go
    }

    /// What a call that edits would change.
    pub fn preview(&self, _call: &Call) -> Option<FileDiff> {
        None
    }

    /// Allows what [`Ask::always`] named, for as long as the toolbox lives.
    pub fn allow(&self, _rules: &[String]) {}

    /// Runs a call to its end, or until it is cancelled.
    pub async fn run(
        &self,
        call: Call,
        _permit: Permit,
        _progress: mpsc::Sender<Progress>,
        _cancel: CancellationToken,
    ) -> ToolResult {
        ToolResult::failed(format!("{} is no tool", call.name))
    }
}
