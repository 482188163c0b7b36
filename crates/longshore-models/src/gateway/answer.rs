//! Neutral events in a strict order, for the writers of each API.
//!
//! Services differ in what they repeat and what they leave out: texts with and without an end, thoughts
//! without data, calls without a name. Here every block ends before the next begins, and every call has an id
//! that no other call of the conversation has.

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

/// What an answer says of itself.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What no other answer is called.
    pub id: String,
    /// When it was asked for, in seconds since 1970.
    pub created_at: i64,
}

/// What of an answer comes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    Thought,
}

/// A call, whole.
#[derive(Debug)]
pub(super) struct GatewayCall {
    pub(super) id: String,
    pub(super) tool: ClientTool,
    /// As the model wrote them; `{}` where it wrote nothing.
    pub(super) arguments: String,
}

/// Writes an answer in the words of one API, both as a stream and as one body.
pub(super) trait Write: Send {
    /// Before anything is said.
    fn start(&mut self);
    fn begin(&mut self, what: TextKind);
    fn more(&mut self, what: TextKind, text: &str);
    /// All of `text` was said. A thought comes with what its service needs to know it again.
    fn end(&mut self, what: TextKind, text: &str, seal: &str);
    fn call(&mut self, call: &GatewayCall);
    fn finish(&mut self, finish: Finish, usage: &Usage);
    fn fail(&mut self, failure: &Failure);
    /// The frames since the last time.
    fn frames(&mut self) -> String;
    /// All of it as one body, once it is finished.
    fn whole(&self) -> Value;
}

/// An answer that is being written.
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
    /// The answer of a service to `request`, in the words of `api`.
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

    /// The service says something.
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
                    // It cannot be shown, but it must be sent again.
                    self.open(TextKind::Thought);
                }
                self.close(Some(data));
            }
            // The client has read it as words, and gives it back as words.
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

    /// What was written since the last time, as it stands on the wire.
    pub fn frames(&mut self) -> String {
        self.writer.frames()
    }

    /// The whole answer as one body, or why there is none.
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

    /// What of a whole text was not said in pieces.
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
        // A thought is sealed even when nothing came with it: clients take an empty seal for a fault.
        let seal = match what {
            TextKind::Text => String::new(),
            TextKind::Thought => sealed::seal(&self.service, data.unwrap_or_default()),
        };
        self.writer.end(what, &said, &seal);
    }

    /// A name that no other call of the conversation has: the model's own, where it is one.
    fn name(&mut self, given: Option<String>) -> String {
        let own = (1..).map(|number: u32| format!("call_{}_{number}", self.id));
        let mut names = given.filter(|id| !id.is_empty()).into_iter().chain(own);
        let name = names.find(|name| !self.calls.contains(name)).unwrap_or_default();
        self.calls.insert(name.clone());
        name
    }
}
