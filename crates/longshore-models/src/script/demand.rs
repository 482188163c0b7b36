//! The rules of strict services: a script can make the server refuse requests that break them.

use axum::http::StatusCode;
use serde_json::Value;

use super::api::Api;

/// A requirement for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Answers with calls must contain their thoughts, as DeepSeek requires it.
    Thoughts,
    /// Calls must contain their signatures, as Gemini requires it.
    Signatures,
    /// Roles must alternate, as the templates of Mistral and Gemma require it.
    Turns,
    /// The same, but the server reports the template's error as its own fault, as older versions of llama.cpp do.
    Template,
    /// No user message may follow results directly, as Mistral's own service requires it.
    Order,
}

impl Demand {
    /// All requirements, with their words in a script.
    pub(super) const ALL: [(&str, Demand); 5] = [
        ("thoughts", Demand::Thoughts),
        ("signatures", Demand::Signatures),
        ("turns", Demand::Turns),
        ("template", Demand::Template),
        ("order", Demand::Order),
    ];

    /// The status of a refusal.
    pub fn status(self) -> StatusCode {
        match self {
            Demand::Thoughts | Demand::Signatures | Demand::Turns | Demand::Order => StatusCode::BAD_REQUEST,
            Demand::Template => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The reason of a refusal, in the words of a real service. None if the request meets the requirement.
    pub fn refuses(self, api: Api, request: &Value) -> Option<&'static str> {
        let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
        match (self, api) {
            (Demand::Thoughts, Api::Chat) => {
                let lacks = |message: &Value| {
                    !list(&message["tool_calls"]).is_empty() && !message["reasoning_content"].is_string()
                };
                list(&request["messages"])
                    .iter()
                    .any(lacks)
                    .then_some("The `reasoning_content` in the thinking mode must be passed back to the API.")
            }
            (Demand::Thoughts, Api::Messages) => {
                let lacks = |message: &Value| {
                    let blocks = list(&message["content"]);
                    let first = blocks.first().map(|block| block["type"].clone()).unwrap_or_default();
                    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
                    calls && first != "thinking" && first != "redacted_thinking"
                };
                list(&request["messages"])
                    .iter()
                    .any(lacks)
                    .then_some("Expected `thinking` or `redacted_thinking`, but found `tool_use`.")
            }
            (Demand::Thoughts, Api::Responses) => {
                let items = list(&request["input"]);
                let mut pairs = items.windows(2);
                let lacks = |pair: &[Value]| pair[1]["type"] == "function_call" && pair[0]["role"] == "user";
                pairs
                    .any(lacks)
                    .then_some("a function_call was provided without its required reasoning item.")
            }
            (Demand::Signatures, Api::Chat) => {
                let signs = |call: &Value| call["extra_content"]["google"]["thought_signature"].is_string();
                let lacks =
                    |message: &Value| list(&message["tool_calls"]).first().is_some_and(|call| !signs(call));
                list(&request["messages"]).iter().any(lacks).then_some(NO_SIGNATURE)
            }
            (Demand::Signatures, Api::Gemini) => {
                let is_call = |part: &&Value| part.get("functionCall").is_some();
                let lacks = |content: &Value| {
                    let parts = list(&content["parts"]);
                    parts.iter().find(is_call).is_some_and(|part| !part["thoughtSignature"].is_string())
                };
                list(&request["contents"]).iter().any(lacks).then_some(NO_SIGNATURE)
            }
            (Demand::Turns | Demand::Template, Api::Chat | Api::Responses | Api::Messages) => {
                let said = speakers(api, request);
                let is_aside = |(at, who): (usize, &Speaker)| at > 0 && *who == Speaker::System;
                let turns: Vec<&Speaker> =
                    said.iter().filter(|who| matches!(who, Speaker::User | Speaker::Model)).collect();
                let double = turns.windows(2).any(|pair| pair[0] == pair[1]);
                let begins = turns.first().is_none_or(|who| **who == Speaker::User);
                (double || !begins || said.iter().enumerate().any(is_aside))
                    .then_some("Conversation roles must alternate user/assistant/user/assistant/...")
            }
            (Demand::Order, Api::Chat | Api::Responses | Api::Messages) => {
                let said = speakers(api, request);
                let speaks = |pair: &[Speaker]| pair == [Speaker::Tool, Speaker::User];
                said.windows(2).any(speaks).then_some("Unexpected role 'user' after role 'tool'")
            }
            (Demand::Thoughts, Api::Gemini)
            | (Demand::Signatures, Api::Responses | Api::Messages)
            | (Demand::Turns | Demand::Template | Demand::Order, Api::Gemini) => None,
        }
    }
}

/// The author of a message, as a template sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    System,
    User,
    Model,
    /// The model, in a message with tool calls.
    Caller,
    Tool,
}

/// The authors of the messages in order. Of an answer, only text and calls count.
fn speakers(api: Api, request: &Value) -> Vec<Speaker> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let has = |blocks: &[Value], kind: &str| blocks.iter().any(|block| block["type"] == kind);
    let said = list(if api == Api::Responses { &request["input"] } else { &request["messages"] });
    let mut speakers = Vec::new();
    for message in said {
        let blocks = list(&message["content"]);
        let calls = !list(&message["tool_calls"]).is_empty() || has(&blocks, "tool_use");
        match (message["role"].as_str(), message["type"].as_str()) {
            (Some("assistant"), _) if calls => speakers.push(Speaker::Caller),
            (Some("assistant"), _) => speakers.push(Speaker::Model),
            (Some("tool"), _) | (None, Some("function_call_output")) => speakers.push(Speaker::Tool),
            (None, Some("function_call")) => speakers.push(Speaker::Caller),
            (Some("user"), _) => {
                let results = has(&blocks, "tool_result");
                speakers.extend(results.then_some(Speaker::Tool));
                let speaks = !results || blocks.iter().any(|block| block["type"] != "tool_result");
                speakers.extend(speaks.then_some(Speaker::User));
            }
            (Some(_), _) => speakers.push(Speaker::System),
            (None, _) => {}
        }
    }
    speakers
}

const NO_SIGNATURE: &str = "Function call is missing a thought_signature in functionCall parts.";
