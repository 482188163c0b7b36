//! The driver's requests, and what their answers mean.

use longshore_model::anchor::Launch;
use longshore_model::driver::{Method, Output, Request, Response};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw};
use longshore_model::id::{Context, QueryId, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, SessionFault};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::OpenCode;
use crate::kit::{Call, Pending, Scribe};

/// The purpose of a request.
#[derive(Debug)]
pub(super) enum OpenCodeCall {
    /// Opens a conversation: a new one, an existing one, or a copy.
    Open(Launch),
    /// Sends a prompt. Without a turn, the prompt steers the running turn.
    Say {
        native: String,
        turn: Option<TurnId>,
    },
    /// Stops a turn.
    Abort {
        native: String,
        turn: TurnId,
    },
    /// A command that needs no further action. `vital` says whether a refusal needs a notice.
    Tell {
        vital: bool,
    },
    /// An answer to a request of OpenCode, which may have ended meanwhile.
    Reply,
    /// Reads the slash commands of a session.
    Commands {
        native: String,
    },
    /// Asks whether a turn that seems to be over is over.
    Status {
        native: String,
    },
    /// Reads the messages of a turn.
    Messages {
        native: String,
    },
    /// Reads the requests that wait for an answer.
    Permissions {
        directory: String,
    },
    Questions {
        directory: String,
    },
    /// Answers a question that concerns no session.
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

/// A request without an answer.
#[derive(Debug)]
pub(super) struct OpenCodeRequest {
    method: Method,
    path: String,
    session: Option<SessionId>,
    call: OpenCodeCall,
}

impl Call for OpenCodeRequest {
    /// OpenCode is an HTTP server, so the transport detects a missing answer.
    fn within_ms(&self) -> Option<i64> {
        None
    }
}

/// A request to send.
pub(super) struct OutgoingRequest<'a> {
    pub method: Method,
    /// The path without the folder.
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

    /// Sends the request on behalf of a session. The requests of one session keep their order.
    pub(super) fn of(self, session: SessionId) -> Self {
        Self { session: Some(session), ..self }
    }
}

impl Pending<OpenCodeRequest> {
    pub(super) fn send(&mut self, ask: OutgoingRequest<'_>, call: OpenCodeCall, scribe: &mut Scribe<'_>) {
        let OutgoingRequest { method, path, directory, session, body, patient } = ask;
        let mut full = path.clone();
        if let Some(directory) = directory {
            full.push_str(if path.contains('?') { "&directory=" } else { "?directory=" });
            full.push_str(&escaped(directory));
        }
        let body = body.map(|body| body.to_string());
        let request = OpenCodeRequest { method, path, session, call };
        let id = self.add(method.as_str(), request, scribe.cx.now);
        scribe.out.requests.push(Request { id, session, method, path: full, body, patient });
    }

    /// Forgets the requests of a session that is gone.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.retain(|request| request.session != Some(session));
    }
}

impl OpenCode {
    /// Handles an answer. A draft from the answer carries the answer; an answer without a draft is kept
    /// unchanged.
    pub(super) fn answered(
        &mut self,
        id: u64,
        result: Result<Response, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let sent = self.calls.take(id).map(|pending| pending.call);
        let raw = result.as_ref().ok().map(|response| frame(sent.as_ref(), response));
        let scribe = &mut Scribe::hearing(raw.as_ref(), cx, out);
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
                self.query_answered(call, answer, scribe);
                true
            }
            Some(call) => {
                self.call_answered(call, session, answer, scribe);
                false
            }
            None => false,
        };
        let kept = concerns_nobody || raw.is_none() || scribe.has_quoted();
        if let (false, Some(session)) = (kept, session.or_else(|| self.nearest())) {
            let turn =
                self.natives.get(&session).and_then(|native| self.conversations.get(native)?.turn_id());
            scribe.keep(session, turn, kind, None);
        }
    }

    fn call_answered(
        &mut self,
        call: OpenCodeCall,
        session: Option<SessionId>,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        match call {
            OpenCodeCall::Open(launch) => self.opened(launch, answer, scribe),
            OpenCodeCall::Say { native, turn } => {
                if let Err(why) = answer {
                    self.not_said(&native, turn, &why, scribe);
                }
            }
            OpenCodeCall::Abort { native, turn } => self.abort_answered(&native, turn, answer, scribe),
            OpenCodeCall::Reply if answer.as_ref().is_err_and(|why| why.contains("not found")) => {}
            OpenCodeCall::Tell { .. } | OpenCodeCall::Reply => {
                let vital = !matches!(call, OpenCodeCall::Tell { vital: false });
                if let (Err(why), Some(session)) = (answer, session) {
                    let body = match vital {
                        true => Body::SessionError(SessionFault { code: FaultCode::Refused }),
                        false => Body::Notice { level: NoticeLevel::Warning },
                    };
                    let text = format!("OpenCode did not do what it was told: {why}");
                    scribe.quote(session, Draft::new(body).text(text));
                }
            }
            OpenCodeCall::Commands { native } => self.commands_listed(&native, answer, scribe),
            OpenCodeCall::Status { native } => self.status_answered(&native, answer, scribe),
            OpenCodeCall::Messages { native } => self.messages_read(&native, answer, &mut scribe.bare()),
            OpenCodeCall::Permissions { directory } => {
                self.permissions_read(&directory, answer, &mut scribe.bare())
            }
            OpenCodeCall::Questions { directory } => {
                self.questions_read(&directory, answer, &mut scribe.bare())
            }
            // The caller handles these.
            OpenCodeCall::Models { .. } | OpenCodeCall::Sessions { .. } | OpenCodeCall::Said { .. } => {}
        }
    }
}

/// An answer as a raw frame. The frame includes the request, which says more than the answer.
fn frame(sent: Option<&OpenCodeRequest>, response: &Response) -> Raw {
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
fn label(sent: &OpenCodeRequest) -> String {
    let is_id = |word: &str| ["ses_", "per_", "que_"].iter().any(|start| word.starts_with(start));
    let path = sent.path.split('?').next().unwrap_or_default();
    let words = path.split('/').map(|word| if is_id(word) { "{id}" } else { word });
    format!("response:{} {}", sent.method.as_str(), words.collect::<Vec<_>>().join("/"))
}

/// Why OpenCode refused, in its own words if it gives any.
fn why(response: &Response) -> String {
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    let words = body["data"]["message"].as_str().or_else(|| body["message"].as_str());
    words.map_or_else(|| format!("status {}", response.status), |words| words.replace('\n', " "))
}

/// A text, escaped for a query.
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
