//! What a service insists on and refuses requests without: a script can be as strict as the strictest of them.

use serde_json::Value;

use super::api::Api;

/// Something that a request must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Answers with calls come back with their thoughts, as DeepSeek wants it.
    Thoughts,
    /// Calls come back with their signatures, as Gemini wants it.
    Signatures,
    /// Speakers take turns, as the templates of Mistral and Gemma want it.
    Turns,
}

impl Demand {
    /// All of them, by the word that a script has for them.
    pub(super) const ALL: [(&str, Demand); 3] =
        [("thoughts", Demand::Thoughts), ("signatures", Demand::Signatures), ("turns", Demand::Turns)];

    /// Why a request is refused, in the words of a service that does.
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
            (Demand::Turns, Api::Chat) => {
                let said = list(&request["messages"]);
                let is_aside = |(at, message): (usize, &Value)| at > 0 && message["role"] == "system";
                let roles = said.iter().filter(|message| {
                    message["role"] == "user"
                        || (message["role"] == "assistant" && list(&message["tool_calls"]).is_empty())
                });
                let roles: Vec<&Value> = roles.map(|message| &message["role"]).collect();
                let double = roles.windows(2).any(|pair| pair[0] == pair[1]);
                let begins = roles.first().is_none_or(|role| **role == "user");
                (double || !begins || said.iter().enumerate().any(is_aside))
                    .then_some("Conversation roles must alternate user/assistant/user/assistant/...")
            }
            (Demand::Thoughts, Api::Gemini)
            | (Demand::Signatures, Api::Responses | Api::Messages)
            | (Demand::Turns, Api::Responses | Api::Messages | Api::Gemini) => None,
        }
    }
}

const NO_SIGNATURE: &str = "Function call is missing a thought_signature in functionCall parts.";
