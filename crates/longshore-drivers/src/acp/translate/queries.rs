//! Questions that concern no session: models and conversations.

use longshore_model::anchor::{AgentQuestion, Answer, NativeSession, NativeSessions, SessionsQuery};
use longshore_model::id::QueryId;
use serde_json::json;

use super::calls::AcpCall;
use super::errors::AcpError;
use super::settings::AcpSettings;
use super::{Acp, Phase};
use crate::acp::wire::{Opened, SessionPage};
use crate::kit::Scribe;

/// An agent reports its models only with a session. The driver opens this session only for the question, in a
/// folder without anybody's work.
const NOWHERE: &str = "/tmp";

impl Acp {
    pub(super) fn ask(&mut self, id: QueryId, query: AgentQuestion, scribe: &mut Scribe<'_>) {
        match &self.phase {
            Phase::Refused(reason) => {
                scribe.out.answers.push((id, Err(reason.clone())));
                return;
            }
            Phase::Silent | Phase::Greeting => {
                self.queries.push_back((id, query));
                return self.greet(scribe);
            }
            Phase::Listening => {}
        }
        match query {
            AgentQuestion::Models(_) => {
                let known = self
                    .conversations
                    .values()
                    .map(|conversation| conversation.settings.models())
                    .find(|all| !all.is_empty());
                match known {
                    Some(models) => scribe.out.answers.push((id, Ok(Answer::Models(models)))),
                    None => {
                        let params = json!({"cwd": NOWHERE, "mcpServers": []});
                        self.calls.send("session/new", params, AcpCall::Models { query: id }, scribe);
                    }
                }
            }
            AgentQuestion::Sessions(SessionsQuery { cursor, .. })
                if self.can.session_capabilities.list.is_some() =>
            {
                let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
                self.calls.send("session/list", params, AcpCall::Sessions { query: id }, scribe);
            }
            AgentQuestion::Sessions(_) => {
                let text = format!("{} does not tell which conversations it remembers", self.title());
                scribe.out.answers.push((id, Err(text)));
                self.finish_if_idle(scribe);
            }
            AgentQuestion::Messages(_) => {
                scribe.out.answers.push((id, Err("this is not for an agent to answer".to_owned())));
                self.finish_if_idle(scribe);
            }
        }
    }

    pub(super) fn models_answered(
        &mut self,
        query: QueryId,
        answer: Result<&str, AcpError>,
        scribe: &mut Scribe<'_>,
    ) {
        let answer = self.understood::<Opened>(answer).map(|opened| {
            let mut settings = AcpSettings::default();
            settings.read(opened);
            Answer::Models(settings.models())
        });
        scribe.out.answers.push((query, answer));
        self.finish_if_idle(scribe);
    }

    pub(super) fn sessions_answered(
        &mut self,
        query: QueryId,
        answer: Result<&str, AcpError>,
        scribe: &mut Scribe<'_>,
    ) {
        let answer = self.understood::<SessionPage>(answer).map(|page| {
            let sessions = page.sessions.into_iter().map(|session| NativeSession {
                native: session.session_id,
                title: session.title,
                cwd: session.cwd,
                created_at: None,
                updated_at: session.updated_at.and_then(|at| at.parse().ok()),
                parent: None,
            });
            Answer::Sessions(NativeSessions { sessions: sessions.collect(), next: page.next_cursor })
        });
        scribe.out.answers.push((query, answer));
        self.finish_if_idle(scribe);
    }

    /// Ends a process that was started only for questions, once they are answered.
    pub(super) fn finish_if_idle(&self, scribe: &mut Scribe<'_>) {
        if self.home.is_none() && self.queries.is_empty() && self.calls.is_empty() {
            scribe.out.finished = Some("all questions are answered".to_owned());
        }
    }

    fn understood<'a, T: serde::Deserialize<'a>>(
        &self,
        answer: Result<&'a str, AcpError>,
    ) -> Result<T, String> {
        let answer = answer.map_err(|fault| fault.text)?;
        serde_json::from_str(answer)
            .map_err(|error| format!("{} answered in words that are not understood: {error}", self.title()))
    }
}
