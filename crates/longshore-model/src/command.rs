//! Commands: wishes of clients to a session, and what a session tells its agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use crate::capability::Mode;
use crate::delegation::ChildNews;
use crate::id::{ApprovalId, PromptId, QuestionId, Seq, TurnId};

/// A wish of a client. May be refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Say something to the agent.
    Prompt(Prompt),
    /// Rewrite a prompt that still waits.
    EditPrompt {
        /// Which one.
        prompt: PromptId,
        /// How it shall read.
        text: String,
    },
    /// Take back a prompt that still waits.
    CancelPrompt {
        /// Which one.
        prompt: PromptId,
    },
    /// Put the waiting prompts into another order.
    Reorder {
        /// The next one first; those left out follow as they stood.
        order: Vec<PromptId>,
    },
    /// Let go of prompts that are held; they are sent as soon as the agent is free.
    SendQueued {
        /// All of them, and not only the next one.
        all: bool,
    },
    /// Take back all prompts that wait.
    DiscardQueue,
    /// Stop the turn. The prompts that wait are held until a person sends them on.
    Interrupt,
    /// Stop the turn because whoever delegated it wants it no more. Nothing is held: no person stopped it.
    Recall,
    /// Answer an approval.
    Decide {
        /// Which one.
        approval: ApprovalId,
        /// How.
        decision: Decision,
        /// What the agent is told with it.
        message: Option<String>,
        /// The arguments that it may use instead of its own.
        input: Option<serde_json::Value>,
    },
    /// Answer a question.
    Answer {
        /// Which one.
        question: QuestionId,
        /// Whether at all.
        action: AnswerAction,
        /// By field.
        answers: std::collections::BTreeMap<String, serde_json::Value>,
    },
    /// Allow more, or less.
    SetMode(Mode),
    /// Think with another model.
    SetModel(String),
    /// Think more, or less: a word of the agent's own.
    SetEffort(String),
    /// Give it a title.
    Rename(String),
    /// Put it away, or take it out.
    Archive(bool),
    /// Wake the agent without saying anything.
    Revive {
        /// Tell it what our log holds instead of relying on its own memory.
        from_log: bool,
    },
    /// Have the agent go on where it was interrupted.
    Resume,
    /// Hand the conversation back: the agent's process ends, so that the agent's own terminal can go on with it.
    Release {
        /// The command for that, where there is one.
        hand_back: Option<String>,
    },
    /// End the session for good.
    Close,
}

/// Something to say to the agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// The words.
    pub text: String,
    /// What comes with them.
    pub attachments: Vec<Attachment>,
    /// The client's own name for it: the same key twice is one prompt.
    pub key: Option<String>,
    /// What to do when the agent is busy.
    pub when: When,
}

/// What to do with a prompt when the agent is busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Wait for the turn to end.
    #[default]
    Queue,
    /// Say it into the running turn.
    Steer,
    /// Stop the running turn and say it then.
    Interrupt,
}

/// A file or an image that comes with a prompt, or with the result of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type: `image/png`.
    pub media_type: String,
    /// Where it is.
    #[serde(flatten)]
    pub source: AttachmentSource,
}

impl Attachment {
    /// How many bytes it brings: those of its base64.
    pub fn bytes(&self) -> usize {
        match &self.source {
            AttachmentSource::Data(data) => data.len(),
            AttachmentSource::Path(_) | AttachmentSource::Url(_) => 0,
        }
    }
}

/// Where an attachment is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentSource {
    /// Here, in base64.
    Data(String),
    /// In a file of the agent's machine.
    Path(String),
    /// Elsewhere.
    Url(String),
}

/// What a session tells its agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", content = "with", rename_all = "snake_case")]
pub enum AgentCommand {
    /// Begin a turn.
    Prompt {
        /// The turn that it begins.
        turn: TurnId,
        /// Its name.
        prompt: PromptId,
        /// The words.
        text: String,
        /// What comes with them.
        attachments: Vec<Attachment>,
    },
    /// Say something into the running turn.
    Steer {
        /// The turn.
        turn: TurnId,
        /// Its name.
        prompt: PromptId,
        /// The words.
        text: String,
        /// What comes with them.
        attachments: Vec<Attachment>,
    },
    /// Stop the turn.
    Interrupt {
        /// Which one.
        turn: TurnId,
    },
    /// Somebody decided an approval.
    Decide {
        /// Which one.
        approval: ApprovalId,
        /// How.
        decision: ApprovalDecision,
    },
    /// Somebody answered a question.
    Answer {
        /// Which one.
        question: QuestionId,
        /// What.
        answer: QuestionAnswer,
    },
    /// Allow more, or less, from the next turn on.
    SetMode(Mode),
    /// Think with another model from the next turn on.
    SetModel(String),
    /// Think more, or less, from the next turn on.
    SetEffort(String),
    /// The session has a title now.
    Rename(String),
    /// The session was put away, or taken out.
    Archive(bool),
    /// How a session fares that the agent delegated to.
    Child {
        /// The agent's name for the call.
        call: String,
        /// How.
        news: ChildNews,
    },
}

/// What a command that was not refused came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Done; nothing to tell.
    Done,
    /// The prompt was taken.
    Prompted {
        /// Its name.
        prompt: PromptId,
        /// The turn that it begins or steers.
        turn: TurnId,
        /// The event that recorded it.
        seq: Seq,
    },
    /// The approval was decided so.
    Decided(ApprovalDecision),
    /// The question was answered so.
    Answered(QuestionAnswer),
}

/// Why a command was refused. Each has a stable code, see `docs/errors.md`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The session is over.
    #[error("the session is closed; fork it to continue")]
    Closed,
    /// There is no turn to interrupt.
    #[error("no turn is running")]
    NoTurn,
    /// What cannot be done while a turn runs or is about to.
    #[error("a turn is running or about to run; interrupt it first")]
    BusyTurn,
    /// There is nothing to go on with.
    #[error("no turn was interrupted here, so there is none to resume; send a prompt instead")]
    NotInterrupted,
    /// The queue is full.
    #[error("{0} prompts are already queued; remove one, or wait for the end of the turn")]
    QueueFull(usize),
    /// What waits is too large.
    #[error("the queued prompts already have {} MiB together; remove one, or wait for the end of the turn", .0 >> 20)]
    QueueTooLarge(usize),
    /// No prompt of that name waits.
    #[error("no queued prompt has this id; the hub may have sent it already")]
    UnknownPrompt,
    /// The session has no approval of that name.
    #[error("the session has no approval with this id")]
    UnknownApproval,
    /// Somebody was first.
    #[error("{} has already decided this", .0.by)]
    AlreadyDecided(ApprovalDecision),
    /// The agent no longer waits for it.
    #[error("the agent no longer waits for this: {0}")]
    Expired(String),
    /// This approval cannot be answered so.
    #[error("this approval does not accept this decision; possible are {0:?}")]
    NotAnOption(Vec<Decision>),
    /// The session has no question of that name.
    #[error("the session has no question with this id")]
    UnknownQuestion,
    /// Somebody was first.
    #[error("{} has already answered this", .0.by)]
    AlreadyAnswered(QuestionAnswer),
    /// A field is missing or of the wrong kind.
    #[error("the answer to `{field}` {fault}")]
    BadAnswer {
        /// Which field.
        field: String,
        /// What is wrong.
        fault: String,
    },
    /// The agent cannot do that.
    #[error("{agent} cannot {what}")]
    NotSupported {
        /// Which agent.
        agent: String,
        /// What it cannot do.
        what: &'static str,
    },
    /// A prompt needs words.
    #[error("the prompt is empty")]
    EmptyPrompt,
}
