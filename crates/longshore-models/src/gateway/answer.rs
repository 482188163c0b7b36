//! Neutral events in a strict order, for the writers of each API.
//!
//! Services differ in what they repeat and what they leave out: texts with and without an end, thoughts without data,
//! calls without a name. Here every block ends before the next begins, and every call has an id that no other call of
//! the conversation has.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::api::{Event, Failure, Finish};
use longshore_model::service::ModelApi;
use longshore_model::usage::Usage;
use serde_json::Value;

use super::model_request::ModelRequest;
use super::sealed::{self, Service};
use super::tools::{ClientTool, Tools};
use super::{chat, messages, responses};

/// The id and the time of an answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The id, which no other answer has.
    pub id: String,
    /// The time of the request, in seconds since 1970.
    pub created_at: i64,
}

/// The kinds of content that arrive in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    Thought,
}

/// A complete call.
#[derive(Debug)]
pub(super) struct GatewayCall {
    pub(super) id: String,
    pub(super) tool: ClientTool,
    /// The arguments as the model wrote them; `{}` if it wrote none.
    pub(super) arguments: String,
}

/// Writes an answer in the form of one API, both as a stream and as one body.
pub(super) trait Write: Send {
    /// Begins the answer.
    fn start(&mut self);
    fn begin(&mut self, what: TextKind);
    fn more(&mut self, what: TextKind, text: &str);
    /// Ends a block whose whole text is `text`. The seal of a thought has the data by which the service recognises it.
    fn end(&mut self, what: TextKind, text: &str, seal: &str);
    fn call(&mut self, call: &GatewayCall);
    fn finish(&mut self, finish: Finish, usage: &Usage);
    fn fail(&mut self, failure: &Failure);
    /// The frames since the last call.
    fn frames(&mut self) -> String;
    /// The finished answer as one body.
    fn whole(&self) -> Value;
}

/// The answer of the gateway to one request.
pub struct GatewayAnswer {
    writer: Box<dyn Write>,
    service: Service,
    tools: Tools,
    calls: HashSet<String>,
    id: String,
    open: Option<(TextKind, String)>,
    usage: Usage,
    started: bool,
    failure: Option<Failure>,
}

impl GatewayAnswer {
    /// The answer of a service to `request`, in the form of `api`.
    pub fn new(api: ModelApi, service: Service, request: ModelRequest, exchange: Exchange) -> Self {
        let ModelRequest { request, tools, calls, tells_usage, .. } = request;
        let id = exchange.id.clone();
        let writer: Box<dyn Write> = match api {
            ModelApi::Chat => Box::new(chat::ChatWriter::new(exchange, request.model, tells_usage)),
            ModelApi::Responses => Box::new(responses::ResponsesWriter::new(exchange, request.model)),
            ModelApi::Messages => Box::new(messages::MessagesWriter::new(exchange, request.model)),
        };
        let usage = Usage::default();
        Self { writer, service, tools, calls, id, open: None, usage, started: false, failure: None }
    }

    /// Handles an event of the service.
    pub fn tell(&mut self, event: Event<'_>) {
        if !self.started {
            self.started = true;
            self.writer.start();
        }
        match event {
            Event::Text(text) => self.more(TextKind::Text, text),
            Event::TextDone(text) => {
                self.rest(TextKind::Text, &text);
                self.close(None);
            }
            Event::Reasoning(text) => self.more(TextKind::Thought, text),
            Event::ReasoningDone { text, data } => {
                self.rest(TextKind::Thought, &text);
                if self.open.as_ref().is_none_or(|(what, _)| *what != TextKind::Thought) {
                    // The thought has no text to show, but the client must send it again.
                    self.open(TextKind::Thought);
                }
                self.close(Some(data));
            }
            // The client got this thought as text, and sends it back as text.
            Event::ThoughtAloud { .. } => self.close(None),
            Event::Call { id, name, arguments } => {
                self.close(None);
                let id = self.name(id);
                let tool = self.tools.tool(&name);
                let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
                self.writer.call(&GatewayCall { id, tool, arguments });
            }
            Event::Usage(usage) => self.usage = usage,
            Event::Ended(finish) => {
                self.close(None);
                self.writer.finish(finish, &self.usage);
            }
            Event::Failed(failure) => {
                self.writer.fail(&failure);
                self.failure = Some(failure);
            }
        }
    }

    /// The frames since the last call, as bytes for the wire.
    pub fn frames(&mut self) -> String {
        self.writer.frames()
    }

    /// The whole answer as one body, or the failure.
    pub fn whole(self) -> Result<Value, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.writer.whole()),
        }
    }

    fn open(&mut self, what: TextKind) {
        self.close(None);
        self.writer.begin(what);
        self.open = Some((what, String::new()));
    }

    fn more(&mut self, what: TextKind, text: Cow<'_, str>) {
        if text.is_empty() {
            return;
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != what) {
            self.open(what);
        }
        if let Some((_, said)) = &mut self.open {
            said.push_str(&text);
        }
        self.writer.more(what, &text);
    }

    /// Adds the part of a complete text that did not arrive in pieces.
    fn rest(&mut self, what: TextKind, whole: &str) {
        match &self.open {
            Some((open, said)) if *open == what => {
                let rest = whole.strip_prefix(said.as_str()).unwrap_or_default().to_owned();
                self.more(what, rest.into());
            }
            Some(_) | None => self.more(what, Cow::Borrowed(whole)),
        }
    }

    fn close(&mut self, data: Option<Value>) {
        let Some((what, said)) = self.open.take() else { return };
        // The gateway also seals a thought without data, because clients treat an empty seal as an error.
        let seal = match what {
            TextKind::Text => String::new(),
            TextKind::Thought => sealed::seal(&self.service, data.unwrap_or_default()),
        };
        self.writer.end(what, &said, &seal);
    }

    /// An id that no other call of the conversation has: the model's own id, if possible.
    fn name(&mut self, given: Option<String>) -> String {
        let own = (1..).map(|number: u32| format!("call_{}_{number}", self.id));
        let mut names = given.filter(|id| !id.is_empty()).into_iter().chain(own);
        let name = names.find(|name| !self.calls.contains(name)).unwrap_or_default();
        self.calls.insert(name.clone());
        name
    }
}
