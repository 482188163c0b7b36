//! Requests of ours: their numbers, what each was for, and how long its answer may take.

use std::collections::BTreeMap;

use longshore_model::anchor::Launch;
use longshore_model::driver::Output;
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// How long an agent may take to acknowledge a request. A turn may take for ever; all else may not.
pub(super) const ANSWER_WITHIN_MS: i64 = 30_000;
/// How long a turn that was interrupted is waited for, at the utmost: the anchor ends an agent that does not stop well before.
pub(super) const CANCEL_WITHIN_MS: i64 = 30_000;

/// How long an agent may pause while it tells the past.
const PAST_WITHIN_MS: i64 = 3_000;

/// What a request was for, and so what its answer means.
#[derive(Debug)]
pub(super) enum AcpCall {
    /// `initialize`.
    Greet,
    /// `session/new` or `session/fork`: the answer names the session. How many logins were tried before.
    Open { launch: Box<Launch>, logins: usize },
    /// `session/load` or `session/resume`. How many logins were tried before.
    Resume { launch: Box<Launch>, native: String, logins: usize },
    /// `authenticate`, on the way to another try.
    Login { launch: Box<Launch>, logins: usize },
    /// No request at all: the past of a session, which is still being told.
    Past { native: String },
    /// `session/prompt`.
    Prompt { native: String },
    /// A setting of a session.
    Set { native: String, session: SessionId, what: SettingChange },
    /// `session/new`, only to learn which models there are.
    Models { query: QueryId },
    /// `session/list`.
    Sessions { query: QueryId },
}

/// What is set.
#[derive(Clone, Debug)]
pub(super) enum SettingChange {
    /// The agent's mode.
    Mode(String),
    /// The model, in the way that is no longer part of the protocol.
    Model(String),
    /// An option of the agent's own.
    Option { id: String, value: String },
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(super) struct PendingAcpCall {
    pub number: i64,
    pub method: &'static str,
    pub call: AcpCall,
    due: Option<Timestamp>,
}

/// All requests that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct AcpCalls {
    last: i64,
    pending: BTreeMap<i64, PendingAcpCall>,
}

impl AcpCalls {
    /// Writes a request, and says its number.
    pub(super) fn send(
        &mut self,
        method: &'static str,
        params: Value,
        call: AcpCall,
        cx: &Context<'_>,
        out: &mut Output,
    ) -> i64 {
        self.last += 1;
        let number = self.last;
        let due = match &call {
            AcpCall::Prompt { .. } | AcpCall::Past { .. } => None,
            AcpCall::Greet
            | AcpCall::Open { .. }
            | AcpCall::Resume { .. }
            | AcpCall::Login { .. }
            | AcpCall::Set { .. }
            | AcpCall::Models { .. }
            | AcpCall::Sessions { .. } => Some(cx.now.plus_millis(ANSWER_WITHIN_MS)),
        };
        self.pending.insert(number, PendingAcpCall { number, method, call, due });
        let line = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
        out.lines.push(line.to_string());
        number
    }

    /// Waits for something that nobody was asked for, and says its number.
    pub(super) fn expect_past(&mut self, native: &str, now: Timestamp) -> i64 {
        self.last += 1;
        let call = AcpCall::Past { native: native.to_owned() };
        let due = Some(now.plus_millis(PAST_WITHIN_MS));
        let pending = PendingAcpCall { number: self.last, method: "the past", call, due };
        self.pending.insert(self.last, pending);
        self.last
    }

    /// It came, or is not waited for any more.
    pub(super) fn forget(&mut self, number: i64) {
        self.pending.remove(&number);
    }

    /// The request that an answer is to.
    pub(super) fn answered(&mut self, id: &RawValue) -> Option<PendingAcpCall> {
        self.pending.remove(&id.get().parse().ok()?)
    }

    /// A request whose answer is overdue.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Option<PendingAcpCall> {
        let late = *self.pending.iter().find(|(_, pending)| pending.due.is_some_and(|due| due <= now))?.0;
        self.pending.remove(&late)
    }

    /// When the next answer is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.pending.values().filter_map(|pending| pending.due).min()
    }

    /// From now on this answer is waited for no longer than that.
    pub(super) fn hurry(&mut self, number: i64, due: Timestamp) {
        if let Some(pending) = self.pending.get_mut(&number) {
            pending.due.get_or_insert(due);
        }
    }

    /// A session that tells its past shows that it is being loaded.
    pub(super) fn still_loading(&mut self, session: &str, now: Timestamp) {
        for pending in self.pending.values_mut() {
            match &pending.call {
                AcpCall::Resume { native, .. } if native == session => {
                    pending.due = Some(now.plus_millis(ANSWER_WITHIN_MS));
                }
                AcpCall::Past { native } if native == session => {
                    pending.due = Some(now.plus_millis(PAST_WITHIN_MS));
                }
                AcpCall::Resume { .. }
                | AcpCall::Past { .. }
                | AcpCall::Greet
                | AcpCall::Open { .. }
                | AcpCall::Login { .. }
                | AcpCall::Prompt { .. }
                | AcpCall::Set { .. }
                | AcpCall::Models { .. }
                | AcpCall::Sessions { .. } => {}
            }
        }
    }

    /// Whether nothing waits for an answer.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether some session is about to be named.
    pub(super) fn awaits_name(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending.call, AcpCall::Open { .. }))
    }

    /// The sessions that are being opened by requests on their way.
    pub(super) fn openings(&self) -> impl Iterator<Item = SessionId> {
        self.pending.values().filter_map(|pending| match &pending.call {
            AcpCall::Open { launch, .. } | AcpCall::Resume { launch, .. } | AcpCall::Login { launch, .. } => {
                Some(launch.session)
            }
            AcpCall::Greet
            | AcpCall::Prompt { .. }
            | AcpCall::Past { .. }
            | AcpCall::Set { .. }
            | AcpCall::Models { .. }
            | AcpCall::Sessions { .. } => None,
        })
    }

    /// Nobody will answer the questions that wait.
    pub(super) fn fail_queries(&mut self, reason: &str, out: &mut Output) {
        self.pending.retain(|_, pending| match &pending.call {
            AcpCall::Models { query } | AcpCall::Sessions { query } => {
                out.answers.push((*query, Err(reason.to_owned())));
                false
            }
            AcpCall::Greet
            | AcpCall::Open { .. }
            | AcpCall::Resume { .. }
            | AcpCall::Login { .. }
            | AcpCall::Prompt { .. }
            | AcpCall::Past { .. }
            | AcpCall::Set { .. } => true,
        });
    }
}
