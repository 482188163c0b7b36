//! One thing on the timeline, and the kinds that there are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::{ApprovalDecision, ApprovalRequest, QuestionAnswer, QuestionRequest};
use crate::command::Attachment;
use crate::event::{Author, MessagePhase, NoticeLevel};
use crate::id::{ItemId, Seq, TurnId};
use crate::item::{FileChange, PlanStep, ToolCall, ToolOutcome, ToolStatus};
use crate::lifecycle::{Delegation, DelegationEnd, TurnEnd};
use crate::time::Timestamp;

/// One thing on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TimelineItem")]
pub struct Item {
    /// The seq of the event that began the item.
    pub seq: Seq,
    /// The id of the item, for items that grow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<ItemId>,
    /// The turn of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// When the item began.
    pub started_at: Timestamp,
    /// When the item ended; none while it grows or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The text that a person reads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The kind of item, with its data.
    #[serde(flatten)]
    pub content: Content,
}

/// The kind of an item, with its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "content", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Content {
    /// A message of a person.
    UserMessage {
        /// The attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
        /// The author.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Author>,
    },
    /// A message of the agent.
    Message {
        /// Whether the message is an interim comment or the final answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        /// Whether the message is cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// A thought of the agent.
    Reasoning {
        /// Whether the thought is cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// A plan of the agent.
    Plan {
        /// The steps of the plan.
        steps: Vec<PlanStep>,
    },
    /// A tool call.
    Tool {
        /// The call.
        call: ToolCall,
        /// How the call ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
        /// The file changes of the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
    },
    /// Files that changed.
    Diff {
        /// The status of the change.
        status: ToolStatus,
        /// The changes, one per file.
        changes: Vec<FileChange>,
    },
    /// All changes of a turn. The text is the diff.
    TurnDiff,
    /// An approval.
    Approval {
        /// The request.
        request: ApprovalRequest,
        /// The decision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<ApprovalDecision>,
        /// Why nobody can decide any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expired: Option<String>,
    },
    /// A question of the agent.
    Question {
        /// The request.
        request: QuestionRequest,
        /// The answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<QuestionAnswer>,
        /// Why nobody can answer any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expired: Option<String>,
    },
    /// Work that the agent gave to another session. The text is that session's output, and finally its
    /// result.
    Delegation {
        /// The session that does the work.
        delegation: Delegation,
        /// The text of the task.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        task: String,
        /// How the work ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<DelegationEnd>,
        /// The tool call that delegated the work; none if the agent reports no call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<ToolCall>,
        /// How that call ended. The call can end long before the work does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<ToolOutcome>,
    },
    /// The end of a turn.
    TurnEnd(TurnEnd),
    /// A line between items: the agent woke or went to sleep, the session closed, a retry, a warning.
    Notice {
        /// How important the line is.
        level: NoticeLevel,
    },
}
