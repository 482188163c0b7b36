//! The driver's requests: their purposes and their deadlines.

use longshore_model::anchor::Launch;
use longshore_model::id::{QueryId, SessionId};
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::kit::{Call, Pending, PendingCall, Scribe};

/// How long an agent may take to answer a request. Only a turn has no deadline.
pub(super) const ANSWER_WITHIN_MS: i64 = 30_000;
/// The longest wait for an interrupted turn. Well before that, the anchor ends an agent that does not stop.
pub(super) const CANCEL_WITHIN_MS: i64 = 30_000;

/// How long an agent may pause while it reports the past.
const PAST_WITHIN_MS: i64 = 3_000;

/// The purpose of a request, which gives its answer a meaning.
#[derive(Debug)]
pub(super) enum AcpCall {
    /// `initialize`.
    Greet,
    /// `session/new` or `session/fork`: the answer names the session. `logins` counts the logins that were
    /// tried before.
    Open { launch: Box<Launch>, logins: usize },
    /// `session/load` or `session/resume`. `logins` counts the logins that were tried before.
    Resume { launch: Box<Launch>, native: String, logins: usize },
    /// `authenticate`, before another try.
    Login { launch: Box<Launch>, logins: usize },
    /// Not a real request: the agent still reports the past of a session.
    Past { native: String },
    /// `session/prompt`.
    Prompt { native: String },
    /// Changes a setting of a session.
    Set { native: String, session: SessionId, what: SettingChange },
    /// `session/new`, only to learn the models.
    Models { query: QueryId },
    /// `session/list`.
    Sessions { query: QueryId },
}

/// The setting that changes.
#[derive(Clone, Debug)]
pub(super) enum SettingChange {
    /// The agent's mode.
    Mode(String),
    /// The model, by a method that is no longer part of the protocol.
    Model(String),
    /// An option of the agent.
    Option { id: String, value: String },
}

impl Call for AcpCall {
    fn within_ms(&self) -> Option<i64> {
        match self {
            AcpCall::Prompt { .. } => None,
            AcpCall::Past { .. } => Some(PAST_WITHIN_MS),
            AcpCall::Greet
            | AcpCall::Open { .. }
            | AcpCall::Resume { .. }
            | AcpCall::Login { .. }
            | AcpCall::Set { .. }
            | AcpCall::Models { .. }
            | AcpCall::Sessions { .. } => Some(ANSWER_WITHIN_MS),
        }
    }

    fn query(&self) -> Option<QueryId> {
        match self {
            AcpCall::Models { query } | AcpCall::Sessions { query } => Some(*query),
            AcpCall::Greet
            | AcpCall::Open { .. }
            | AcpCall::Resume { .. }
            | AcpCall::Login { .. }
            | AcpCall::Prompt { .. }
            | AcpCall::Past { .. }
            | AcpCall::Set { .. } => None,
        }
    }

    fn opens(&self) -> Option<SessionId> {
        match self {
            AcpCall::Open { launch, .. } | AcpCall::Resume { launch, .. } | AcpCall::Login { launch, .. } => {
                Some(launch.session)
            }
            AcpCall::Greet
            | AcpCall::Prompt { .. }
            | AcpCall::Past { .. }
            | AcpCall::Set { .. }
            | AcpCall::Models { .. }
            | AcpCall::Sessions { .. } => None,
        }
    }
}

impl Pending<AcpCall> {
    /// Sends a request, and returns its number.
    pub(super) fn send(
        &mut self,
        method: &'static str,
        params: Value,
        call: AcpCall,
        scribe: &mut Scribe<'_>,
    ) -> u64 {
        let number = self.add(method, call, scribe.cx.now);
        let line = json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
        scribe.out.lines.push(line.to_string());
        number
    }

    /// The request to which an answer belongs.
    pub(super) fn answered(&mut self, id: &RawValue) -> Option<PendingCall<AcpCall>> {
        self.take(id.get().parse().ok()?)
    }

    /// Extends the deadline of `session/load`, because the agent reports the past of the session.
    pub(super) fn still_loading(&mut self, session: &str, now: Timestamp) {
        for pending in self.iter_mut() {
            match &pending.call {
                AcpCall::Resume { native, .. } | AcpCall::Past { native } if native == session => {
                    pending.due = pending.call.within_ms().map(|within| now.plus_millis(within));
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

    /// Whether a session waits for its id.
    pub(super) fn awaits_name(&self) -> bool {
        self.calls().any(|call| matches!(call, AcpCall::Open { .. }))
    }
}
