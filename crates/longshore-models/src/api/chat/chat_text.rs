//! Finds thoughts and calls in the text of a local model whose server does not look for them: `<think>` at
//! the beginning, and `<tool_call>` with JSON or with `<function=..>` in it. Templates of many models begin
//! the thought themselves, in the prompt; then the text before a lone `</think>` is a thought.
//!
//! A text counts as a call only if the service returned no calls itself and the named tool exists. All other
//! text stays unchanged and in order.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::thought::CONTENT;
use crate::api::Event;
use crate::tool::ToolDefinition;

const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";
const CALL: &str = "<tool_call>";
const CALLED: &str = "</tool_call>";
/// The mark around code blocks. An example of a call in a code block is no call.
const FENCE: &str = "```";

/// The text of an answer as it arrives.
#[derive(Debug)]
pub(super) struct ChatText {
    tools: Arc<[ToolDefinition]>,
    state: ChatTextState,
    /// Text that may be the beginning of a tag, or that belongs to an unfinished call.
    held: String,
    /// A thought as the text had it, with its tags.
    thought: String,
    /// The whole text so far, as long as an end tag could still turn it into a thought.
    aloud: Option<String>,
    fences: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChatTextState {
    /// There is no text yet.
    Begin,
    Thinking,
    /// Only blanks have followed a thought.
    Thought,
    Plain,
    /// From the first call on, no text is emitted until the answer ends.
    Calling,
}

impl ChatText {
    pub(super) fn new(tools: Arc<[ToolDefinition]>) -> Self {
        let (held, thought) = (String::new(), String::new());
        Self { tools, state: ChatTextState::Begin, held, thought, aloud: Some(String::new()), fences: 0 }
    }

    /// Handles a piece of text. If the service separates thoughts from text, the text contains none.
    pub(super) fn say(&mut self, text: Cow<'_, str>, told_apart: bool, tell: &mut dyn FnMut(Event<'_>)) {
        if told_apart {
            self.aloud = None;
        }
        if self.state == ChatTextState::Plain && self.held.is_empty() && !text.contains(['<', '`']) {
            if let Some(aloud) = &mut self.aloud {
                aloud.push_str(&text);
            }
            return tell(Event::Text(text));
        }
        self.held.push_str(&text);
        loop {
            let before = self.state;
            match self.state {
                ChatTextState::Begin => self.begin(told_apart),
                ChatTextState::Thinking => self.think(tell),
                ChatTextState::Thought => self.end_thought(tell),
                ChatTextState::Plain => self.plain(tell),
                ChatTextState::Calling => return,
            }
            if self.state == before {
                return;
            }
        }
    }

    fn begin(&mut self, told_apart: bool) {
        let said = self.held.trim_start();
        if said.is_empty() || (!told_apart && said.len() < THINK.len() && THINK.starts_with(said)) {
            return;
        }
        if told_apart || !said.starts_with(THINK) {
            self.state = ChatTextState::Plain;
            return;
        }
        let at = self.held.len() - said.len() + THINK.len();
        self.thought = self.held.drain(..at).collect();
        self.aloud = None;
        self.state = ChatTextState::Thinking;
    }

    fn think(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        let (end, is_over) = match self.held.find(THOUGHT) {
            Some(end) => (end, true),
            None => (self.held.len() - begun(&self.held, THOUGHT), false),
        };
        let mut more: String = self.held.drain(..end).collect();
        let is_first = self.thought.trim_start() == THINK;
        self.thought.push_str(&more);
        if is_first {
            more = more.trim_start().to_owned();
        }
        if !more.is_empty() {
            tell(Event::Reasoning(more.into()));
        }
        if is_over {
            self.thought.extend(self.held.drain(..THOUGHT.len()));
            self.state = ChatTextState::Thought;
        }
    }

    fn end_thought(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        let said = self.held.trim_start().len();
        self.thought.extend(self.held.drain(..self.held.len() - said));
        if said > 0 {
            self.close_thought(tell);
            self.state = ChatTextState::Plain;
        }
    }

    fn close_thought(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if !self.thought.is_empty() {
            let data = json!({ CONTENT: std::mem::take(&mut self.thought) });
            tell(match self.aloud.take() {
                Some(_) => Event::ThoughtAloud { data },
                None => Event::ReasoningDone { text: String::new(), data },
            });
        }
    }

    fn plain(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        let calls = if self.tools.is_empty() { None } else { Some(CALL) };
        let thought = self.aloud.is_some().then_some(THOUGHT);
        let tags: Vec<&str> = calls.into_iter().chain(thought).collect();
        let found = tags.iter().filter_map(|tag| Some((self.held.find(tag)?, *tag))).min();
        match found {
            Some((at, tag)) if self.is_fenced(at) || (tag == THOUGHT && !self.ends_thought(at)) => {
                self.flush(at + tag.len(), tell);
                self.plain(tell);
            }
            Some((at, THOUGHT)) => {
                self.flush(at, tell);
                self.thought = self.aloud.clone().unwrap_or_default();
                self.thought.extend(self.held.drain(..THOUGHT.len()));
                self.state = ChatTextState::Thought;
            }
            Some((at, _)) => {
                self.flush(at, tell);
                self.state = ChatTextState::Calling;
            }
            None => {
                // A mark of a code block stays in one piece, so that the reader can count it.
                let ticks = self.held.len() - self.held.trim_end_matches('`').len();
                let held = tags.iter().map(|tag| begun(&self.held, tag)).max().unwrap_or(0);
                self.flush(self.held.len() - held.max(ticks), tell);
            }
        }
    }

    /// Whether a tag in the held text ends a thought. A text that only mentions the tag has an opening tag before it,
    /// or quotes it.
    fn ends_thought(&self, at: usize) -> bool {
        let before = format!("{}{}", self.aloud.as_deref().unwrap_or_default(), &self.held[..at]);
        !before.contains(THINK) && !before.ends_with(['`', '"', '\''])
    }

    /// Whether a position in the held text is inside a code block.
    fn is_fenced(&self, at: usize) -> bool {
        let before = self.held.get(..at).unwrap_or_default().matches(FENCE).count();
        !(self.fences + before).is_multiple_of(2)
    }

    fn flush(&mut self, end: usize, tell: &mut dyn FnMut(Event<'_>)) {
        let text: String = self.held.drain(..end).collect();
        self.fences += text.matches(FENCE).count();
        if let Some(aloud) = &mut self.aloud {
            aloud.push_str(&text);
        }
        if !text.is_empty() {
            tell(Event::Text(text.into()));
        }
    }

    /// Ends the text. The held text becomes text or, if `looks` is true, calls.
    pub(super) fn conclude(&mut self, looks: bool, tell: &mut dyn FnMut(Event<'_>)) -> Vec<Event<'static>> {
        if self.state == ChatTextState::Thinking {
            let rest = std::mem::take(&mut self.held);
            self.thought.push_str(&rest);
            if !rest.is_empty() {
                tell(Event::Reasoning(rest.into()));
            }
        }
        self.close_thought(tell);
        let held = std::mem::take(&mut self.held);
        if self.state != ChatTextState::Calling || !looks {
            if !held.is_empty() {
                tell(Event::Text(held.into()));
            }
            return Vec::new();
        }
        let (mut calls, mut rest) = (Vec::new(), held.as_str());
        let mut said = String::new();
        while let Some(at) = rest.find(CALL) {
            let inner = &rest[at + CALL.len()..];
            let (inner, after) = inner.split_once(CALLED).unwrap_or((inner, ""));
            match self.read(inner) {
                Some(found) => {
                    said.push_str(&rest[..at]);
                    calls.extend(found);
                }
                None => said.push_str(&rest[..rest.len() - after.len()]),
            }
            rest = after;
        }
        said.push_str(rest);
        if !said.trim().is_empty() {
            tell(Event::Text(said.into()));
        }
        calls
    }

    /// The calls that a text spells out. Returns none if the text is anything else.
    fn read(&self, text: &str) -> Option<Vec<Event<'static>>> {
        let text = text.trim();
        let calls = match text.starts_with("<function=") {
            true => text.split("<function=").skip(1).map(|call| self.spelled(call)).collect(),
            false => serde_json::Deserializer::from_str(text)
                .into_iter::<Value>()
                .map(|call| self.json(call.ok()?))
                .collect::<Option<Vec<_>>>(),
        };
        calls.filter(|calls| !calls.is_empty())
    }

    fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Reads `{"name": .., "arguments": {..}}`.
    fn json(&self, call: Value) -> Option<Event<'static>> {
        let name = self.tool(call["name"].as_str()?)?.name.clone();
        let arguments = match call.get("arguments").or(call.get("parameters")) {
            Some(Value::String(text)) => text.clone(),
            Some(arguments) => arguments.to_string(),
            None => String::new(),
        };
        Some(Event::Call { id: None, name, arguments })
    }

    /// Reads `NAME><parameter=KEY>VALUE</parameter></function>`. Parameters that are no strings are read as JSON.
    fn spelled(&self, call: &str) -> Option<Event<'static>> {
        let (name, rest) = call.split_once('>')?;
        let tool = self.tool(name.trim())?;
        let mut arguments = Map::new();
        for parameter in rest.split("<parameter=").skip(1) {
            let (key, value) = parameter.split_once('>')?;
            let value = value.split_once("</parameter>").map_or(value, |(value, _)| value);
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            let is_text = tool.parameters["properties"][key]["type"] == "string";
            let read = (!is_text).then(|| serde_json::from_str(value.trim()).ok()).flatten();
            arguments.insert(key.to_owned(), read.unwrap_or_else(|| value.into()));
        }
        let arguments = Value::Object(arguments).to_string();
        Some(Event::Call { id: None, name: tool.name.clone(), arguments })
    }
}

/// How many bytes at the end of a text may be the beginning of a tag.
fn begun(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}
