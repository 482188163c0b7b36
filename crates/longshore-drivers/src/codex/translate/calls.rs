//! Requests of ours: their numbers, what each was for, and how long its answer may take.

use std::collections::BTreeMap;

use longshore_model::anchor::Launch;
use longshore_model::capability::ModelInfo;
use longshore_model::command::Attachment;
use longshore_model::driver::Output;
use longshore_model::id::{Context, PromptId, QueryId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use crate::codex::wire::RpcId;

/// How long codex may take to acknowledge a request. A turn may take for ever; starting one may not.
pub(super) const ANSWER_WITHIN_MS: i64 = 30_000;

/// What a request was for, and so what its answer means.
#[derive(Debug)]
pub(super) enum CodexCall {
    /// `initialize`.
    Greet,
    /// `thread/start` or `thread/fork`.
    Open(Box<Launch>),
    /// `thread/resume`.
    Resume { reason: ResumeReason, unarchived: bool },
    /// `thread/unarchive`, on the way to a second `thread/resume`.
    Unarchive { reason: ResumeReason },
    /// `turn/start`.
    Start { thread: String, said: PromptToSend, reloaded: bool },
    /// `turn/steer` into a turn of theirs.
    Steer { thread: String, turn: String, said: PromptToSend },
    /// `turn/interrupt` of a turn of theirs.
    Interrupt { thread: String, turn: String },
    /// `thread/backgroundTerminals/list`, for the end of a turn of theirs that was interrupted.
    Terminals { thread: String, turn: String },
    /// `thread/backgroundTerminals/terminate`, of a command that such a turn left running.
    Terminate { thread: String, turn: String },
    /// Something that is done when it is answered. `vital` when a refusal is worth a line.
    Tell { session: SessionId, vital: bool },
    /// `model/list`, with the pages that came before.
    Models { query: QueryId, models: Vec<ModelInfo>, pages: u32 },
    /// `thread/list`.
    Sessions { query: QueryId },
}

/// Whom a request concerns.
#[derive(Debug)]
pub(super) enum Concerns<'a> {
    Session(SessionId),
    /// By their name.
    Thread(&'a str),
    Nobody,
}

impl CodexCall {
    pub(super) fn concerns(&self) -> Concerns<'_> {
        match self {
            CodexCall::Open(launch)
            | CodexCall::Resume { reason: ResumeReason::Open(launch), .. }
            | CodexCall::Unarchive { reason: ResumeReason::Open(launch) } => {
                Concerns::Session(launch.session)
            }
            CodexCall::Tell { session, .. } => Concerns::Session(*session),
            CodexCall::Start { thread, .. }
            | CodexCall::Steer { thread, .. }
            | CodexCall::Interrupt { thread, .. }
            | CodexCall::Terminals { thread, .. }
            | CodexCall::Terminate { thread, .. }
            | CodexCall::Resume { reason: ResumeReason::Say { thread, .. }, .. }
            | CodexCall::Unarchive { reason: ResumeReason::Say { thread, .. } } => Concerns::Thread(thread),
            CodexCall::Greet | CodexCall::Models { .. } | CodexCall::Sessions { .. } => Concerns::Nobody,
        }
    }
}

/// Why a thread is resumed.
#[derive(Debug)]
pub(super) enum ResumeReason {
    /// A session begins with it.
    Open(Box<Launch>),
    /// It was unloaded, and somebody has something to say to it.
    Say { thread: String, said: PromptToSend },
}

/// Something that a person says.
#[derive(Clone, Debug)]
pub(super) struct PromptToSend {
    /// The turn that it begins; none when the session does not know yet that it begins one.
    pub turn: Option<TurnId>,
    pub prompt: PromptId,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) struct PendingCodexCall {
    pub method: &'static str,
    pub call: CodexCall,
    due: Timestamp,
}

/// All requests that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct CodexCalls {
    last: i64,
    pending: BTreeMap<i64, PendingCodexCall>,
}

impl CodexCalls {
    /// Writes a request.
    pub(super) fn send(
        &mut self,
        method: &'static str,
        params: Value,
        call: CodexCall,
        cx: &Context<'_>,
        out: &mut Output,
    ) {
        self.last += 1;
        let due = cx.now.plus_millis(ANSWER_WITHIN_MS);
        self.pending.insert(self.last, PendingCodexCall { method, call, due });
        out.lines.push(json!({"id": self.last, "method": method, "params": params}).to_string());
    }

    /// The request that an answer is to.
    pub(super) fn answered(&mut self, id: &RpcId) -> Option<PendingCodexCall> {
        match id {
            RpcId::Number(number) => self.pending.remove(number),
            RpcId::Text(_) => None,
        }
    }

    /// A request whose answer is overdue.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Option<PendingCodexCall> {
        let late = *self.pending.iter().find(|(_, pending)| pending.due <= now)?.0;
        self.pending.remove(&late)
    }

    /// When the next answer is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.pending.values().map(|pending| pending.due).min()
    }

    /// Whether this turn was asked for and not answered yet.
    pub(super) fn is_starting(&self, turn: TurnId) -> bool {
        self.pending.values().any(|pending| match &pending.call {
            CodexCall::Start { said, .. } => said.turn == Some(turn),
            CodexCall::Resume { reason: ResumeReason::Say { said, .. }, .. }
            | CodexCall::Unarchive { reason: ResumeReason::Say { said, .. } } => said.turn == Some(turn),
            CodexCall::Greet
            | CodexCall::Open(_)
            | CodexCall::Resume { reason: ResumeReason::Open(_), .. }
            | CodexCall::Unarchive { reason: ResumeReason::Open(_) }
            | CodexCall::Steer { .. }
            | CodexCall::Interrupt { .. }
            | CodexCall::Terminals { .. }
            | CodexCall::Terminate { .. }
            | CodexCall::Tell { .. }
            | CodexCall::Models { .. }
            | CodexCall::Sessions { .. } => false,
        })
    }

    /// What was said to a thread to begin a turn, and has not been answered.
    pub(super) fn starting(&mut self, native: &str) -> impl Iterator<Item = &mut PromptToSend> {
        self.pending.values_mut().filter_map(move |pending| match &mut pending.call {
            CodexCall::Start { thread, said, .. } if thread == native => Some(said),
            CodexCall::Start { .. }
            | CodexCall::Greet
            | CodexCall::Open(_)
            | CodexCall::Resume { .. }
            | CodexCall::Unarchive { .. }
            | CodexCall::Steer { .. }
            | CodexCall::Interrupt { .. }
            | CodexCall::Terminals { .. }
            | CodexCall::Terminate { .. }
            | CodexCall::Tell { .. }
            | CodexCall::Models { .. }
            | CodexCall::Sessions { .. } => None,
        })
    }

    /// Nobody will answer the questions that wait.
    pub(super) fn fail_queries(&mut self, reason: &str, out: &mut Output) {
        self.pending.retain(|_, pending| match &pending.call {
            CodexCall::Models { query, .. } | CodexCall::Sessions { query } => {
                out.answers.push((*query, Err(reason.to_owned())));
                false
            }
            CodexCall::Greet
            | CodexCall::Open(_)
            | CodexCall::Resume { .. }
            | CodexCall::Unarchive { .. }
            | CodexCall::Start { .. }
            | CodexCall::Steer { .. }
            | CodexCall::Interrupt { .. }
            | CodexCall::Terminals { .. }
            | CodexCall::Terminate { .. }
            | CodexCall::Tell { .. } => true,
        });
    }

    /// Whether nothing waits for an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The first session that is being opened by a request on its way.
    pub(super) fn opening(&self) -> Option<SessionId> {
        self.openings().next()
    }

    /// The sessions that are being opened by requests on their way.
    pub(super) fn openings(&self) -> impl Iterator<Item = SessionId> {
        self.pending.values().filter_map(|pending| match &pending.call {
            CodexCall::Open(launch)
            | CodexCall::Resume { reason: ResumeReason::Open(launch), .. }
            | CodexCall::Unarchive { reason: ResumeReason::Open(launch) } => Some(launch.session),
            CodexCall::Greet
            | CodexCall::Resume { reason: ResumeReason::Say { .. }, .. }
            | CodexCall::Unarchive { reason: ResumeReason::Say { .. } }
            | CodexCall::Start { .. }
            | CodexCall::Steer { .. }
            | CodexCall::Interrupt { .. }
            | CodexCall::Terminals { .. }
            | CodexCall::Terminate { .. }
            | CodexCall::Tell { .. }
            | CodexCall::Models { .. }
            | CodexCall::Sessions { .. } => None,
        })
    }
}
