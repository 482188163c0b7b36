//! Questions that concern no session: models, conversations that OpenCode remembers, and the messages of a
//! conversation.
//!
//! The driver asks for conversations without naming their folders. OpenCode would otherwise open a project in
//! every folder that the driver names, even in a folder that no longer exists.

use longshore_model::anchor::{
    AgentQuestion, Answer, MessagesQuery, NativeMessages, NativeSession, NativeSessions, SessionsQuery,
};
use longshore_model::capability::ModelInfo;
use longshore_model::driver::Method;
use longshore_model::event::Raw;
use longshore_model::id::QueryId;
use longshore_model::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest, escaped};
use super::remarks::is_title;
use crate::kit::Scribe;
use crate::opencode::wire::{MessageHead, Providers, Session};
use crate::transport::http::base64;

/// The messages of a page.
const MESSAGES: usize = 100;
/// Names of efforts, in ascending order. OpenCode lists the variants in any order.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

impl OpenCode {
    pub(super) fn ask(&mut self, query: QueryId, question: AgentQuestion, scribe: &mut Scribe<'_>) {
        let get = |path: String| OutgoingRequest {
            method: Method::Get,
            path,
            directory: None,
            session: None,
            body: None,
            patient: false,
        };
        match question {
            AgentQuestion::Models(_) => {
                self.calls.send(get("/config/providers".to_owned()), OpenCodeCall::Models { query }, scribe);
            }
            AgentQuestion::Sessions(SessionsQuery { cursor, limit, .. }) => {
                let mut path = format!("/experimental/session?archived=true&limit={limit}");
                // A cursor is the time of the last conversation, which is a number.
                if let Some(cursor) = cursor.filter(|cursor| cursor.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    path.push_str(&format!("&cursor={cursor}"));
                }
                self.calls.send(get(path), OpenCodeCall::Sessions { query, limit }, scribe);
            }
            AgentQuestion::Messages(MessagesQuery { native, cursor, .. }) => {
                if !is_name(&native) {
                    let text = format!("`{native}` is no name of a conversation");
                    return scribe.out.answers.push((query, Err(text)));
                }
                let mut path = format!("/session/{native}/message?limit={MESSAGES}");
                if let Some(cursor) = cursor {
                    path.push_str(&format!("&before={}", escaped(&cursor)));
                }
                self.calls.send(get(path), OpenCodeCall::Said { query }, scribe);
            }
        }
    }

    pub(super) fn query_answered(
        &mut self,
        call: OpenCodeCall,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let unread = |error: serde_json::Error| format!("OpenCode's answer cannot be read: {error}");
        match call {
            OpenCodeCall::Models { query } => {
                let read = answer.and_then(|body| serde_json::from_str::<Providers>(&body).map_err(unread));
                let models = read.map(|providers| self.models_of(providers));
                scribe.out.answers.push((query, models.map(Answer::Models)));
            }
            OpenCodeCall::Sessions { query, limit } => {
                let read =
                    answer.and_then(|body| serde_json::from_str::<Vec<Session>>(&body).map_err(unread));
                scribe.out.answers.push((query, read.map(|sessions| page_of(sessions, limit))));
            }
            OpenCodeCall::Said { query } => {
                scribe.out.answers.push((query, answer.and_then(|body| messages_of(&body))))
            }
            OpenCodeCall::Open(_)
            | OpenCodeCall::Say { .. }
            | OpenCodeCall::Abort { .. }
            | OpenCodeCall::Tell { .. }
            | OpenCodeCall::Reply
            | OpenCodeCall::Commands { .. }
            | OpenCodeCall::Status { .. }
            | OpenCodeCall::Messages { .. }
            | OpenCodeCall::Permissions { .. }
            | OpenCodeCall::Questions { .. } => {}
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
                // Every provider has a default. Only if there is a single provider is its default the default
                // of a session.
                let default = only && default.get(&provider.id) == Some(&id);
                models.push(ModelInfo {
                    id: full,
                    title,
                    description: provider.name.clone(),
                    default,
                    efforts: efforts_of(&model.variants),
                });
            }
        }
        models
    }
}

/// The variants of a model, by ascending effort.
fn efforts_of(variants: &Value) -> Vec<String> {
    let rank = |name: &String| EFFORTS.iter().position(|known| known == name).unwrap_or(EFFORTS.len());
    let mut efforts: Vec<String> =
        variants.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
    efforts.sort_by_key(rank);
    efforts
}

fn page_of(sessions: Vec<Session>, limit: u32) -> Answer {
    let moment = |millis: f64| Timestamp::from_micros((millis * 1_000.0) as i64);
    let full = sessions.len() >= limit as usize;
    let first = sessions.first().and_then(|session| session.time.updated);
    let last = sessions.last().and_then(|session| session.time.updated).filter(|_| full);
    // The next page has what comes before that time. Further conversations may have exactly that time.
    let next = last.map(|last| last as i64 + i64::from(first != Some(last)));
    let sessions = sessions.into_iter().map(|session| NativeSession {
        native: session.id,
        title: session.title.filter(|title| is_title(title)).unwrap_or_default(),
        cwd: session.directory,
        created_at: session.time.created.map(moment),
        updated_at: session.time.updated.map(moment),
        parent: session.parent_id,
    });
    Answer::Sessions(NativeSessions { sessions: sessions.collect(), next: next.map(|next| next.to_string()) })
}

/// A page of messages. The previous page ends where this page begins; OpenCode's cursor has its own format.
fn messages_of(body: &str) -> Result<Answer, String> {
    let unread = |error: serde_json::Error| format!("OpenCode's answer cannot be read: {error}");
    let all: Vec<&RawValue> = serde_json::from_str(body).map_err(unread)?;
    let before = match all.first().filter(|_| all.len() >= MESSAGES) {
        Some(first) => {
            let MessageHead { info } = serde_json::from_str(first.get()).map_err(unread)?;
            let created = info.time.created.ok_or("OpenCode's messages do not say when they were made")?;
            let place = json!({"id": info.id, "time": created as i64});
            Some(base64(place.to_string().as_bytes()))
        }
        None => None,
    };
    Ok(Answer::Messages(NativeMessages {
        messages: all.iter().map(|message| Raw::from(message.get())).collect(),
        before,
    }))
}

fn is_name(native: &str) -> bool {
    !native.is_empty() && native.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
