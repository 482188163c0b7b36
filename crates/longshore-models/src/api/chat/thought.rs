//! Thoughts, with the data that their service needs back: the text (DeepSeek, Kimi), details of the thought
//! (OpenRouter), the signature of an answer or a call (Gemini).
//!
//! The kept value is an object. Its fields go unchanged into the assistant's message. `tool_calls` has the data of the
//! following calls, in their order; `content` has the text before the thought.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::api::Event;
use crate::api::text::Text;

const CALLS: &str = "tool_calls";
/// The field for text that stood before the visible text, and that clients do not see.
pub(super) const CONTENT: &str = "content";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
/// The fields of a message that go back to the service.
const FIELDS: [&str; 4] = ["reasoning_content", "reasoning", DETAILS, EXTRA];

/// A thought while the service streams it.
#[derive(Debug, Default)]
pub(super) struct Thought {
    kept: Map<String, Value>,
    /// The service has marked a text as a thought.
    told_apart: bool,
}

impl Thought {
    /// Whether the service separates thoughts from text. Then the text contains no thoughts.
    pub(super) fn is_told_apart(&self) -> bool {
        self.told_apart
    }

    pub(super) fn keep(&mut self, details: Option<Vec<Value>>, extra: Option<Value>) {
        if let Some(extra) = extra.filter(|extra| !extra.is_null()) {
            self.kept.insert(EXTRA.to_owned(), extra);
        }
        for detail in details.into_iter().flatten() {
            let all = self.kept.entry(DETAILS).or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                grow_detail(all, detail);
            }
        }
    }

    /// Adds a piece of the thought, under either name; some services send both.
    pub(super) fn think(
        &mut self,
        content: Option<Text<'_>>,
        reasoning: Option<Text<'_>>,
        tell: &mut dyn FnMut(Event<'_>),
    ) {
        for (key, piece) in [(FIELDS[0], &content), (FIELDS[1], &reasoning)] {
            // An empty field goes back too: DeepSeek requires the field, whatever its content.
            if let Some(Text(piece)) = piece
                && let Value::String(grown) = self.kept.entry(key).or_insert_with(|| "".into())
            {
                grown.push_str(piece);
            }
        }
        if let Some(Text(text)) = content.or(reasoning).filter(|text| !text.0.is_empty()) {
            self.told_apart = true;
            tell(Event::Reasoning(text));
        }
    }

    /// Ends the thought, because something else begins.
    pub(super) fn close(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.kept.values().any(|value| *value != "") {
            let data = Value::Object(std::mem::take(&mut self.kept));
            tell(Event::ReasoningDone { text: String::new(), data });
        }
    }

    /// Ends the thought before calls, each with the data that the service needs back with it.
    pub(super) fn close_before_calls(&mut self, extras: &[Option<&Value>], tell: &mut dyn FnMut(Event<'_>)) {
        if extras.iter().any(Option::is_some) {
            let extra = |extra: &Option<&Value>| extra.map_or(Value::Null, |extra| json!({ EXTRA: extra }));
            self.kept.insert(CALLS.to_owned(), extras.iter().map(extra).collect());
        }
        if extras.is_empty() {
            return self.close(tell);
        }
        if !self.kept.is_empty() {
            let data = Value::Object(std::mem::take(&mut self.kept));
            tell(Event::ReasoningDone { text: String::new(), data });
        }
    }
}

/// Pieces of one detail have the same index and the same type; their texts are joined.
fn grow_detail(all: &mut Vec<Value>, piece: Value) {
    let same = |last: &&mut Value| {
        last["type"] == piece["type"] && last["index"] == piece["index"] && !piece["index"].is_null()
    };
    let Some(last) = all.last_mut().filter(same) else { return all.push(piece) };
    let (Some(last), Value::Object(piece)) = (last.as_object_mut(), piece) else { return };
    for (key, value) in piece {
        match (last.get_mut(&key), value, key.as_str()) {
            (Some(Value::String(grown)), Value::String(more), "text" | "summary" | "data") => {
                grown.push_str(&more)
            }
            (Some(_), Value::Null, _) => {}
            (_, value, _) => drop(last.insert(key, value)),
        }
    }
}

/// Google's placeholder for a missing signature: for a call of another model, or a call that was never signed.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Gives every answer a thought, for services that refuse an answer without one. The added thought is a blank, because
/// some services treat an empty thought as a missing one.
pub(in super::super) fn fill_thoughts(body: &mut Value) {
    for answer in answers(body) {
        if answer[FIELDS[0]].as_str().is_none_or(str::is_empty) {
            answer[FIELDS[0]] = " ".into();
        }
    }
}

/// Signs the first call of every answer if it has no signature. A service that requires signatures checks only this
/// one.
pub(in super::super) fn fill_signatures(body: &mut Value) {
    for answer in answers(body) {
        if let Some(call) = answer[CALLS].get_mut(0).filter(|call| call.get(EXTRA).is_none()) {
            call[EXTRA] = json!({ "google": { "thought_signature": UNSIGNED } });
        }
    }
}

fn answers(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    messages.filter(|message| message["role"] == "assistant")
}

/// The kept data of one answer's thoughts, for the next request.
#[derive(Default)]
pub(super) struct ThoughtReplay {
    fields: Map<String, Value>,
    before: String,
    calls: VecDeque<Value>,
}

impl ThoughtReplay {
    pub(super) fn add(&mut self, data: &Value) {
        for (key, value) in data.as_object().into_iter().flatten() {
            match (key.as_str(), value, self.fields.get_mut(key)) {
                (CALLS, Value::Array(calls), _) => self.calls = calls.clone().into(),
                (CALLS, _, _) => {}
                (CONTENT, value, _) => self.before.push_str(value.as_str().unwrap_or_default()),
                (field, _, _) if !FIELDS.contains(&field) => {}
                (_, Value::String(more), Some(Value::String(before))) => before.push_str(more),
                (_, Value::Array(more), Some(Value::Array(before))) => before.extend(more.iter().cloned()),
                (_, value, _) => drop(self.fields.insert(key.clone(), value.clone())),
            }
        }
    }

    /// Adds the kept data of the next call.
    pub(super) fn put_into_call(&mut self, call: &mut Value) {
        let kept = self.calls.pop_front().unwrap_or_default();
        if let Some(extra) = kept.get(EXTRA) {
            call[EXTRA] = extra.clone();
        }
    }

    pub(super) fn put_into_message(self, message: &mut Value) {
        if !self.before.is_empty() {
            let words = message[CONTENT].as_str().map_or(Cow::Borrowed(""), |words| words.to_owned().into());
            message[CONTENT] = format!("{}{words}", self.before).into();
        }
        for (key, value) in self.fields {
            message[key] = value;
        }
    }
}
