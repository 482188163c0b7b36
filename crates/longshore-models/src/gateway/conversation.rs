//! The conversation so far, as a client sends it, in an order that every API accepts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::history::{History, HistoryItem, HistoryPart, Output, Role};
use longshore_model::command::{Attachment, AttachmentSource};

use super::sealed::SealedData;

/// What Claude Code tells of itself to its own service, in every request otherwise: a local model could never use its
/// cache for what comes after.
const OF_NO_USE: &str = "x-anthropic-billing-header:";

/// A conversation that is being told.
#[derive(Default)]
pub(super) struct Conversation {
    instructions: Vec<String>,
    history: History,
    /// What a person said last, as long as nobody else has spoken since.
    words: Option<Vec<HistoryPart>>,
    /// What the maker of the client says in the middle, on its way to the next words of a person.
    asides: Vec<HistoryPart>,
    /// Which answer of the model is being told.
    step: u64,
    in_answer: bool,
    /// The name of each call, by the one that the client gave it last. Some use one twice.
    calls: HashMap<String, String>,
    used: HashSet<String>,
}

/// A conversation up to the answer that is asked for.
pub(super) struct Prior {
    pub(super) instructions: Arc<str>,
    pub(super) history: Vec<Arc<HistoryItem>>,
    /// The names of all calls in it.
    pub(super) calls: HashSet<String>,
}

impl Conversation {
    /// What the model is told by whoever made the client. At the beginning it is what the model is told about itself.
    /// Later it stands in front of the words of a person, which stay the last: many models take nothing else there.
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

    /// A person speaks.
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

    /// Somebody else speaks now.
    fn close(&mut self) {
        if let Some(words) = self.words.take() {
            let mut content = std::mem::take(&mut self.asides);
            content.extend(words);
            self.say(content);
        }
    }

    /// The same, and what was said aside cannot wait for a person any longer.
    fn close_all(&mut self) {
        self.close();
        let asides = std::mem::take(&mut self.asides);
        if !asides.is_empty() {
            self.in_answer = false;
            self.say(asides);
        }
    }

    /// The model spoke.
    pub(super) fn assistant(&mut self, text: &str) {
        if !text.is_empty() {
            let step = self.answer();
            self.history.push(HistoryItem::assistant(step, text));
        }
    }

    /// The model thought. What its service gave us to know it again is given back; other thoughts are of no use to it.
    pub(super) fn thought(&mut self, sealed: Option<SealedData>) {
        if let Some(SealedData { api, from, data }) = sealed {
            let step = self.answer();
            self.history.push(HistoryItem::Reasoning { step, api, from, data });
        }
    }

    /// The model called a tool, by the name under which that is offered.
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

    /// What came of a call.
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

/// A text of a person.
pub(super) fn words(text: &str) -> Option<HistoryPart> {
    (!text.is_empty()).then(|| HistoryPart::InputText { text: text.to_owned() })
}

/// What is elsewhere and is looked at.
pub(super) const IMAGE: &str = "image/*";
/// What is elsewhere and is not.
pub(super) const FILE: &str = "application/octet-stream";

/// An image or another file by its address: `data:image/png;base64,..`, or elsewhere.
pub(super) fn attached(url: &str, elsewhere: &str, name: Option<&str>) -> Attachment {
    let here = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (media_type, source) = match here {
        Some((media_type, data)) => (media_type, AttachmentSource::Data(data.to_owned())),
        None => (elsewhere, AttachmentSource::Url(url.to_owned())),
    };
    Attachment { name: name.map(str::to_owned), media_type: media_type.to_owned(), source }
}

/// What came of a call, of parts that are texts and attachments.
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
