//! The three APIs of models, pure: a neutral request becomes a JSON body, a stream of bytes becomes neutral events.
//!
//! | module | holds |
//! |---|---|
//! | `stream` | one answer as its bytes arrive, as events or as one body |
//! | `sse` | server-sent events from bytes in any pieces |
//! | `chat`, `responses`, `messages` | one API each: its body, its stream |
//! | `models` | the models that a service lists |
//! | `request_options` | optional settings of a request |
//! | `strict`, `turns` | rules of strict services, learned from their refusals; user messages inside results |
//! | `failure`, `moment` | failures, in the few kinds by which a caller decides, and when to try again |

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
pub use strict::{SharedStrict, Strict};

use crate::history::{HistoryItem, HistoryPart};
use crate::tool::ToolDefinition;
use longshore_model::service::ModelApi;

/// A request to a model, in neutral form.
#[derive(Clone, Debug, PartialEq)]
pub struct NeutralRequest {
    /// The model.
    pub model: String,
    /// The system prompt.
    pub instructions: Arc<str>,
    /// The conversation, in an order that every API accepts.
    pub history: Vec<Arc<HistoryItem>>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolDefinition]>,
    /// The limit of the answer, in tokens.
    pub max_output: Option<u64>,
    /// The reasoning effort.
    pub effort: Option<String>,
}

/// An event of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// More text.
    Text(Cow<'a, str>),
    /// The complete text. The streamed pieces are the same text, or a part of it.
    TextDone(Cow<'a, str>),
    /// A piece of a thought.
    Reasoning(Cow<'a, str>),
    /// A complete thought.
    ReasoningDone {
        /// The text to show. If it is empty, the streamed pieces are the text.
        text: String,
        /// The data by which the service recognises the thought later.
        data: Value,
    },
    /// The whole text so far was a thought; only its end showed this. The thought is complete.
    ThoughtAloud {
        /// The data by which the service recognises the thought later.
        data: Value,
    },
    /// A complete tool call.
    Call {
        /// The model's id of the call.
        id: Option<String>,
        /// The name of the tool.
        name: String,
        /// The arguments, which should be JSON.
        arguments: String,
    },
    /// The usage of the answer.
    Usage(Usage),
    /// The answer is complete.
    Ended(Finish),
    /// The answer failed and stays incomplete.
    Failed(Failure),
}

impl Event<'_> {
    /// The same event without a lifetime.
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
    /// The answer is complete, or waits for the results of its calls.
    Done,
    /// The answer reached its limit.
    Length,
    /// The conversation has filled the model's window.
    Full,
    /// The model paused and expects a further request.
    Paused,
    /// The service filtered the answer.
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

/// The arguments of a call as an object: the model's own, or, if they are no object, the model's text as a
/// string. Some services read the arguments of past calls and refuse text that is no JSON.
pub fn arguments_of(arguments: &str) -> Value {
    let malformed = || json!({ "malformed_arguments": arguments });
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(Value::String(inner)) => serde_json::from_str(&inner).map_or_else(|_| malformed(), Value::Object),
        Ok(_) | Err(_) if arguments.trim().is_empty() => json!({}),
        Ok(_) | Err(_) => malformed(),
    }
}

/// Decodes arguments that a model encoded twice, as a text that contains an object.
fn plain_arguments(arguments: String) -> String {
    let inner = match arguments.trim_start().starts_with('"') {
        true => serde_json::from_str::<String>(&arguments).ok(),
        false => None,
    };
    let is_object = |text: &String| serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok();
    inner.filter(is_object).unwrap_or(arguments)
}

/// The longest id of a call that every API accepts.
const LONGEST_ID: usize = 64;

/// An id of a call that every API accepts: the service's own id, or one that is derived from it and always the same.
/// Chat Completions accepts any id.
fn plain_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    // FNV-1a: the hash need not be secret, only the same in every process.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Cow::Owned(format!("call_{hash:016x}"))
}

/// A tool name that every API accepts, for any name that a model wrote.
pub fn name_of(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The form in which the model gets an attachment.
enum AttachmentView<'a> {
    /// An image: its media type and its base64.
    Image(&'a str, &'a str),
    /// An image at a URL.
    ImageAt(&'a str),
    /// A text that mentions the attachment, without its content.
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

/// The text of a message.
fn words(content: &[HistoryPart]) -> String {
    let words = content.iter().filter_map(|part| match part {
        HistoryPart::InputText { text } | HistoryPart::OutputText { text } => Some(text.as_str()),
        HistoryPart::Attached(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The text of a summary for the model.
fn summary(text: &str) -> String {
    format!("The conversation so far was long and is summed up here. Go on from it.\n\n{text}")
}

/// The cached part of the input, as both OpenAI APIs report it.
#[derive(serde::Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// The reasoning part of the output, as both OpenAI APIs report it.
#[derive(serde::Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// Parses JSON that borrows from its text.
fn parse<'a, T: serde::Deserialize<'a>>(data: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(data).map_err(|error| Failure::garbled(&error, data))
}
