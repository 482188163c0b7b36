//! The tools of the built-in agent: what there is, what a call may do unasked, and the doing of it.

use longshore_model::approval::{Field, QuestionAnswer, Subject};
use longshore_model::capability::Mode;
use longshore_model::item::{FileDiff, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its name, which no other call of the session has.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments: JSON that was read already.
    pub arguments: Value,
}

/// A tool, as the model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Whether its calls may run beside others.
    pub side_by_side: bool,
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It may.
    Go,
    /// Somebody has to allow it.
    Ask(Ask),
    /// It may not, for this reason.
    Refuse(String),
}

/// What somebody has to allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Why it is asked.
    pub reason: String,
    /// What it is about.
    pub subject: Subject,
    /// What is to be thought of before saying yes.
    pub risks: Vec<String>,
    /// What `allow_session` allows from then on: asks with the same words are not asked again.
    pub remember: Option<String>,
}

/// On what grounds a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The mode gives it.
    Mode,
    /// Somebody allowed it.
    Approved,
}

/// What a call tells while it runs.
#[derive(Debug)]
pub enum Progress {
    /// More output.
    Output(String),
    /// An MCP server wants to know something.
    Ask(Elicitation),
}

/// What an MCP server wants to know.
#[derive(Debug)]
pub struct Elicitation {
    /// The server.
    pub server: String,
    /// The question.
    pub message: String,
    /// The fields to fill in.
    pub fields: Vec<Field>,
    /// Where the answer goes.
    pub answer: oneshot::Sender<QuestionAnswer>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// For the model: bounded.
    pub content: String,
    /// For the log: whole.
    pub whole: String,
    /// Whether it did what it was to do.
    pub success: bool,
    /// For the timeline.
    pub outcome: ToolOutcome,
    /// What it changed.
    pub diff: Option<FileDiff>,
    /// What it shows.
    pub image: Option<Image>,
}

/// An image for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `image/png`.
    pub media_type: String,
    /// In base64.
    pub data: String,
}

/// How the tools work.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// The work tree.
    pub cwd: std::path::PathBuf,
    /// Whether commands may use the network.
    pub network: bool,
    /// Commands that need no approval, besides those that only read.
    pub allow: Vec<String>,
}

/// All tools of a session.
#[derive(Debug)]
pub struct Toolbox {
    settings: ToolSettings,
}

impl Toolbox {
    /// The tools of a work tree.
    pub async fn new(settings: ToolSettings) -> Self {
        Self { settings }
    }

    /// What the model is told of them.
    pub fn definitions(&self) -> Vec<Definition> {
        Vec::new()
    }

    /// A call as the timeline shows it.
    pub fn tool_call(&self, call: &Call) -> ToolCall {
        let cwd = Some(self.settings.cwd.display().to_string());
        ToolCall {
            name: call.name.clone(),
            kind: ToolKind::Other,
            command: None,
            cwd,
            input: call.arguments.clone(),
        }
    }

    /// Whether a call may run.
    pub fn verdict(&self, _call: &Call, _mode: Mode) -> Verdict {
        Verdict::Refuse("there are no tools yet".to_owned())
    }

    /// What an edit would change.
    pub fn preview(&self, _call: &Call) -> Option<FileDiff> {
        None
    }

    /// Runs a call to its end, or until it is cancelled.
    pub async fn run(
        &self,
        call: Call,
        _permit: Permit,
        _progress: mpsc::Sender<Progress>,
        _cancel: watch::Receiver<bool>,
    ) -> ToolResult {
        let text = format!("there is no tool called {}", call.name);
        ToolResult {
            content: text.clone(),
            whole: text,
            success: false,
            outcome: ToolOutcome::of(ToolStatus::Failed),
            diff: None,
            image: None,
        }
    }
}
