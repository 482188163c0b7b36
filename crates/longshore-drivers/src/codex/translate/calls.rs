//! The driver's requests: their purposes and their deadlines.

use longshore_model::anchor::Launch;
use longshore_model::capability::ModelInfo;
use longshore_model::command::Attachment;
use longshore_model::id::{PromptId, QueryId, SessionId, TurnId};
use serde_json::{Value, json};

use crate::codex::wire::RpcId;
use crate::kit::{Call, Pending, PendingCall, Scribe};

/// How long Codex may take to answer a request. A turn has no deadline, but its start has one.
pub(super) const ANSWER_WITHIN_MS: i64 = 30_000;

/// The purpose of a request, which gives its answer a meaning.
#[derive(Debug)]
pub(super) enum CodexCall {
    /// `initialize`.
    Greet,
    /// `thread/start` or `thread/fork`.
    Open(Box<Launch>),
    /// `thread/resume`.
    Resume { reason: ResumeReason, unarchived: bool },
    /// `thread/unarchive`, before a second `thread/resume`.
    Unarchive { reason: ResumeReason },
    /// `turn/start`.
    Start { thread: String, said: PromptToSend, reloaded: bool },
    /// `turn/steer` of one of Codex's turns.
    Steer { thread: String, turn: String, said: PromptToSend },
    /// `turn/interrupt` of one of Codex's turns.
    Interrupt { thread: String, turn: String },
    /// `thread/backgroundTerminals/list`, at the end of an interrupted turn.
    Terminals { thread: String, turn: String },
    /// `thread/backgroundTerminals/terminate`, for a command that an interrupted turn left running.
    Terminate { thread: String, turn: String },
    /// A request that needs no further action. `vital` says whether a refusal needs a notice.
    Tell { session: SessionId, vital: bool },
    /// `model/list`, with the models of the previous pages.
    Models { query: QueryId, models: Vec<ModelInfo>, pages: u32 },
    /// `thread/list`.
    Sessions { query: QueryId },
}

/// What a request concerns.
#[derive(Debug)]
pub(super) enum Concerns<'a> {
    Session(SessionId),
    /// A thread, by Codex's id.
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

    /// The prompt that begins a turn with this request.
    fn begins(&self) -> Option<&PromptToSend> {
        match self {
            CodexCall::Start { said, .. }
            | CodexCall::Resume { reason: ResumeReason::Say { said, .. }, .. }
            | CodexCall::Unarchive { reason: ResumeReason::Say { said, .. } } => Some(said),
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
            | CodexCall::Sessions { .. } => None,
        }
    }
}

/// Why a thread is resumed.
#[derive(Debug)]
pub(super) enum ResumeReason {
    /// For a session that opens.
    Open(Box<Launch>),
    /// For a prompt, because Codex has unloaded the thread.
    Say { thread: String, said: PromptToSend },
}

/// A prompt.
#[derive(Clone, Debug)]
pub(super) struct PromptToSend {
    /// The turn that the prompt begins; none if the session does not know yet that the prompt begins a turn.
    pub turn: Option<TurnId>,
    pub prompt: PromptId,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

impl Call for CodexCall {
    fn within_ms(&self) -> Option<i64> {
        Some(ANSWER_WITHIN_MS)
    }

    fn query(&self) -> Option<QueryId> {
        match self {
            CodexCall::Models { query, .. } | CodexCall::Sessions { query } => Some(*query),
            CodexCall::Greet
            | CodexCall::Open(_)
            | CodexCall::Resume { .. }
            | CodexCall::Unarchive { .. }
            | CodexCall::Start { .. }
            | CodexCall::Steer { .. }
            | CodexCall::Interrupt { .. }
            | CodexCall::Terminals { .. }
            | CodexCall::Terminate { .. }
            | CodexCall::Tell { .. } => None,
        }
    }

    fn opens(&self) -> Option<SessionId> {
        match self {
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
        }
    }
}

impl Pending<CodexCall> {
    /// Sends a request.
    pub(super) fn send(
        &mut self,
        method: &'static str,
        params: Value,
        call: CodexCall,
        scribe: &mut Scribe<'_>,
    ) {
        let number = self.add(method, call, scribe.cx.now);
        scribe.out.lines.push(json!({"id": number, "method": method, "params": params}).to_string());
    }

    /// The request to which an answer belongs.
    pub(super) fn answered(&mut self, id: &RpcId) -> Option<PendingCall<CodexCall>> {
        match id {
            RpcId::Number(number) => self.take(u64::try_from(*number).ok()?),
            RpcId::Text(_) => None,
        }
    }

    /// Whether this turn was requested and has no answer yet.
    pub(super) fn is_starting(&self, turn: TurnId) -> bool {
        self.calls().any(|call| call.begins().is_some_and(|said| said.turn == Some(turn)))
    }

    /// The prompts that begin a turn of this thread and have no answer yet.
    pub(super) fn starting(&mut self, native: &str) -> impl Iterator<Item = &mut PromptToSend> {
        self.iter_mut().filter_map(move |pending| match &mut pending.call {
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
}
