//! The three APIs of models, pure: a neutral request becomes a JSON body, a stream of bytes becomes neutral events.
//!
//! | module | holds |
//! |---|---|
//! | `stream` | one answer as its bytes arrive, as events or as one body |
//! | `sse` | server-sent events out of bytes that come in any pieces |
//! | `chat`, `responses`, `messages` | one API each: its body, its stream |
//! | `models` | the models that a service lists |
//! | `request_options` | what a caller may wish of an answer besides |
//! | `strict`, `turns` | what a service insists on, as its refusals tell; words that go into results then |
//! | `failure`, `moment` | what went wrong, in a few kinds that a caller decides by, and when to ask again |

mod chat;
mod failure;
mod messages;
mod models;
mod moment;
mod request_options;
mod responses;
mod sse;
mod stream;
mod strict;
mod text;
mod turns;

use std::borrow::Cow;
use std::sync::Arc;

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

pub use failure::{Failure, FailureKind};
pub use models::{model_called, models_of};
pub use moment::retry_after;
pub use request_options::{Format, RequestOptions, ToolChoice};
pub use stream::Stream;
pub use strict::{Learnt, Strict};

use crate::history::{HistoryItem, HistoryPart};
use crate::tool::ToolDefinition;
use longshore_model::service::ModelApi;

/// What the model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct NeutralRequest {
    /// Which model.
    pub model: String,
    /// What it is told about itself.
    pub instructions: Arc<str>,
    /// The conversation, in an order that every API takes.
    pub history: Vec<Arc<HistoryItem>>,
    /// The tools that it may call.
    pub tools: Arc<[ToolDefinition]>,
    /// How much it may write.
    pub max_output: Option<u64>,
    /// How hard it thinks.
    pub effort: Option<String>,
}

/// What a model says while it answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// More words.
    Text(Cow<'a, str>),
    /// The words are whole; what was streamed of them before is the same, or less.
    TextDone(Cow<'a, str>),
    /// More of a thought.
    Reasoning(Cow<'a, str>),
    /// A thought is whole.
    ReasoningDone {
        /// What of it can be shown; what was streamed of it counts when it is empty.
        text: String,
        /// What the service needs to know it again.
        data: Value,
    },
    /// All words so far were a thought, of which only the end tells. It is whole.
    ThoughtAloud {
        /// What the service needs to know it again.
        data: Value,
    },
    /// A call of a tool, all of it.
    Call {
        /// The model's name for it.
        id: Option<String>,
        /// The tool.
        name: String,
        /// JSON, if all went well.
        arguments: String,
    },
    /// What the answer used.
    Usage(Usage),
    /// The answer is whole.
    Ended(Finish),
    /// It will not become whole.
    Failed(Failure),
}

impl Event<'_> {
    /// The same, without a lifetime.
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Event::Text(text) => Event::Text(Cow::Owned(text.into_owned())),
            Event::TextDone(text) => Event::TextDone(Cow::Owned(text.into_owned())),
            Event::Reasoning(text) => Event::Reasoning(Cow::Owned(text.into_owned())),
            Event::ReasoningDone { text, data } => Event::ReasoningDone { text, data },
            Event::ThoughtAloud { data } => Event::ThoughtAloud { data },
            Event::Call { id, name, arguments } => Event::Call { id, name, arguments },
            Event::Usage(usage) => Event::Usage(usage),
            Event::Ended(finish) => Event::Ended(finish),
            Event::Failed(failure) => Event::Failed(failure),
        }
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It said what it had to say, or wants its calls answered.
    Done,
    /// It may not write more.
    Length,
    /// The conversation has filled the model's window.
    Full,
    /// It wants to be asked to go on.
    Paused,
    /// The service did not let it go on.
    Filtered,
}

/// The body of a request.
pub fn body(api: ModelApi, request: &NeutralRequest) -> String {
    body_with(api, request, &RequestOptions::default())
}

/// The body of a request with options.
pub fn body_with(api: ModelApi, request: &NeutralRequest, options: &RequestOptions) -> String {
    let mut body = match api {
        ModelApi::Chat => chat::body(request),
        ModelApi::Responses => responses::body(request),
        ModelApi::Messages => messages::body(request),
    };
    match api {
        ModelApi::Chat => options.chat(&mut body),
        ModelApi::Responses => options.responses(&mut body),
        ModelApi::Messages => {
            options.messages(&mut body);
            if let Some(effort) = &request.effort {
                messages::tell_effort(&mut body, effort, request.max_output);
            }
        }
    }
    body.to_string()
}

/// The arguments of a call as an object: what the model wrote, or, when that is no object, what it wrote as a string.
/// Some services read the arguments of past calls and refuse what is no JSON.
pub fn arguments_of(arguments: &str) -> Value {
    let malformed = || json!({ "malformed_arguments": arguments });
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(Value::String(inner)) => serde_json::from_str(&inner).map_or_else(|_| malformed(), Value::Object),
        Ok(_) | Err(_) if arguments.trim().is_empty() => json!({}),
        Ok(_) | Err(_) => malformed(),
    }
}

/// Arguments that some models encode twice, as a text that is an object, are that object.
fn plain_arguments(arguments: String) -> String {
    let inner = match arguments.trim_start().starts_with('"') {
        true => serde_json::from_str::<String>(&arguments).ok(),
        false => None,
    };
    let is_object = |text: &String| serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok();
    inner.filter(is_object).unwrap_or(arguments)
}

/// The longest name of a call that every API takes.
const LONGEST_ID: usize = 64;

/// A name of a call that every API takes: the one that its service gave it, or one that is made of it, always the same.
/// Chat Completions takes any.
fn plain_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    // FNV-1a: it need not be secret, only the same in every process.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Cow::Owned(format!("call_{hash:016x}"))
}

/// A name that every API takes, of whatever a model called.
pub fn name_of(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// What of an attachment the model can look at.
enum AttachmentView<'a> {
    /// An image: its media type and its base64.
    Image(&'a str, &'a str),
    /// An image elsewhere.
    ImageAt(&'a str),
    /// Nothing; it is told where the thing is.
    Mention(String),
}

fn view_of(attachment: &Attachment) -> AttachmentView<'_> {
    let is_image = attachment.media_type.starts_with("image/");
    let name = attachment.name.as_deref().unwrap_or("a file");
    match &attachment.source {
        AttachmentSource::Data(data) if is_image => AttachmentView::Image(&attachment.media_type, data),
        AttachmentSource::Url(url) if is_image => AttachmentView::ImageAt(url),
        AttachmentSource::Data(_) => AttachmentView::Mention(format!(
            "[{name} of type {} was attached; it cannot be shown]",
            attachment.media_type
        )),
        AttachmentSource::Url(url) => AttachmentView::Mention(format!("[attached: {url}]")),
        AttachmentSource::Path(path) => AttachmentView::Mention(format!("[attached file: {path}]")),
    }
}

/// The words of a message.
fn words(content: &[HistoryPart]) -> String {
    let words = content.iter().filter_map(|part| match part {
        HistoryPart::InputText { text } | HistoryPart::OutputText { text } => Some(text.as_str()),
        HistoryPart::Attached(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// How a summary is told.
fn summary(text: &str) -> String {
    format!("The conversation so far was long and is summed up here. Go on from it.\n\n{text}")
}

/// What of the input was cached, as both APIs of OpenAI say it.
#[derive(serde::Deserialize)]
struct Cached {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// What of the output was thought, as both APIs of OpenAI say it.
#[derive(serde::Deserialize)]
struct Reasoned {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// Reads JSON that borrows from its text, or says what is wrong.
fn parse<'a, T: serde::Deserialize<'a>>(data: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(data).map_err(|error| Failure::garbled(&error, data))
}
