//! The model APIs that the server speaks: for each, how to read a request and how to render a step.

use axum::http::StatusCode;
use serde_json::Value;

use super::frame::{Delivery, Exchange, ScriptAnswer, ScriptFrame};
use super::request::last_results;
use super::step::{Action, ScriptStep, ScriptUsage, StepAnswer};
use super::{chat, gemini, messages, responses};

/// The message of a refusal without a body of its own.
const SCRIPTED_FAILURE: &str = "scripted failure";

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Messages,
    /// Gemini generateContent.
    Gemini,
}

/// An answer in one API, in both forms that a client may request.
pub(super) struct ApiAnswer {
    /// The answer as a stream.
    pub(super) frames: Vec<ScriptFrame>,
    /// The status of the answer as one body.
    pub(super) status: StatusCode,
    /// The answer as one body.
    pub(super) whole: Value,
}

impl Api {
    /// The text of the last user message, which chooses the step.
    pub fn last_user_text(self, request: &Value) -> String {
        match self {
            Api::Responses => responses::last_user_text(request),
            Api::Chat => chat::last_user_text(request),
            Api::Messages => messages::last_user_text(request),
            Api::Gemini => gemini::last_user_text(request),
        }
    }

    /// The results of tools since the model's last message, which also choose the step.
    pub fn last_results(self, request: &Value) -> String {
        last_results(match self {
            Api::Responses => &request["input"],
            Api::Chat | Api::Messages => &request["messages"],
            Api::Gemini => &request["contents"],
        })
    }

    /// Whether the request lets the model call tools. An agent's own requests (for a title, a summary) offer none.
    pub fn offers_tools(self, request: &Value) -> bool {
        let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        match self {
            Api::Responses | Api::Chat | Api::Messages => !tools.is_empty(),
            Api::Gemini => tools.iter().any(|tool| tool.get("functionDeclarations").is_some()),
        }
    }

    /// The answer of a step in this API.
    pub fn render(self, step: &ScriptStep, exchange: &Exchange) -> ScriptAnswer {
        match &step.play {
            StepAnswer::Stream { actions, usage, headers } => {
                let rendered = self.rendered(actions, usage, exchange);
                match exchange.delivery {
                    Delivery::Stream { .. } => {
                        ScriptAnswer::Stream { headers: headers.clone(), frames: rendered.frames }
                    }
                    Delivery::Whole => ScriptAnswer::Plain {
                        status: rendered.status,
                        headers: headers.clone(),
                        before: rendered.frames.into_iter().filter(|frame| !frame.is_event()).collect(),
                        body: rendered.whole,
                    },
                }
            }
            StepAnswer::Http(refusal) => ScriptAnswer::Plain {
                status: refusal.status,
                headers: refusal.headers.clone(),
                before: Vec::new(),
                body: match &refusal.body {
                    Some(body) => body.clone(),
                    None => self.error_body(refusal.status, SCRIPTED_FAILURE),
                },
            },
        }
    }

    /// The error for a status, in the form of this API.
    pub fn error_body(self, status: StatusCode, message: &str) -> Value {
        match self {
            Api::Responses | Api::Chat => responses::error_body(status, message),
            Api::Messages => messages::error_body(status, message),
            Api::Gemini => gemini::error_body(status, message),
        }
    }

    /// The form of the answer that a request asks for. Requests of Gemini have it in the path instead.
    pub(super) fn delivery(self, request: &Value) -> Delivery {
        match (self, request["stream"] == true) {
            (Api::Responses | Api::Chat | Api::Messages, false) => Delivery::Whole,
            (Api::Chat, true) => {
                Delivery::Stream { usage: request["stream_options"]["include_usage"] == true }
            }
            (Api::Responses | Api::Messages, true) | (Api::Gemini, _) => Delivery::Stream { usage: true },
        }
    }

    fn rendered(self, actions: &[Action], usage: &ScriptUsage, exchange: &Exchange) -> ApiAnswer {
        match self {
            Api::Responses => responses::render(actions, usage, exchange),
            Api::Chat => chat::render(actions, usage, exchange),
            Api::Messages => messages::render(actions, usage, exchange),
            Api::Gemini => gemini::render(actions, usage, exchange),
        }
    }
}
