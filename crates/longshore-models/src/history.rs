//! The conversation with a model: messages, calls and results, the same for every API.
//!
//! Items are in the order in which they happened. [`History::legal`] puts them into the order that every API accepts:
//! the text and calls of one answer, then the result of each call, then the user messages that came meanwhile. A call
//! without a result gets one that says so.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use longshore_model::command::Attachment;
use longshore_model::id::PromptId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use longshore_model::service::ModelApi;

/// The result, for the model, of a call that never ended.
pub const INTERRUPTED: &str = "interrupted before it finished";

/// An item of a conversation: a message, a call or a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HistoryItem {
    /// A message.
    Message {
        /// The author.
        role: Role,
        /// The number of the model's answer to which the message belongs. 0 for messages of a user.
        #[serde(default, skip_serializing_if = "is_zero")]
        step: u64,
        /// The prompt of a user message. The log has the prompt's attachments, so this item leaves them out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptId>,
        /// The parts of the message.
        content: Vec<HistoryPart>,
    },
    /// A thought, with the data by which the model's service recognises it later.
    Reasoning {
        /// The number of the model's answer to which the thought belongs.
        step: u64,
        /// The API whose form the data has.
        api: ModelApi,
        /// The host of the service that wrote the thought. Other services do not get the data.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// The service's own data.
        data: Value,
    },
    /// A call of a tool.
    FunctionCall {
        /// The number of the model's answer to which the call belongs.
        step: u64,
        /// The id, which no other call of the session has.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as the model wrote them. They should be JSON.
        arguments: String,
    },
    /// The result of a call.
    FunctionCallOutput {
        /// The id of the call.
        call_id: String,
        /// The result.
        output: Output,
    },
    /// A summary, which replaces all earlier items.
    Summary {
        /// The text.
        text: String,
    },
    /// The permissions of a person for the whole session. The model does not get them.
    Allowed {
        /// The rules for tools.
        rules: Vec<String>,
    },
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Role {
    User,
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HistoryPart {
    /// Text of a user.
    InputText {
        /// The text.
        text: String,
    },
    /// Text of the model.
    OutputText {
        /// The text.
        text: String,
    },
    /// An attachment of a user.
    Attached(Attachment),
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The text for the model.
    pub content: String,
    /// Whether the call succeeded.
    pub success: bool,
    /// Images for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Attachment>,
}

fn is_zero(step: &u64) -> bool {
    *step == 0
}

impl HistoryItem {
    /// A message of a user.
    pub fn user(prompt: Option<PromptId>, text: &str, attachments: &[Attachment]) -> Self {
        let words = (!text.is_empty()).then(|| HistoryPart::InputText { text: text.to_owned() });
        let content =
            words.into_iter().chain(attachments.iter().cloned().map(HistoryPart::Attached)).collect();
        HistoryItem::Message { role: Role::User, step: 0, prompt, content }
    }

    /// A message of the model.
    pub fn assistant(step: u64, text: &str) -> Self {
        let content = vec![HistoryPart::OutputText { text: text.to_owned() }];
        HistoryItem::Message { role: Role::Assistant, step, prompt: None, content }
    }

    /// The result of a call.
    pub fn result(call_id: &str, content: impl Into<String>, success: bool) -> Self {
        let output = Output { content: content.into(), success, images: Vec::new() };
        HistoryItem::FunctionCallOutput { call_id: call_id.to_owned(), output }
    }

    /// The number of the model's answer to which the item belongs.
    fn step(&self) -> Option<u64> {
        match self {
            HistoryItem::Message { role: Role::Assistant, step, .. }
            | HistoryItem::Reasoning { step, .. }
            | HistoryItem::FunctionCall { step, .. } => Some(*step),
            HistoryItem::Message { role: Role::User, .. }
            | HistoryItem::FunctionCallOutput { .. }
            | HistoryItem::Summary { .. }
            | HistoryItem::Allowed { .. } => None,
        }
    }

    /// Whether the item is a thought of another service.
    pub fn is_foreign_to(&self, place: &str) -> bool {
        matches!(self, HistoryItem::Reasoning { from: Some(from), .. } if from != place)
    }

    /// The approximate number of bytes that the model reads of the item.
    pub fn size(&self) -> usize {
        match self {
            HistoryItem::Message { content, .. } => content.iter().map(HistoryPart::size).sum(),
            HistoryItem::Reasoning { data, .. } => data.to_string().len(),
            HistoryItem::FunctionCall { name, arguments, .. } => name.len() + arguments.len(),
            HistoryItem::FunctionCallOutput { output, .. } => {
                output.content.len() + output.images.len() * IMAGE_SIZE
            }
            HistoryItem::Summary { text } => text.len(),
            HistoryItem::Allowed { .. } => 0,
        }
    }
}

/// The size that an image counts as, in bytes of text: about a thousand tokens.
const IMAGE_SIZE: usize = 4_000;

impl HistoryPart {
    fn size(&self) -> usize {
        match self {
            HistoryPart::InputText { text } | HistoryPart::OutputText { text } => text.len(),
            HistoryPart::Attached(_) => IMAGE_SIZE,
        }
    }
}

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    items: Vec<Arc<HistoryItem>>,
    /// The ids of all calls, so that no id is used twice.
    calls: HashSet<String>,
    /// The number of the model's last answer.
    step: u64,
}

impl History {
    /// Adds an item.
    pub fn push(&mut self, item: HistoryItem) {
        match &item {
            HistoryItem::Allowed { .. } => return,
            HistoryItem::Summary { .. } => self.items.clear(),
            HistoryItem::FunctionCall { call_id, .. } => drop(self.calls.insert(call_id.clone())),
            HistoryItem::Message { .. }
            | HistoryItem::Reasoning { .. }
            | HistoryItem::FunctionCallOutput { .. } => {}
        }
        self.step = self.step.max(item.step().unwrap_or(0));
        self.items.push(Arc::new(item));
    }

    /// The number of the model's next answer.
    pub fn next_step(&self) -> u64 {
        self.step + 1
    }

    /// Whether an earlier call has this id.
    pub fn has_call(&self, id: &str) -> bool {
        self.calls.contains(id)
    }

    /// Whether the conversation is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The approximate number of bytes that the model reads of the conversation.
    pub fn size(&self) -> usize {
        self.items.iter().map(|item| item.size()).sum()
    }

    /// The last message of a user.
    pub fn last_user(&self) -> Option<&HistoryItem> {
        let is_user =
            |item: &&Arc<HistoryItem>| matches!(&***item, HistoryItem::Message { role: Role::User, .. });
        self.items.iter().rev().find(is_user).map(|item| &**item)
    }

    /// All items, in the order in which they happened.
    pub fn into_items(self) -> Vec<Arc<HistoryItem>> {
        self.items
    }

    /// The items in the order that every API accepts.
    pub fn legal(&self) -> Vec<Arc<HistoryItem>> {
        let mut results: HashMap<&str, &Arc<HistoryItem>> = HashMap::new();
        let mut last_of: HashMap<u64, usize> = HashMap::new();
        for (at, item) in self.items.iter().enumerate() {
            if let HistoryItem::FunctionCallOutput { call_id, .. } = &**item {
                results.entry(call_id).or_insert(item);
            }
            if let Some(step) = item.step() {
                last_of.insert(step, at);
            }
        }
        let mut told = Telling { results, ..Telling::default() };
        for (at, item) in self.items.iter().enumerate() {
            match (&**item, item.step()) {
                (_, Some(step)) => told.answer(step, item),
                (HistoryItem::FunctionCallOutput { call_id, .. }, _) => {
                    told.open.remove(call_id.as_str());
                }
                (HistoryItem::Message { .. } | HistoryItem::Summary { .. }, None) => {
                    let goes_on =
                        told.step.is_some_and(|step| last_of.get(&step).is_some_and(|last| *last > at));
                    told.said(item, goes_on);
                }
                (
                    HistoryItem::Allowed { .. }
                    | HistoryItem::Reasoning { .. }
                    | HistoryItem::FunctionCall { .. },
                    None,
                ) => {}
            }
        }
        told.close();
        told.out
    }
}

/// Puts items into order: one answer of the model after the other, each with the results of its calls.
#[derive(Default)]
struct Telling<'a> {
    results: HashMap<&'a str, &'a Arc<HistoryItem>>,
    out: Vec<Arc<HistoryItem>>,
    step: Option<u64>,
    answer: Vec<&'a Arc<HistoryItem>>,
    /// The calls of the answer whose results have not followed yet.
    open: HashSet<&'a str>,
    /// User messages from before the last result.
    meanwhile: Vec<&'a Arc<HistoryItem>>,
    called: HashSet<&'a str>,
}

impl<'a> Telling<'a> {
    fn answer(&mut self, step: u64, item: &'a Arc<HistoryItem>) {
        if self.step != Some(step) {
            self.close();
            self.step = Some(step);
        }
        if let HistoryItem::FunctionCall { call_id, .. } = &**item {
            if !self.called.insert(call_id) {
                return;
            }
            self.open.insert(call_id);
        }
        self.answer.push(item);
    }

    fn said(&mut self, item: &'a Arc<HistoryItem>, answer_goes_on: bool) {
        if self.open.is_empty() && !answer_goes_on {
            self.close();
            self.out.push(Arc::clone(item));
        } else {
            self.meanwhile.push(item);
        }
    }

    fn close(&mut self) {
        // A service refuses its own thought if neither text nor a call follows. A signature of a text may come after
        // the text.
        let comes_to_something =
            |item: &&Arc<HistoryItem>| !matches!(&***item, HistoryItem::Reasoning { .. });
        let belongs = |item: &&Arc<HistoryItem>| {
            comes_to_something(item) || matches!(&***item, HistoryItem::Reasoning { api: ModelApi::Chat, .. })
        };
        let end = match self.answer.iter().any(comes_to_something) {
            true => self.answer.iter().rposition(belongs),
            false => None,
        };
        let answer = self.answer.drain(..).take(end.map_or(0, |end| end + 1)).collect::<Vec<_>>();
        self.out.extend(answer.iter().map(|item| Arc::clone(item)));
        for item in answer {
            if let HistoryItem::FunctionCall { call_id, .. } = &**item {
                let missing = || Arc::new(HistoryItem::result(call_id, INTERRUPTED, false));
                self.out
                    .push(self.results.get(call_id.as_str()).map_or_else(missing, |item| Arc::clone(item)));
            }
        }
        self.out.extend(self.meanwhile.drain(..).map(Arc::clone));
        self.open.clear();
        self.step = None;
    }
}
