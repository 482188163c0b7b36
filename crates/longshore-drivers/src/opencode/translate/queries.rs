//! Questions that concern no session: models, and the conversations that OpenCode remembers.

use longshore_model::anchor::{Answer, NativeSession, Query};
use longshore_model::capability::ModelInfo;
use longshore_model::driver::{Method, Output};
use longshore_model::event::Raw;
use longshore_model::id::QueryId;
use longshore_model::time::Timestamp;

use super::OpenCode;
use super::calls::{Ask, Call};
use crate::opencode::wire::{Providers, Session};

impl OpenCode {
    pub(super) fn ask(&mut self, query: QueryId, question: Query, out: &mut Output) {
        let get = |path: String| Ask {
            method: Method::Get,
            path,
            directory: None,
            session: None,
            body: None,
            patient: false,
        };
        match question {
            Query::Models { .. } => {
                self.calls.send(get("/config/providers".to_owned()), Call::Models { query }, out);
            }
            Query::Sessions { cursor, limit, .. } => {
                let mut path = format!("/experimental/session?roots=true&limit={limit}");
                // A cursor is the moment of the last one, which is a number.
                if let Some(cursor) = cursor.filter(|cursor| cursor.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    path.push_str(&format!("&cursor={cursor}"));
                }
                self.calls.send(get(path), Call::Sessions { query, limit }, out);
            }
            Query::Agents | Query::Git { .. } | Query::Past | Query::Folders { .. } => {
                out.answers.push((query, Err("OpenCode is not asked for this".to_owned())));
            }
        }
    }

    pub(super) fn query_answered(&mut self, call: Call, answer: Result<Raw, String>, out: &mut Output) {
        let unread = |error: serde_json::Error| format!("OpenCode's answer cannot be read: {error}");
        match call {
            Call::Models { query } => {
                let read = answer.and_then(|body| serde_json::from_str::<Providers>(&body).map_err(unread));
                let models = read.map(|providers| self.models_of(providers));
                out.answers.push((query, models.map(|models| Answer::Models { models })));
            }
            Call::Sessions { query, limit } => {
                let read =
                    answer.and_then(|body| serde_json::from_str::<Vec<Session>>(&body).map_err(unread));
                out.answers.push((query, read.map(|sessions| page_of(sessions, limit))));
            }
            Call::Open(_)
            | Call::Say { .. }
            | Call::Abort { .. }
            | Call::Tell { .. }
            | Call::Reply
            | Call::Commands { .. }
            | Call::Status { .. }
            | Call::Messages { .. }
            | Call::Permissions { .. }
            | Call::Questions { .. } => {}
        }
    }

    fn models_of(&mut self, providers: Providers) -> Vec<ModelInfo> {
        let Providers { providers, default } = providers;
        let only = default.len() == 1;
        let mut models = Vec::new();
        for provider in providers {
            for (id, model) in provider.models {
                let full = format!("{}/{id}", provider.id);
                if let Some(window) = model.limit["context"].as_f64().filter(|window| *window > 0.0) {
                    self.windows.insert(full.clone(), window as u64);
                }
                let title = if model.name.is_empty() { id.clone() } else { model.name };
                // Every provider has a default; only a single one says what a session without a wish gets.
                let default = only && default.get(&provider.id) == Some(&id);
                models.push(ModelInfo { id: full, title, description: provider.name.clone(), default });
            }
        }
        models
    }
}

fn page_of(sessions: Vec<Session>, limit: u32) -> Answer {
    let full = sessions.len() >= limit as usize;
    let last = sessions.last().and_then(|session| session.time.updated).filter(|_| full);
    let sessions = sessions.into_iter().map(|session| NativeSession {
        native: session.id,
        title: session.title.unwrap_or_default(),
        cwd: session.directory,
        updated_at: session.time.updated.map(|millis| Timestamp::from_micros((millis * 1_000.0) as i64)),
    });
    Answer::Sessions { sessions: sessions.collect(), next: last.map(|millis| format!("{}", millis as i64)) }
}
