//! The content of a script: steps, each the answer to one request, made of actions that know no API.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::chunks::Chunks;
use super::demand::Demand;

/// A parsed script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The steps in the order of the file.
    pub steps: Vec<ScriptStep>,
    /// The names of the models that the server lists. Without any, the server lists `scripted`.
    pub models: Vec<String>,
    /// Requirements for all requests. The server refuses other requests, and uses no step for them.
    pub insists: Vec<Demand>,
}

/// The answer to one request, or to several.
#[derive(Debug, Clone)]
pub struct ScriptStep {
    /// The author's note, for people who read the record of requests.
    pub note: Option<String>,
    /// The condition for requests. Without it, the step answers any request that no other step claims.
    pub when: Option<When>,
    /// How many requests the step answers.
    pub repeat: Repeat,
    /// The answer.
    pub play: StepAnswer,
    /// The step's JSON, to show remaining steps as the author wrote them.
    pub source: Value,
}

/// A condition for the request that a step answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// Text that the last user message must contain.
    pub contains: Option<String>,
    /// Text that the tool results of the request must contain.
    pub result: Option<String>,
    /// Whether the request must let the model call tools, or must not.
    pub tools: Option<bool>,
}

/// The parts of a request that choose its step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCue<'a> {
    /// The last user message.
    pub text: &'a str,
    /// The results of tools since the model's last message.
    pub results: &'a str,
    /// Whether the request offers tools.
    pub tools: bool,
}

impl When {
    /// Whether a request meets the condition.
    pub fn fits(&self, heard: &RequestCue<'_>) -> bool {
        self.contains.as_ref().is_none_or(|wanted| heard.text.contains(wanted))
            && self.result.as_ref().is_none_or(|wanted| heard.results.contains(wanted))
            && self.tools.is_none_or(|wanted| wanted == heard.tools)
    }
}

/// How many requests a step answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// This many, at least one.
    Times(u32),
    /// All further requests.
    Forever,
}

/// The two kinds of answer.
#[derive(Debug, Clone)]
pub enum StepAnswer {
    /// A stream of events.
    Stream {
        /// The actions of the model, in order.
        actions: Vec<Action>,
        /// The usage that the answer reports.
        usage: ScriptUsage,
        /// Further headers of the HTTP response.
        headers: HeaderMap,
    },
    /// A plain HTTP response, usually an error.
    Http(ScriptRefusal),
}

/// A plain HTTP response in place of a stream.
#[derive(Debug, Clone)]
pub struct ScriptRefusal {
    /// The status code.
    pub status: StatusCode,
    /// Further headers, such as `retry-after`.
    pub headers: HeaderMap,
    /// The body. A string is sent as it is, everything else as JSON. Without a body, the server sends an error in the
    /// form of the API.
    pub body: Option<Value>,
}

/// One action of the model in an answer.
#[derive(Debug, Clone)]
pub enum Action {
    /// Sends text to the user.
    Say(Say),
    /// Sends thoughts.
    Reason(Reason),
    /// Calls a function with JSON arguments.
    Call(FunctionCall),
    /// Calls a tool that takes free text.
    Custom(CustomCall),
    /// Sends an item of the API unchanged.
    Item(Value),
    /// Sends an event of the API unchanged.
    Event(Value),
    /// Waits.
    Sleep(Duration),
    /// Drops the connection.
    Cut,
    /// Ends the stream properly, but without the event that completes the answer.
    End,
    /// Sends nothing more until the client leaves.
    Hang,
    /// Reports that the answer failed.
    Fail {
        /// The machine-readable reason.
        code: String,
        /// The text for people.
        message: String,
    },
    /// Reports that the answer is incomplete, for this reason.
    Incomplete(String),
}

impl Action {
    /// Whether no action may follow this one.
    pub fn is_last(&self) -> bool {
        match self {
            Action::Cut | Action::End | Action::Hang | Action::Fail { .. } | Action::Incomplete(_) => true,
            Action::Say(_)
            | Action::Reason(_)
            | Action::Call(_)
            | Action::Custom(_)
            | Action::Item(_)
            | Action::Event(_)
            | Action::Sleep(_) => false,
        }
    }
}

/// Text for the user.
#[derive(Debug, Clone)]
pub struct Say {
    /// The text in pieces.
    pub text: Chunks,
    /// The item's id. Without it, the server generates one.
    pub id: Option<String>,
    /// The phase of the message in the turn (`commentary`, `final_answer`), for an API that has phases.
    pub phase: Option<String>,
    /// Whether the text stays unfinished: no event completes it.
    pub unfinished: bool,
}

/// Thoughts of the model.
#[derive(Debug, Clone)]
pub struct Reason {
    /// The parts of the summary.
    pub summary: Vec<Chunks>,
    /// The raw thoughts, for an API that shows them.
    pub raw: Option<Chunks>,
    /// The item's id. Without it, the server generates one.
    pub id: Option<String>,
}

/// A call of a function.
#[derive(Debug, Clone)]
pub struct FunctionCall {
    /// The name of the function.
    pub name: String,
    /// Other functions, for a request that does not offer this one. The first offered one is called.
    pub otherwise: Vec<String>,
    /// The group of the function, for an API that has groups.
    pub namespace: Option<String>,
    /// The arguments as JSON text, or broken text if the author wants to send it.
    pub arguments: Chunks,
    /// The id that joins call and result. Without it, the server generates one.
    pub id: Option<String>,
    /// Whether the call stays unfinished, for a stream that is cut in the middle of the arguments.
    pub unfinished: bool,
    /// The signature of the call, for an API that has signatures.
    pub signature: Option<String>,
}

/// A call of a tool that takes free text.
#[derive(Debug, Clone)]
pub struct CustomCall {
    /// The name of the tool.
    pub name: String,
    /// The text for the tool.
    pub input: Chunks,
    /// The id that joins call and result. Without it, the server generates one.
    pub id: Option<String>,
}

/// The usage that an answer reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptUsage {
    /// Tokens of the request, including cached tokens.
    pub input: u64,
    /// Tokens of the request that came from a cache.
    pub cached: u64,
    /// Tokens of the answer, including thoughts.
    pub output: u64,
    /// Tokens of thoughts.
    pub reasoning: u64,
}

impl Default for ScriptUsage {
    fn default() -> Self {
        ScriptUsage { input: 100, cached: 40, output: 20, reasoning: 5 }
    }
}
