//! Reads the stream of an answer.
//!
//! The reader accepts these variants: everything in one chunk; `finish_reason: stop` with calls; no `[DONE]`; usage in
//! the last chunk, in its own chunk, or missing; the old `function_call`; an error in any shape.

use std::sync::Arc;

use longshore_model::usage::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::calls::{CallDelta, ChatCalls, FunctionDelta};
use super::chat_text::ChatText;
use super::thought::Thought;
use crate::api::failure::{Failure, FailureKind, is_error};
use crate::api::text::Text;
use crate::api::{Event, Finish, InputDetails, OutputDetails, parse};
use crate::tool::ToolDefinition;

/// A chunk. Its texts borrow from the input.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<ChatUsage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<ChatDelta<'a>>,
    /// The whole message, from services that do not stream.
    #[serde(borrow, default)]
    message: Option<ChatDelta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    /// The error of the provider that OpenRouter asked.
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Default, Deserialize)]
struct ChatDelta<'a> {
    #[serde(borrow, default)]
    content: Option<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Text<'a>>,
    /// The same text under another name; some services send both.
    #[serde(borrow, default)]
    reasoning: Option<Text<'a>>,
    /// Details of the thoughts, which OpenRouter needs back.
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    /// The data that Gemini needs back.
    #[serde(default)]
    extra_content: Option<Value>,
    #[serde(borrow, default)]
    refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The only call of an answer, in older versions of the API.
    #[serde(borrow, default)]
    function_call: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct ChatUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(default)]
    completion_tokens_details: Option<OutputDetails>,
}

impl ChatUsage {
    fn usage(self) -> Usage {
        Usage {
            input: self.prompt_tokens,
            cached_input: self.prompt_tokens_details.and_then(|details| details.cached_tokens),
            output: self.completion_tokens,
            reasoning: self.completion_tokens_details.and_then(|details| details.reasoning_tokens),
            context_window: None,
            context_used: None,
        }
    }
}

/// Reads one answer.
#[derive(Debug)]
pub(in super::super) struct ChatReader {
    calls: ChatCalls,
    thought: Thought,
    words: ChatText,
    finish: Option<Finish>,
}

impl ChatReader {
    pub(in super::super) fn new(tools: Arc<[ToolDefinition]>) -> Self {
        let (calls, words) = (ChatCalls::new(Arc::clone(&tools)), ChatText::new(tools));
        Self { calls, thought: Thought::default(), words, finish: None }
    }

    pub(in super::super) fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        if data.trim_ascii() == b"[DONE]" {
            return self.finish(tell);
        }
        let chunk: Chunk<'_> = match parse(data) {
            Ok(chunk) => chunk,
            Err(failure) => return tell(Event::Failed(failure)),
        };
        if chunk.error.is_some_and(|error| !error.is_null()) {
            return tell(Event::Failed(Failure::of_event(data)));
        }
        if chunk.choices.is_none() && chunk.usage.is_none() {
            let said: Value = serde_json::from_slice(data).unwrap_or_default();
            if is_error(&said) {
                return tell(Event::Failed(Failure::in_stream(&said, FailureKind::Unavailable)));
            }
        }
        for choice in chunk.choices.into_iter().flatten() {
            let error = choice.error.filter(|error| !error.is_null());
            self.grow(choice.delta.or(choice.message).unwrap_or_default(), tell);
            if let Some(error) = error {
                return tell(Event::Failed(Failure::in_stream(&error, FailureKind::Unavailable)));
            }
            let Some(Text(reason)) = choice.finish_reason.filter(|reason| !reason.0.is_empty()) else {
                continue;
            };
            self.finish = Some(match &*reason {
                "length" => Finish::Length,
                "model_context_window_exceeded" => Finish::Full,
                "content_filter" => Finish::Filtered,
                "error" | "insufficient_system_resource" => {
                    let why = format!("the model's service broke off its answer: {reason}");
                    return tell(Event::Failed(Failure::new(FailureKind::Unavailable, why)));
                }
                _ => Finish::Done,
            });
            self.conclude(tell);
        }
        if let Some(used) = chunk.usage {
            tell(Event::Usage(used.usage()));
        }
    }

    /// The end of the stream. The answer is complete if the service has reported why it ended.
    pub(in super::super) fn end(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        if self.finish.is_some() {
            self.finish(tell);
        }
    }

    fn finish(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        self.conclude(tell);
        tell(Event::Ended(self.finish.unwrap_or(Finish::Done)));
    }

    fn grow(&mut self, delta: ChatDelta<'_>, tell: &mut dyn FnMut(Event<'_>)) {
        let ChatDelta {
            content,
            reasoning_content,
            reasoning,
            reasoning_details,
            extra_content,
            refusal,
            tool_calls,
            function_call,
        } = delta;
        self.thought.keep(reasoning_details, extra_content);
        self.thought.think(reasoning_content, reasoning, tell);
        for Text(text) in content.into_iter().chain(refusal).filter(|text| !text.0.is_empty()) {
            self.thought.close(tell);
            self.words.say(text, self.thought.is_told_apart(), tell);
        }
        for call in tool_calls.into_iter().flatten() {
            self.calls.grow(call);
        }
        if let Some(function) = function_call {
            self.calls.grow(CallDelta::of_old(function));
        }
    }

    /// Emits the complete calls at the end of the answer.
    fn conclude(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        let calls = self.calls.take();
        let spelled = self.words.conclude(calls.is_empty(), tell);
        let extras: Vec<Option<&Value>> = calls.iter().map(|call| call.extra.as_ref()).collect();
        self.thought.close_before_calls(&extras, tell);
        for call in calls {
            call.tell(tell);
        }
        spelled.into_iter().for_each(tell);
    }
}
