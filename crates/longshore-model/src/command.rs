//! Commands: what clients ask of a session, and what a session tells its agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use crate::capability::Mode;
use crate::delegation::ChildNews;
use crate::id::{ApprovalId, PromptId, QuestionId, Seq, TurnId};

/// What a client asks of a session. The session may refuse it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Send a prompt to the agent.
    Prompt(Prompt),
    /// Change the text of a waiting prompt.
    EditPrompt {
        /// The prompt.
        prompt: PromptId,
        /// The new text.
        text: String,
    },
    /// Take a waiting prompt back.
    CancelPrompt {
        /// The prompt.
        prompt: PromptId,
    },
    /// Change the order of the waiting prompts.
    Reorder {
        /// The new order, the next prompt first. Prompts that are not in this list follow in their old order.
        order: Vec<PromptId>,
    },
    /// Release held prompts. The session sends them as soon as the agent is free.
    SendQueued {
        /// Whether to release all held prompts, or only the next one.
        all: bool,
    },
    /// Take all waiting prompts back.
    DiscardQueue,
    /// Stop the turn. The session holds the waiting prompts until a person releases them.
    Interrupt,
    /// Stop the turn because the delegating session no longer wants its result. The session holds no prompts,
    /// because no person stopped it.
    Recall,
    /// Decide an approval.
    Decide {
        /// The approval.
        approval: ApprovalId,
        /// The decision.
        decision: Decision,
        /// A message for the agent.
        message: Option<String>,
        /// Arguments that the agent must use instead of its own.
        input: Option<serde_json::Value>,
    },
    /// Answer a question.
    Answer {
        /// The question.
        question: QuestionId,
        /// Whether to answer, decline or cancel.
        action: AnswerAction,
        /// The answers by field id.
        answers: std::collections::BTreeMap<String, serde_json::Value>,
    },
    /// Set the mode: what the agent may do without asking.
    SetMode(Mode),
    /// Set the model.
    SetModel(String),
    /// Set the effort, in the agent's own words: how hard the agent thinks.
    SetEffort(String),
    /// Set the title.
    Rename(String),
    /// Archive the session, or restore it.
    Archive(bool),
    /// Start the agent without a prompt.
    Revive {
        /// Whether to tell the agent what the log holds, instead of relying on the agent's own memory.
        from_log: bool,
    },
    /// Let the agent continue the interrupted turn.
    Resume,
    /// Hand the conversation back: the agent's process ends, so that the agent's own terminal can continue.
    Release {
        /// The command that continues in the agent's own terminal, if there is one.
        hand_back: Option<String>,
    },
    /// Close the session for good.
    Close,
}

impl Command {
    /// The approval or question that it answers.
    pub fn ask(&self) -> Option<Uuid> {
        if let Command::Decide { approval, .. } = self {
            Some(approval.0)
        } else if let Command::Answer { question, .. } = self {
            Some(question.0)
        } else {
            None
        }
    }
}

/// A prompt: a message to the agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// The attachments.
    pub attachments: Vec<Attachment>,
    /// The client's own name for the prompt. Two prompts with the same key are one prompt.
    pub key: Option<String>,
    /// What to do if the agent is busy.
    pub when: When,
}

/// What to do with a prompt if the agent is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Wait for the end of the turn.
    #[default]
    Queue,
    /// Put the prompt into the running turn.
    Steer,
    /// Stop the running turn, then send the prompt.
    Interrupt,
}

/// A file or an image of a prompt, or of a tool's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type: `image/png`.
    pub media_type: String,
    /// Where the content is.
    #[serde(flatten)]
    pub source: AttachmentSource,
}

impl Attachment {
    /// The number of bytes of the base64 that the attachment carries; 0 for a path or an address.
    pub fn bytes(&self) -> usize {
        match &self.source {
            AttachmentSource::Data(data) => data.len(),
            AttachmentSource::Path(_) | AttachmentSource::Url(_) => 0,
        }
    }
}

/// Where the content of an attachment is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// In the attachment itself, as base64.
    Data(String),
    /// In a file on the agent's machine.
    Path(String),
    /// At an address.
    Url(String),
}

/// What a session tells its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", content = "with", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Begin a turn.
    Prompt {
        /// The turn that begins.
        turn: TurnId,
        /// The id of the prompt.
        prompt: PromptId,
        /// The text.
        text: String,
        /// The attachments.
        attachments: Vec<Attachment>,
    },
    /// Put a message into the running turn.
    Steer {
        /// The running turn.
        turn: TurnId,
        /// The id of the prompt.
        prompt: PromptId,
        /// The text.
        text: String,
        /// The attachments.
        attachments: Vec<Attachment>,
    },
    /// Stop the turn.
    Interrupt {
        /// The turn to stop.
        turn: TurnId,
    },
    /// A person decided an approval.
    Decide {
        /// The approval.
        approval: ApprovalId,
        /// The decision.
        decision: ApprovalDecision,
    },
    /// A person answered a question.
    Answer {
        /// The question.
        question: QuestionId,
        /// The answer.
        answer: QuestionAnswer,
    },
    /// Set the mode from the next turn on.
    SetMode(Mode),
    /// Set the model from the next turn on.
    SetModel(String),
    /// Set the effort from the next turn on.
    SetEffort(String),
    /// The session has a new title.
    Rename(String),
    /// The session was archived, or restored.
    Archive(bool),
    /// News of a child session to which the agent delegated work.
    Child {
        /// The agent's id of the call.
        call: String,
        /// What happened to the child.
        news: ChildNews,
    },
}

/// The result of a command that the session accepted.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The command is done and returns nothing.
    Done,
    /// The session accepted the prompt.
    Prompted {
        /// The id of the prompt.
        prompt: PromptId,
        /// The turn that the prompt begins or steers.
        turn: TurnId,
        /// The event that recorded the prompt.
        seq: Seq,
    },
    /// The approval has this decision.
    Decided(ApprovalDecision),
    /// The question has this answer.
    Answered(QuestionAnswer),
}

/// Why a session refused a command. Each refusal has a stable code, see `docs/errors.md`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The session is closed.
    #[error("the session is closed; fork it to continue")]
    Closed,
    /// No turn is running.
    #[error("no turn is running")]
    NoTurn,
    /// The command is not possible while a turn runs or is about to run.
    #[error("a turn is running or about to run; interrupt it first")]
    BusyTurn,
    /// The session has no interrupted turn.
    #[error("no turn was interrupted here, so there is none to resume; send a prompt instead")]
    NotInterrupted,
    /// Too many prompts wait.
    #[error("{0} prompts are already queued; remove one, or wait for the end of the turn")]
    QueueFull(usize),
    /// The waiting prompts are too large.
    #[error("the queued prompts already have {} MiB together; remove one, or wait for the end of the turn", .0 >> 20)]
    QueueTooLarge(usize),
    /// No waiting prompt has this id.
    #[error("no queued prompt has this id; the hub may have sent it already")]
    UnknownPrompt,
    /// No approval of the session has this id.
    #[error("the session has no approval with this id")]
    UnknownApproval,
    /// Another client decided first.
    #[error("{} has already decided this", .0.by)]
    AlreadyDecided(ApprovalDecision),
    /// The agent no longer waits for an answer.
    #[error("the agent no longer waits for this: {0}")]
    Expired(String),
    /// The approval does not offer this decision.
    #[error("this approval does not accept this decision; possible are {0:?}")]
    NotAnOption(Vec<Decision>),
    /// No question of the session has this id.
    #[error("the session has no question with this id")]
    UnknownQuestion,
    /// Another client answered first.
    #[error("{} has already answered this", .0.by)]
    AlreadyAnswered(QuestionAnswer),
    /// A field of the answer is missing or of the wrong kind.
    #[error("the answer to `{field}` {fault}")]
    BadAnswer {
        /// The id of the field.
        field: String,
        /// What is wrong with the field.
        fault: String,
    },
    /// The agent cannot do this.
    #[error("{agent} cannot {what}")]
    NotSupported {
        /// The agent.
        agent: String,
        /// What the agent cannot do.
        what: &'static str,
    },
    /// The prompt has neither text nor attachments.
    #[error("the prompt is empty")]
    EmptyPrompt,
}
