//! The conversation so far, as a client sends it, in an order that every API accepts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::history::{History, HistoryItem, HistoryPart, Output, Role};
use longshore_model::command::{Attachment, AttachmentSource};

use super::sealed::SealedData;

/// Claude Code puts this line with data for its own service into every request, each time with other content. A local
/// model could then never use its cache for the rest.
const OF_NO_USE: &str = "x-anthropic-billing-header:";

/// A conversation while its messages are added.
#[derive(Default)]
pub(super) struct Conversation {
    instructions: Vec<String>,
    history: History,
    /// The last message of a user, as long as no other role follows.
    words: Option<Vec<HistoryPart>>,
    /// System messages from the middle of the conversation, which wait for the next user message.
    asides: Vec<HistoryPart>,
    /// The number of the current answer of the model.
    step: u64,
    in_answer: bool,
    /// The id of each call in the history, by the client's id. If a client uses an id twice, the later call counts.
    calls: HashMap<String, String>,
    used: HashSet<String>,
}

/// The conversation before the requested answer.
pub(super) struct Prior {
    pub(super) instructions: Arc<str>,
    pub(super) history: Vec<Arc<HistoryItem>>,
    /// The ids of all calls in the conversation.
    pub(super) calls: HashSet<String>,
}

impl Conversation {
    /// Adds a system message. At the beginning it belongs to the system prompt. Later it goes before the next user
    /// message, which stays the last message: many models accept nothing else there.
    pub(super) fn system(&mut self, text: &str) {
        if text.trim().is_empty() || text.starts_with(OF_NO_USE) {
            return;
        }
        if self.history.is_empty() && self.words.is_none() {
            self.instructions.push(text.to_owned());
        } else {
            let text = format!("<system-message>\n{text}\n</system-message>");
            self.asides.push(HistoryPart::InputText { text });
        }
    }

    /// Adds a user message.
    pub(super) fn user(&mut self, content: Vec<HistoryPart>) {
        if content.is_empty() {
            return;
        }
        self.in_answer = false;
        let mut words = std::mem::take(&mut self.asides);
        words.extend(content);
        if let Some(before) = self.words.replace(words) {
            self.say(before);
        }
    }

    fn say(&mut self, content: Vec<HistoryPart>) {
        self.history.push(HistoryItem::Message { role: Role::User, step: 0, prompt: None, content });
    }

    /// Adds the held user message to the history, because another role follows.
    fn close(&mut self) {
        if let Some(words) = self.words.take() {
            let mut content = std::mem::take(&mut self.asides);
            content.extend(words);
            self.say(content);
        }
    }

    /// Adds the held user message, and system messages that can no longer wait for one.
    fn close_all(&mut self) {
        self.close();
        let asides = std::mem::take(&mut self.asides);
        if !asides.is_empty() {
            self.in_answer = false;
            self.say(asides);
        }
    }

    /// Adds text of the model.
    pub(super) fn assistant(&mut self, text: &str) {
        if !text.is_empty() {
            let step = self.answer();
            self.history.push(HistoryItem::assistant(step, text));
        }
    }

    /// Adds a thought. Its sealed data goes back to the service; a thought without such data has no use there.
    pub(super) fn thought(&mut self, sealed: Option<SealedData>) {
        if let Some(SealedData { api, from, data }) = sealed {
            let step = self.answer();
            self.history.push(HistoryItem::Reasoning { step, api, from, data });
        }
    }

    /// Adds a call. The name is the one under which the service knows the tool.
    pub(super) fn call(&mut self, id: &str, name: String, arguments: String) {
        let step = self.answer();
        let call_id = (1..)
            .map(|number: u32| if number == 1 { id.to_owned() } else { format!("{id}_{number}") })
            .find(|id| !id.is_empty() && !self.history.has_call(id))
            .unwrap_or_default();
        self.calls.insert(id.to_owned(), call_id.clone());
        self.used.extend([id.to_owned(), call_id.clone()]);
        self.history.push(HistoryItem::FunctionCall { step, call_id, name, arguments });
    }

    /// Adds the result of a call.
    pub(super) fn result(&mut self, id: &str, output: Output) {
        self.close();
        self.in_answer = false;
        let call_id = self.calls.get(id).cloned().unwrap_or_else(|| id.to_owned());
        self.history.push(HistoryItem::FunctionCallOutput { call_id, output });
    }

    pub(super) fn prior(mut self) -> Prior {
        self.close_all();
        Prior {
            instructions: self.instructions.join("\n\n").into(),
            history: self.history.legal(),
            calls: self.used,
        }
    }

    fn answer(&mut self) -> u64 {
        self.close_all();
        if !self.in_answer {
            self.in_answer = true;
            self.step += 1;
        }
        self.step
    }
}

/// A text of a user.
pub(super) fn words(text: &str) -> Option<HistoryPart> {
    (!text.is_empty()).then(|| HistoryPart::InputText { text: text.to_owned() })
}

/// The media type of an image at a URL.
pub(super) const IMAGE: &str = "image/*";
/// The media type of another file at a URL.
pub(super) const FILE: &str = "application/octet-stream";

/// An image or another file from its URL: a `data:` URL contains it, another URL names it.
pub(super) fn attached(url: &str, elsewhere: &str, name: Option<&str>) -> Attachment {
    let here = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (media_type, source) = match here {
        Some((media_type, data)) => (media_type, AttachmentSource::Data(data.to_owned())),
        None => (elsewhere, AttachmentSource::Url(url.to_owned())),
    };
    Attachment { name: name.map(str::to_owned), media_type: media_type.to_owned(), source }
}

/// The result of a call, from texts and attachments.
pub(super) fn output(parts: Vec<HistoryPart>, success: bool) -> Output {
    let mut output = Output { content: String::new(), success, images: Vec::new() };
    for part in parts {
        match part {
            HistoryPart::InputText { text } | HistoryPart::OutputText { text } => {
                if !output.content.is_empty() {
                    output.content.push('\n');
                }
                output.content.push_str(&text);
            }
            HistoryPart::Attached(attachment) => output.images.push(attachment),
        }
    }
    output
}
