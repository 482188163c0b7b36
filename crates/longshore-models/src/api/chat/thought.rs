//! Thoughts, with the data that their service wants back: the text (DeepSeek, Kimi), more about the thought
//! (OpenRouter), the signature of an answer or a call (Gemini).
//!
//! The kept value is an object. Its fields go unchanged into the assistant's message. `tool_calls` has the
//! data of the following calls, in their order; `content` has the text before the thought.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::api::Event;
use crate::api::text::Text;

const CALLS: &str = "tool_calls";
/// What stood in front of the words, and is not shown with them.
pub(super) const CONTENT: &str = "content";
const DETAILS: &str = "reasoning_details";
const EXTRA: &str = "extra_content";
/// The fields of a message that are given back.
const FIELDS: [&str; 4] = ["reasoning_content", "reasoning", DETAILS, EXTRA];

/// The thought that grows.
#[derive(Debug, Default)]
pub(super) struct Thought {
    kept: Map<String, Value>,
    /// The service has said of something that it is a thought.
    told_apart: bool,
}

impl Thought {
    /// Whether the service tells thoughts and words apart, so that nobody need look for them in the words.
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

    /// More of it, under whichever name; some say both.
    pub(super) fn think(
        &mut self,
        content: Option<Text<'_>>,
        reasoning: Option<Text<'_>>,
        tell: &mut dyn FnMut(Event<'_>),
    ) {
        for (key, piece) in [(FIELDS[0], &content), (FIELDS[1], &reasoning)] {
            // An empty one that was given is given back too: DeepSeek asks for the field, whatever is in it.
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

    /// Something else begins.
    pub(super) fn close(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.kept.values().any(|value| *value != "") {
            let data = Value::Object(std::mem::take(&mut self.kept));
            tell(Event::ReasoningDone { text: String::new(), data });
        }
    }

    /// Calls follow, each with what its service wants to have back with it.
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

/// What Google has everybody say in the place of a signature that there is none of: of a call of another model, or of one
/// that was never signed.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Gives every answer a thought, for services that refuse one without: that of an answer without is blank. Some take an
/// empty one for none.
pub(in super::super) fn fill_thoughts(body: &mut Value) {
    for answer in answers(body) {
        if answer[FIELDS[0]].as_str().is_none_or(str::is_empty) {
            answer[FIELDS[0]] = " ".into();
        }
    }
}

/// Signs the first call of every answer that has none signed: a service that refuses one without looks at no other.
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

/// What was kept of the thoughts of one answer, on its way back.
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

    /// What the next call came with.
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
