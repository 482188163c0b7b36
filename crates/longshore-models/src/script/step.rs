//! The content of a script: steps, each the answer to one request, made of actions that know no API.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::chunks::Chunks;
use super::demand::Demand;

/// A whole script, ready to be played.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The steps in the order of the file.
    pub steps: Vec<ScriptStep>,
    /// The model names that the server lists; when empty it lists `scripted`.
    pub models: Vec<String>,
    /// What every request must have; one that does not is refused, and no step is used up for it.
    pub insists: Vec<Demand>,
}

/// The answer to one request (or to several, when it repeats).
#[derive(Debug, Clone)]
pub struct ScriptStep {
    /// What the author wrote beside it, for people who read the record of requests.
    pub note: Option<String>,
    /// Which requests it is for; without it, any that no other step claims.
    pub when: Option<When>,
    /// How many requests it answers.
    pub repeat: Repeat,
    /// What it answers.
    pub play: StepAnswer,
    /// The JSON it was read from, so that what is left can be shown in the author's words.
    pub source: Value,
}

/// A condition on the request that a step answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// Text that the last message of the user must contain.
    pub contains: Option<String>,
    /// Text that the results of tools must contain that the request brings.
    pub result: Option<String>,
    /// Whether the request must let the model call tools, or must not.
    pub tools: Option<bool>,
}

/// What steps are chosen by, of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCue<'a> {
    /// The last message of the user.
    pub text: &'a str,
    /// What tools said since the model last spoke.
    pub results: &'a str,
    /// Whether it offers tools.
    pub tools: bool,
}

impl When {
    /// Whether such a request is meant.
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
    /// All that come.
    Forever,
}

/// The two kinds of answer.
#[derive(Debug, Clone)]
pub enum StepAnswer {
    /// A stream of events.
    Stream {
        /// What the model does, in this order.
        actions: Vec<Action>,
        /// The tokens it claims to have used.
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
    /// The body: a string is sent as it is, everything else as JSON; without it, an error in the API's own shape.
    pub body: Option<Value>,
}

/// One thing that the model does within an answer.
#[derive(Debug, Clone)]
pub enum Action {
    /// Says text to the user.
    Say(Say),
    /// Thinks aloud.
    Reason(Reason),
    /// Calls a function with JSON arguments.
    Call(FunctionCall),
    /// Calls a tool that takes free text.
    Custom(CustomCall),
    /// Puts out an item of the API as it is.
    Item(Value),
    /// Sends an event of the API as it is.
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
    /// Reports that the answer was broken off, for this reason.
    Incomplete(String),
}

impl Action {
    /// Whether nothing can follow it.
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
    /// The text and how it is cut.
    pub text: Chunks,
    /// The item's id; made up when absent.
    pub id: Option<String>,
    /// What the message is to the turn (`commentary`, `final_answer`), where the API knows that.
    pub phase: Option<String>,
    /// It is broken off: nothing says that it is whole.
    pub unfinished: bool,
}

/// Thoughts of the model.
#[derive(Debug, Clone)]
pub struct Reason {
    /// The parts of the summary.
    pub summary: Vec<Chunks>,
    /// The thoughts themselves, where the API shows them.
    pub raw: Option<Chunks>,
    /// The item's id; made up when absent.
    pub id: Option<String>,
}

/// A call of a function.
#[derive(Debug, Clone)]
pub struct FunctionCall {
    /// The function.
    pub name: String,
    /// Functions that are called in its place, where the request offers them and not this one.
    pub otherwise: Vec<String>,
    /// The group it belongs to, where the API has groups.
    pub namespace: Option<String>,
    /// The arguments as JSON text (or as the broken text that the author wants to send).
    pub arguments: Chunks,
    /// The id that joins call and result; made up when absent.
    pub id: Option<String>,
    /// Whether it is left broken off, for a stream that is cut in the middle of the arguments.
    pub unfinished: bool,
    /// What signs it, where the API has a place for that.
    pub signature: Option<String>,
}

/// A call of a tool that takes free text.
#[derive(Debug, Clone)]
pub struct CustomCall {
    /// The tool.
    pub name: String,
    /// The text that it gets.
    pub input: Chunks,
    /// The id that joins call and result; made up when absent.
    pub id: Option<String>,
}

/// The tokens that an answer claims to have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptUsage {
    /// Tokens of the request, the cached ones among them.
    pub input: u64,
    /// Those of the request that came from a cache.
    pub cached: u64,
    /// Tokens of the answer, the thoughts among them.
    pub output: u64,
    /// Those of the answer that were thoughts.
    pub reasoning: u64,
}

impl Default for ScriptUsage {
    fn default() -> Self {
        ScriptUsage { input: 100, cached: 40, output: 20, reasoning: 5 }
    }
}
