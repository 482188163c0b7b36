//! Requests of ours and what their answers mean.

use std::collections::HashMap;

use longshore_model::anchor::Launch;
use longshore_model::driver::{Method, Output, Request, Response};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, QueryId, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::OpenCode;

/// What a request was for.
#[derive(Debug)]
pub(super) enum OpenCodeCall {
    /// A new conversation, the one to go on with, or a copy of one.
    Open(Launch),
    /// A prompt; without a turn it was said into a running one.
    Say {
        native: String,
        turn: Option<TurnId>,
    },
    /// To stop a turn.
    Abort {
        native: String,
    },
    /// Something that a session tells and that only has to be done. `vital` says whether people must hear when it
    /// was not.
    Tell {
        vital: bool,
    },
    /// An answer to something that OpenCode may not wait for any more.
    Reply,
    /// The slash commands of a session.
    Commands {
        native: String,
    },
    /// Whether a turn that seems to be over is.
    Status {
        native: String,
    },
    /// What was said in a turn.
    Messages {
        native: String,
    },
    /// What waits for an answer.
    Permissions {
        directory: String,
    },
    Questions {
        directory: String,
    },
    /// Questions that concern no session.
    Models {
        query: QueryId,
    },
    Sessions {
        query: QueryId,
        limit: u32,
    },
    Said {
        query: QueryId,
    },
}

/// The requests that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct OpenCodeCalls {
    last: u64,
    waiting: HashMap<u64, PendingOpenCodeCall>,
}

#[derive(Debug)]
struct PendingOpenCodeCall {
    method: Method,
    path: String,
    session: Option<SessionId>,
    call: OpenCodeCall,
}

/// A request that is about to be sent.
pub(super) struct OutgoingRequest<'a> {
    pub method: Method,
    /// Without the directory.
    pub path: String,
    pub directory: Option<&'a str>,
    pub session: Option<SessionId>,
    pub body: Option<Value>,
    pub patient: bool,
}

impl<'a> OutgoingRequest<'a> {
    pub(super) fn get(path: impl Into<String>, directory: &'a str) -> Self {
        let (path, directory) = (path.into(), Some(directory));
        Self { method: Method::Get, path, directory, session: None, body: None, patient: false }
    }

    pub(super) fn post(path: impl Into<String>, directory: &'a str, body: Value) -> Self {
        Self { method: Method::Post, body: Some(body), ..Self::get(path, directory) }
    }

    pub(super) fn patch(path: impl Into<String>, directory: &'a str, body: Value) -> Self {
        Self { method: Method::Patch, body: Some(body), ..Self::get(path, directory) }
    }

    /// On behalf of a session, whose requests keep their order.
    pub(super) fn of(self, session: SessionId) -> Self {
        Self { session: Some(session), ..self }
    }
}

impl OpenCodeCalls {
    pub(super) fn send(&mut self, ask: OutgoingRequest<'_>, call: OpenCodeCall, out: &mut Output) {
        self.last += 1;
        let OutgoingRequest { method, path, directory, session, body, patient } = ask;
        let mut full = path.clone();
        if let Some(directory) = directory {
            full.push_str(if path.contains('?') { "&directory=" } else { "?directory=" });
            full.push_str(&escaped(directory));
        }
        let body = body.map(|body| body.to_string());
        out.requests.push(Request { id: self.last, session, method, path: full, body, patient });
        self.waiting.insert(self.last, PendingOpenCodeCall { method, path, session, call });
    }

    /// A session is gone; what is still to be answered for it interests nobody.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.waiting.retain(|_, sent| sent.session != Some(session));
    }
}

impl OpenCode {
    /// An answer of theirs. What comes of it carries it; one that nothing comes of is kept as it is.
    pub(super) fn answered(
        &mut self,
        id: u64,
        result: Result<Response, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let before = out.said.len();
        let sent = self.calls.waiting.remove(&id);
        let raw = result.as_ref().ok().map(|response| frame(sent.as_ref(), response));
        let kind = sent.as_ref().map_or_else(|| "response".to_owned(), label);
        let session = sent.as_ref().and_then(|sent| sent.session);
        let answer = result.and_then(|response| match response.status {
            200..=299 => Ok(response.body),
            _ => Err(why(&response)),
        });
        let concerns_nobody = match sent.map(|sent| sent.call) {
            Some(
                call @ (OpenCodeCall::Models { .. }
                | OpenCodeCall::Sessions { .. }
                | OpenCodeCall::Said { .. }),
            ) => {
                self.query_answered(call, answer, out);
                true
            }
            Some(call) => {
                self.call_answered(call, session, answer, raw.as_ref(), cx, out);
                false
            }
            None => false,
        };
        let kept = concerns_nobody || out.said[before..].iter().any(|(_, draft)| draft.raw.is_some());
        if let (false, Some(raw), Some(session)) = (kept, raw, session.or_else(|| self.nearest())) {
            let turn =
                self.natives.get(&session).and_then(|native| self.conversations.get(native)?.turn_id());
            out.say(session, Draft::new(Body::Raw { kind, fault: None }).turn(turn).raw(raw));
        }
    }

    fn call_answered(
        &mut self,
        call: OpenCodeCall,
        session: Option<SessionId>,
        answer: Result<Raw, String>,
        raw: Option<&Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        match call {
            OpenCodeCall::Open(launch) => self.opened(launch, answer, raw, cx, out),
            OpenCodeCall::Say { native, turn } => {
                if let Err(why) = answer {
                    self.not_said(&native, turn, &why, raw, out);
                }
            }
            OpenCodeCall::Abort { native } => {
                if let (Err(why), Some(conversation)) = (answer, self.conversations.get(&native)) {
                    let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
                    let text = format!("OpenCode did not stop the turn: {why}");
                    out.say(conversation.session, Draft::new(fault).text(text).raw(raw.cloned()));
                }
            }
            OpenCodeCall::Reply if answer.as_ref().is_err_and(|why| why.contains("not found")) => {}
            OpenCodeCall::Tell { .. } | OpenCodeCall::Reply => {
                let vital = !matches!(call, OpenCodeCall::Tell { vital: false });
                if let (Err(why), Some(session)) = (answer, session) {
                    let body = match vital {
                        true => Body::SessionError(SessionFault { code: FaultCode::Refused }),
                        false => Body::Notice { level: NoticeLevel::Warning },
                    };
                    let text = format!("OpenCode did not do what it was told: {why}");
                    out.say(session, Draft::new(body).text(text).raw(raw.cloned()));
                }
            }
            OpenCodeCall::Commands { native } => self.commands_listed(&native, answer, raw, out),
            OpenCodeCall::Status { native } => self.status_answered(&native, answer, raw, cx, out),
            OpenCodeCall::Messages { native } => self.messages_read(&native, answer, cx, out),
            OpenCodeCall::Permissions { directory } => self.permissions_read(&directory, answer, cx, out),
            OpenCodeCall::Questions { directory } => self.questions_read(&directory, answer, cx, out),
            // Handled by whoever calls this.
            OpenCodeCall::Models { .. } | OpenCodeCall::Sessions { .. } | OpenCodeCall::Said { .. } => {}
        }
    }
}

/// An answer as a frame: the request that it answers is the better half of it.
fn frame(sent: Option<&PendingOpenCodeCall>, response: &Response) -> Raw {
    let body = match serde_json::from_str::<&RawValue>(&response.body) {
        Ok(body) => body.get().to_owned(),
        Err(_) => Value::from(&*response.body).to_string(),
    };
    let head = match sent {
        Some(sent) => json!({"method": sent.method.as_str(), "path": sent.path, "status": response.status}),
        None => json!({"status": response.status}),
    };
    let mut frame = head.to_string();
    frame.pop();
    Raw::from(format!("{frame},\"body\":{body}}}"))
}

/// `response:POST /session/{id}/abort`
fn label(sent: &PendingOpenCodeCall) -> String {
    let is_id = |word: &str| ["ses_", "per_", "que_"].iter().any(|start| word.starts_with(start));
    let path = sent.path.split('?').next().unwrap_or_default();
    let words = path.split('/').map(|word| if is_id(word) { "{id}" } else { word });
    format!("response:{} {}", sent.method.as_str(), words.collect::<Vec<_>>().join("/"))
}

/// Why it refused, in its own words where it has some.
fn why(response: &Response) -> String {
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    let words = body["data"]["message"].as_str().or_else(|| body["message"].as_str());
    words.map_or_else(|| format!("status {}", response.status), |words| words.replace('\n', " "))
}

/// A text as part of a query.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_escaped() {
        assert_eq!(escaped("/home/dev/my project & more/ä"), "/home/dev/my%20project%20%26%20more/%C3%A4");
    }

    #[test]
    fn a_frame_has_the_body_as_it_came() {
        let text = |body: &str| frame(None, &Response { status: 200, body: body.into() }).to_string();
        assert_eq!(text(r#"{"a": 1}"#), r#"{"status":200,"body":{"a": 1}}"#);
        assert_eq!(text("<html>"), r#"{"status":200,"body":"<html>"}"#);
        assert_eq!(text(""), r#"{"status":200,"body":""}"#);
    }
}
