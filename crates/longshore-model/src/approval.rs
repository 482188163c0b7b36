//! Approvals and questions: what blocks an agent until a person answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Author;
use crate::id::{ApprovalId, QuestionId};
use crate::item::FileChange;

/// What the agent wants to do, and what may be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// Its name.
    pub approval: ApprovalId,
    /// What it is about.
    pub subject: Subject,
    /// The decisions that this agent can carry out.
    pub options: Vec<Decision>,
}

/// What an approval is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Subject {
    /// To run a command.
    Command {
        /// The command line.
        command: String,
        /// Where.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// What `allow_always` would allow from then on, when that is more than this command.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        always: Vec<String>,
    },
    /// To change files.
    Edit {
        /// File by file.
        changes: Vec<FileChange>,
        /// The folder that would become writable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_root: Option<String>,
    },
    /// To call a tool.
    Tool {
        /// Which one: `server.tool` for a tool of an MCP server.
        name: String,
        /// With what.
        input: Value,
    },
    /// To go ahead with a plan. `allow_once` goes ahead, `allow_session` goes ahead and edits without asking, `deny` keeps
    /// planning; what is said with it reaches the agent.
    Plan {
        /// The plan, in Markdown.
        plan: String,
    },
    /// To be allowed more than the mode gives.
    Permissions {
        /// What, in the agent's words.
        permissions: Value,
    },
}

/// What a person can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again in this session.
    AllowSession,
    /// Yes, and never ask again.
    AllowAlways,
    /// No; go on without.
    Deny,
    /// No, and stop the turn.
    Cancel,
}

impl Decision {
    /// Whether the agent may do what it asked for.
    pub fn allows(self) -> bool {
        match self {
            Decision::AllowOnce | Decision::AllowSession | Decision::AllowAlways => true,
            Decision::Deny | Decision::Cancel => false,
        }
    }
}

/// A decision, as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// What was decided.
    pub decision: Decision,
    /// What the agent is told with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The arguments that it may use instead of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Who decided.
    pub by: Author,
}

/// What the agent wants to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionRequest {
    /// Its name.
    pub question: QuestionId,
    /// What asks, when it is not the agent itself: the name of an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The fields to fill in.
    pub fields: Vec<Field>,
}

/// One thing to fill in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The key of its answer.
    pub id: String,
    /// A word or two.
    pub label: String,
    /// The question.
    pub text: String,
    /// What kind of answer fits.
    pub kind: FieldKind,
    /// What can be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Whether something else than the choices may be said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Whether it must not be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether it may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// What kind of answer fits a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum FieldKind {
    Text,
    Number,
    Integer,
    Boolean,
    /// One of the choices.
    One,
    /// Some of the choices.
    Many,
}

/// One thing to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// What is answered.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An answer, as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswer {
    /// Whether the question was answered at all.
    pub action: AnswerAction,
    /// By field; a list where several were chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Value>,
    /// Who answered.
    pub by: Author,
}

/// What was done with a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    /// Answered.
    #[default]
    Accept,
    /// Refused; the agent goes on.
    Decline,
    /// Waved away.
    Cancel,
}
