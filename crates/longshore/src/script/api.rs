//! The model APIs that the server speaks: for each, how to read a request and how to render a step.

use serde_json::Value;

use super::frame::{Answer, Exchange};
use super::responses;
use super::step::{Play, Step};

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Responses.
    Responses,
}

impl Api {
    /// The text of the last message of the user, by which steps are chosen.
    pub fn last_user_text(self, request: &Value) -> String {
        match self {
            Api::Responses => responses::last_user_text(request),
        }
    }

    /// The answer that a step gives in this API.
    pub fn render(self, step: &Step, exchange: &Exchange) -> Answer {
        match &step.play {
            Play::Stream { actions, usage, headers } => Answer::Stream {
                headers: headers.clone(),
                frames: match self {
                    Api::Responses => responses::frames(actions, usage, exchange),
                },
            },
            Play::Http(refusal) => Answer::Plain {
                status: refusal.status,
                headers: refusal.headers.clone(),
                body: match (&refusal.body, self) {
                    (Some(body), _) => body.clone(),
                    (None, Api::Responses) => responses::error_body("server_error", "scripted failure"),
                },
            },
        }
    }
}
