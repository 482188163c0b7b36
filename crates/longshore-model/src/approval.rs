//! Approvals and questions: the requests that block an agent until a person answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Author;
use crate::id::{ApprovalId, QuestionId};
use crate::item::FileChange;

/// A request for permission: what the agent wants to do, and which decisions a client may send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The id of the approval.
    pub approval: ApprovalId,
    /// What the agent wants to do.
    pub subject: Subject,
    /// The decisions that this agent can carry out.
    pub options: Vec<Decision>,
}

/// What an approval is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Subject {
    /// The agent wants to run a command.
    Command {
        /// The command line.
        command: String,
        /// The folder in which the command runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The commands that `allow_always` would allow from then on, if they are more than this command.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        always: Vec<String>,
    },
    /// The agent wants to change files.
    Edit {
        /// The changes, one per file.
        changes: Vec<FileChange>,
        /// The folder that the agent could write to afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant_root: Option<String>,
    },
    /// The agent wants to call a tool.
    Tool {
        /// The name of the tool: `server.tool` for a tool of an MCP server.
        name: String,
        /// The arguments of the call.
        input: Value,
    },
    /// The agent wants to carry out a plan. `allow_once` starts the work, `allow_session` starts the work and
    /// allows edits without asking, `deny` continues planning. The agent gets the message of the decision.
    Plan {
        /// The plan, in Markdown.
        plan: String,
    },
    /// The agent wants more permissions than its mode gives.
    Permissions {
        /// The permissions, in the agent's words.
        permissions: Value,
    },
}

/// A decision that a person can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again in this session.
    AllowSession,
    /// Yes, and never ask again.
    AllowAlways,
    /// No; the agent continues without it.
    Deny,
    /// No, and stop the turn.
    Cancel,
}

impl Decision {
    /// Whether the decision lets the agent do what it asked for.
    pub fn allows(self) -> bool {
        match self {
            Decision::AllowOnce | Decision::AllowSession | Decision::AllowAlways => true,
            Decision::Deny | Decision::Cancel => false,
        }
    }
}

/// A decision, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// The decision.
    pub decision: Decision,
    /// The message that the agent gets with the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Arguments that the agent must use instead of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Who decided.
    pub by: Author,
}

/// A question of the agent, whose answer is data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionRequest {
    /// The id of the question.
    pub question: QuestionId,
    /// Who asks, if it is not the agent itself: the name of an MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The fields that a person fills in.
    pub fields: Vec<Field>,
}

/// One field of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The key of the field in the answer.
    pub id: String,
    /// A short label.
    pub label: String,
    /// The question.
    pub text: String,
    /// Which kind of answer the field takes.
    pub kind: FieldKind,
    /// The choices that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Whether a person may answer something else than the choices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Whether clients must hide the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Whether a person may leave the field out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Which kind of answer a field takes.
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

/// One choice of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    /// The answer that this choice gives.
    pub label: String,
    /// What the choice means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An answer, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionAnswer {
    /// Whether the person answered, declined or cancelled.
    pub action: AnswerAction,
    /// The answers by field id; a list if the person chose several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, Value>,
    /// Who answered.
    pub by: Author,
}

/// What a person does with a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    /// The person answered.
    #[default]
    Accept,
    /// The person refused to answer; the agent continues.
    Decline,
    /// The person dismissed the question.
    Cancel,
}
