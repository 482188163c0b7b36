//! The story: the sessions of the demo, their texts, and when each has reached its state.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use longshore_model::capability::Mode;
use longshore_model::event::Body;
use serde::Deserialize;
use serde_json::{Value, json};

use longshore_models::script::Script;

const STORY: &str = include_str!("story.json");

/// All of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// How the built-in agent is set, besides where its model is.
    pub agent: BTreeMap<String, Value>,
    /// The session that is shown.
    pub shown: StorySession,
    /// Those beside it.
    pub beside: Vec<StorySession>,
    /// What the model does: a script.
    script: Value,
}

/// One session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorySession {
    /// What it is called by whoever wants to find it.
    pub name: String,
    /// Where it works.
    pub project: String,
    /// What it may do without asking.
    pub mode: Mode,
    /// What is said to it.
    pub prompt: String,
    /// When it is where it should be.
    pub until: Stands,
}

/// When a session is where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// Its turn has ended.
    Ended,
    /// It waits for an approval.
    Asks,
    /// It waits for an answer.
    Elicits,
    /// A command of it has printed something, and goes on.
    Runs,
}

impl Stands {
    /// Whether this is the event that brings a session there.
    pub fn is_reached_by(self, body: &Body) -> bool {
        match self {
            Stands::Ended => matches!(body, Body::TurnFinished(_)),
            Stands::Asks => matches!(body, Body::ApprovalRequested(_)),
            Stands::Elicits => matches!(body, Body::QuestionAsked(_)),
            Stands::Runs => matches!(body, Body::ToolOutputDelta),
        }
    }
}

impl Story {
    /// Reads the one that is part of the program.
    pub fn read() -> Result<Self> {
        serde_json::from_str(STORY).context("the story of the demo cannot be read")
    }

    /// What the model does, so many times as fast as a model would.
    pub fn script(&self, speed: f64) -> Result<Script> {
        let mut script = self.script.clone();
        hurry(&mut script, speed);
        Script::from_value(script).context("the story of the demo cannot be played")
    }
}

/// Divides every pause of a script.
fn hurry(value: &mut Value, speed: f64) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value.as_f64()) {
                    ("delay_ms" | "sleep_ms", Some(millis)) => {
                        *value = json!((millis / speed).round() as u64)
                    }
                    _ => hurry(value, speed),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hurry(value, speed)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_story_can_be_played_at_any_speed() {
        let story = Story::read().unwrap();
        let steps = story.script(1.0).unwrap().steps.len();
        assert!(steps > 10);
        assert_eq!(story.script(1000.0).unwrap().steps.len(), steps);
        for part in story.beside.iter().chain([&story.shown]) {
            let for_it = story.script["steps"].as_array().unwrap().iter();
            let word = |step: &&Value| step["when"]["contains"].as_str().unwrap_or("-").to_owned();
            assert!(for_it.map(|step| word(&step)).any(|word| part.prompt.contains(&word)), "{}", part.name);
        }
    }

    #[test]
    fn pauses_shrink_and_nothing_else_does() {
        let mut script = json!([{ "do": [{ "say": "a", "delay_ms": 40 }, { "sleep_ms": 1000 }], "usage": { "input": 100 } }]);
        hurry(&mut script, 10.0);
        let expected = json!([{ "do": [{ "say": "a", "delay_ms": 4 }, { "sleep_ms": 100 }], "usage": { "input": 100 } }]);
        assert_eq!(script, expected);
    }
}
