//! Questions that concern no session: models, and conversations that Codex remembers.
//!
//! The driver does not need `thread/read`: our own log has the content of a conversation, and Codex reads its
//! memory by itself when a thread is resumed.

use longshore_model::anchor::{AgentQuestion, Answer, NativeSession, NativeSessions, SessionsQuery};
use longshore_model::capability::ModelInfo;
use longshore_model::id::QueryId;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::calls::CodexCall;
use super::{Codex, Phase};
use crate::codex::wire::{ModelPage, ThreadPage};
use crate::kit::Scribe;

/// The kinds of threads that are conversations with people. By default, Codex leaves out the threads of
/// `codex exec`.
const SOURCE_KINDS: &[&str] = &["cli", "vscode", "exec", "appServer", "unknown"];
/// The most pages of models.
const MODEL_PAGES: u32 = 20;

impl Codex {
    pub(super) fn ask(&mut self, id: QueryId, query: AgentQuestion, scribe: &mut Scribe<'_>) {
        match &self.phase {
            Phase::Refused(reason) => return scribe.out.answers.push((id, Err(reason.clone()))),
            Phase::Silent | Phase::Greeting => {
                self.queries.push_back((id, query));
                return self.greet(scribe);
            }
            Phase::Listening => {}
        }
        match query {
            AgentQuestion::Models(_) => self.ask_models(id, Vec::new(), 0, &Value::Null, scribe),
            AgentQuestion::Sessions(SessionsQuery { cursor, limit, .. }) => {
                let mut params = json!({"limit": limit, "sourceKinds": SOURCE_KINDS});
                if let Some(cursor) = cursor {
                    params["cursor"] = json!(cursor);
                }
                self.calls.send("thread/list", params, CodexCall::Sessions { query: id }, scribe);
            }
            AgentQuestion::Messages(_) => {
                scribe.out.answers.push((id, Err("this is not for an agent to answer".to_owned())));
                self.finish_if_idle(scribe);
            }
        }
    }

    fn ask_models(
        &mut self,
        query: QueryId,
        models: Vec<ModelInfo>,
        pages: u32,
        cursor: &Value,
        scribe: &mut Scribe<'_>,
    ) {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        self.calls.send("model/list", params, CodexCall::Models { query, models, pages }, scribe);
    }

    pub(super) fn models_answered(
        &mut self,
        query: QueryId,
        mut models: Vec<ModelInfo>,
        pages: u32,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let page = match understood::<ModelPage>(answer) {
            Ok(page) => page,
            Err(reason) => {
                scribe.out.answers.push((query, Err(reason)));
                return self.finish_if_idle(scribe);
            }
        };
        models.extend(page.data.into_iter().map(|model| ModelInfo {
            title: if model.display_name.is_empty() { model.id.clone() } else { model.display_name },
            id: if model.model.is_empty() { model.id } else { model.model },
            description: model.description,
            default: model.is_default,
            efforts: model.supported_reasoning_efforts.into_iter().map(|one| one.reasoning_effort).collect(),
        }));
        match page.next_cursor {
            Some(cursor) if pages + 1 < MODEL_PAGES => {
                self.ask_models(query, models, pages + 1, &json!(cursor), scribe);
            }
            Some(_) | None => {
                scribe.out.answers.push((query, Ok(Answer::Models(models))));
                self.finish_if_idle(scribe);
            }
        }
    }

    pub(super) fn sessions_answered(
        &mut self,
        query: QueryId,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let answer = understood::<ThreadPage>(answer).map(|page| {
            let sessions = page.data.into_iter().map(|thread| NativeSession {
                native: thread.id,
                title: thread.name.or(thread.preview).unwrap_or_default(),
                cwd: thread.cwd,
                created_at: None,
                updated_at: thread
                    .updated_at
                    .map(|seconds| Timestamp::from_micros(seconds.saturating_mul(1_000_000))),
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
}

fn understood<'a, T: serde::Deserialize<'a>>(answer: Result<&'a str, String>) -> Result<T, String> {
    serde_json::from_str(answer?)
        .map_err(|error| format!("Codex answered in words that are not understood: {error}"))
}
