//! Questions that concern no session: which models, which conversations.

use longshore_model::anchor::{Answer, NativeSession, Query};
use longshore_model::driver::Output;
use longshore_model::id::{Context, QueryId};
use serde_json::json;

use super::calls::AcpCall;
use super::errors::AcpError;
use super::settings::AcpSettings;
use super::{Acp, Phase};
use crate::acp::wire::{Opened, SessionPage};

/// Models are told with a session and in no other way. This one is asked for and never spoken to, in a folder that
/// is nobody's work.
const NOWHERE: &str = "/tmp";

impl Acp {
    pub(super) fn ask(&mut self, id: QueryId, query: Query, cx: &mut Context<'_>, out: &mut Output) {
        match &self.phase {
            Phase::Refused(reason) => {
                out.answers.push((id, Err(reason.clone())));
                return;
            }
            Phase::Silent | Phase::Greeting => {
                self.queries.push_back((id, query));
                return self.greet(cx, out);
            }
            Phase::Listening => {}
        }
        match query {
            Query::Models { .. } => {
                let known = self
                    .conversations
                    .values()
                    .map(|conversation| conversation.settings.models())
                    .find(|all| !all.is_empty());
                match known {
                    Some(models) => out.answers.push((id, Ok(Answer::Models { models }))),
                    None => {
                        let params = json!({"cwd": NOWHERE, "mcpServers": []});
                        self.calls.send("session/new", params, AcpCall::Models { query: id }, cx, out);
                    }
                }
            }
            Query::Sessions { cursor, .. } if self.can.session_capabilities.list.is_some() => {
                let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
                self.calls.send("session/list", params, AcpCall::Sessions { query: id }, cx, out);
            }
            Query::Sessions { .. } => {
                let text = format!("{} does not tell which conversations it remembers", self.title());
                out.answers.push((id, Err(text)));
                self.finish_if_idle(out);
            }
            Query::Messages { .. }
            | Query::Agents { .. }
            | Query::Git { .. }
            | Query::Past
            | Query::WorkTree { .. }
            | Query::RecordSize { .. }
            | Query::Folders { .. } => {
                out.answers.push((id, Err("this is not for an agent to answer".to_owned())));
                self.finish_if_idle(out);
            }
        }
    }

    pub(super) fn models_answered(
        &mut self,
        query: QueryId,
        answer: Result<&str, AcpError>,
        out: &mut Output,
    ) {
        let answer = self.understood::<Opened>(answer).map(|opened| {
            let mut settings = AcpSettings::default();
            settings.read(opened);
            Answer::Models { models: settings.models() }
        });
        out.answers.push((query, answer));
        self.finish_if_idle(out);
    }

    pub(super) fn sessions_answered(
        &mut self,
        query: QueryId,
        answer: Result<&str, AcpError>,
        out: &mut Output,
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
            Answer::Sessions { sessions: sessions.collect(), next: page.next_cursor }
        });
        out.answers.push((query, answer));
        self.finish_if_idle(out);
    }

    /// A process that was started for questions alone has done its work once they are answered.
    pub(super) fn finish_if_idle(&self, out: &mut Output) {
        if self.home.is_none() && self.queries.is_empty() && self.calls.is_empty() {
            out.finished = Some("all questions are answered".to_owned());
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
