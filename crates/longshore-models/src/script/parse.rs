//! Parses a script: the file, the list, and each step.

use std::path::Path;

use axum::http::StatusCode;
use serde_json::Value;

use super::demand::Demand;
use super::error::{ScriptError, ScriptFault};
use super::fields::{Fields, shape, wrong};
use super::parse_action::action;
use super::step::{Action, Repeat, Script, ScriptRefusal, ScriptStep, ScriptUsage, StepAnswer, When};

impl Script {
    /// Loads a script file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Script::parse(&text)
    }

    /// Parses a script from JSON text.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Script::from_value(serde_json::from_str(text)?)
    }

    /// Parses a script from JSON: a list of steps, or an object with `steps` and settings.
    pub fn from_value(value: Value) -> Result<Self, ScriptError> {
        let (list, settings) = match value {
            Value::Array(list) => (list, Script::default()),
            other => settings(other).map_err(ScriptError::Script)?,
        };
        let steps = (1..).zip(list).map(|(number, source)| step(number, source)).collect::<Result<_, _>>()?;
        Ok(Script { steps, ..settings })
    }
}

/// The unparsed steps of a script, and a script with its settings but without steps.
fn settings(value: Value) -> Result<(Vec<Value>, Script), ScriptFault> {
    if !value.is_object() {
        let wanted = "a list of steps, or an object with \"steps\"";
        return Err(shape("it", wanted, &value));
    }
    let mut fields = Fields::of("it", value)?;
    let list = match fields.value("steps") {
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong("steps", "a list of steps", &other)),
        None => return Err(ScriptFault::Missing { key: "steps" }),
    };
    let models = fields.texts("models")?;
    let insists = fields.texts("insist")?.iter().map(|word| demand(word)).collect::<Result<_, _>>()?;
    fields.done()?;
    Ok((list, Script { steps: Vec::new(), models, insists }))
}

fn demand(word: &str) -> Result<Demand, ScriptFault> {
    let known = Demand::ALL.into_iter().find(|(known, _)| *known == word);
    let wanted = "\"thoughts\", \"signatures\", \"turns\", \"template\" or \"order\"";
    known.map(|(_, demand)| demand).ok_or_else(|| wrong("insist", wanted, &Value::from(word)))
}

fn step(number: usize, source: Value) -> Result<ScriptStep, ScriptError> {
    let at_step = |fault| ScriptError::Step { step: number, fault };
    let mut fields = Fields::of("a step", source.clone()).map_err(at_step)?;
    let note = fields.text("note").map_err(at_step)?;
    let when = when(&mut fields).map_err(at_step)?;
    let repeat = repeat(&mut fields).map_err(at_step)?;
    let play = match (fields.has("do"), fields.has("http")) {
        (true, false) => stream(number, &mut fields)?,
        (false, true) => StepAnswer::Http(refusal(&mut fields).map_err(at_step)?),
        (true, true) => {
            return Err(at_step(ScriptFault::Clash { first: "do", second: "http" }));
        }
        (false, false) => {
            let known = "do, http".to_owned();
            return Err(at_step(ScriptFault::NoKind { known }));
        }
    };
    fields.done().map_err(at_step)?;
    Ok(ScriptStep { note, when, repeat, play, source })
}

fn when(fields: &mut Fields) -> Result<Option<When>, ScriptFault> {
    let Some(value) = fields.value("when") else {
        return Ok(None);
    };
    let mut condition = Fields::of("\"when\"", value)?;
    let contains = condition.text("contains")?;
    let result = condition.text("result")?;
    let tools = condition.yes_or_no("tools")?;
    condition.done()?;
    if contains.is_none() && result.is_none() && tools.is_none() {
        return Err(ScriptFault::Missing { key: "contains" });
    }
    Ok(Some(When { contains, result, tools }))
}

fn repeat(fields: &mut Fields) -> Result<Repeat, ScriptFault> {
    const WANTED: &str = "a number from 1 or \"forever\"";
    match fields.value("repeat") {
        None => Ok(Repeat::Times(1)),
        Some(Value::String(word)) if word == "forever" => Ok(Repeat::Forever),
        Some(other) => match other.as_u64().and_then(|times| u32::try_from(times).ok()) {
            Some(times) if times > 0 => Ok(Repeat::Times(times)),
            _ => Err(wrong("repeat", WANTED, &other)),
        },
    }
}

fn refusal(fields: &mut Fields) -> Result<ScriptRefusal, ScriptFault> {
    let wanted = "a status code from 200 to 599";
    let code = fields.number("http", wanted, 200..=599)?;
    let status = code
        .and_then(|code| u16::try_from(code).ok())
        .and_then(|code| StatusCode::from_u16(code).ok())
        .ok_or(ScriptFault::Missing { key: "http" })?;
    Ok(ScriptRefusal { status, headers: fields.headers("headers")?, body: fields.value("body") })
}

fn stream(number: usize, fields: &mut Fields) -> Result<StepAnswer, ScriptError> {
    let at_step = |fault| ScriptError::Step { step: number, fault };
    let list = match fields.value("do") {
        Some(Value::Array(list)) => list,
        other => {
            let found = other.unwrap_or(Value::Null);
            return Err(at_step(wrong("do", "a list of actions", &found)));
        }
    };
    let mut actions: Vec<Action> = Vec::with_capacity(list.len());
    for (place, value) in (1..).zip(list) {
        let read = if actions.last().is_some_and(Action::is_last) {
            Err(ScriptFault::AfterTheEnd)
        } else {
            action(value)
        };
        actions.push(read.map_err(|fault| ScriptError::Action { step: number, action: place, fault })?);
    }
    Ok(StepAnswer::Stream {
        actions,
        usage: usage(fields).map_err(at_step)?,
        headers: fields.headers("headers").map_err(at_step)?,
    })
}

fn usage(fields: &mut Fields) -> Result<ScriptUsage, ScriptFault> {
    let Some(value) = fields.value("usage") else {
        return Ok(ScriptUsage::default());
    };
    let mut tokens = Fields::of("\"usage\"", value)?;
    let mut count = |key| {
        let number = tokens.number(key, "a number of tokens", 0..=u64::from(u32::MAX))?;
        Ok::<u64, ScriptFault>(number.unwrap_or(0))
    };
    let usage = ScriptUsage {
        input: count("input")?,
        cached: count("cached")?,
        output: count("output")?,
        reasoning: count("reasoning")?,
    };
    tokens.done()?;
    Ok(usage)
}
