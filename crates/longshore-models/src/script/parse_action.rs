//! Parses one action of a step: the key that names it, and its other keys.

use std::time::Duration;

use serde_json::Value;

use super::chunks::{Chunks, Cutting};
use super::error::ScriptFault;
use super::fields::{Fields, shape, wrong};
use super::step::{Action, CustomCall, FunctionCall, Reason, Say};

/// Parses the action of a key.
type Read = fn(&mut Fields) -> Result<Action, ScriptFault>;

/// Every kind of action: its key, and its parser.
const KINDS: [(&str, Read); 12] = [
    ("say", say),
    ("reason", reason),
    ("call", call),
    ("custom", custom),
    ("item", |fields| Ok(Action::Item(object(fields, "item")?))),
    ("event", |fields| Ok(Action::Event(object(fields, "event")?))),
    ("sleep_ms", sleep),
    ("cut", |fields| fields.flag("cut").map(|()| Action::Cut)),
    ("end", |fields| fields.flag("end").map(|()| Action::End)),
    ("hang", |fields| fields.flag("hang").map(|()| Action::Hang)),
    ("fail", fail),
    ("incomplete", |fields| fields.need_text("incomplete").map(Action::Incomplete)),
];

/// Parses one action.
pub(super) fn action(value: Value) -> Result<Action, ScriptFault> {
    let mut fields = Fields::of("an action", value)?;
    let mut named = KINDS.iter().filter(|(key, _)| fields.has(key));
    let Some((first, read)) = named.next() else {
        let known: Vec<&str> = KINDS.iter().map(|(key, _)| *key).collect();
        let known = known.join(", ");
        return Err(ScriptFault::NoKind { known });
    };
    if let Some((second, _)) = named.next() {
        return Err(ScriptFault::Clash { first, second });
    }
    let action = read(&mut fields)?;
    fields.done()?;
    Ok(action)
}

fn say(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let (cutting, delay) = pace(fields, Cutting::Words)?;
    let text = match fields.value("say") {
        Some(Value::String(text)) => Chunks::cut(&text, cutting, delay),
        Some(Value::Array(pieces)) => Chunks::exact(exact_pieces("say", pieces)?, delay),
        other => {
            let found = other.unwrap_or(Value::Null);
            return Err(wrong("say", "a text or a list of pieces", &found));
        }
    };
    let unfinished = fields.yes_or_no("unfinished")?.unwrap_or(false);
    Ok(Action::Say(Say { text, id: fields.text("id")?, phase: fields.text("phase")?, unfinished }))
}

fn reason(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let (cutting, delay) = pace(fields, Cutting::Words)?;
    let summary = fields.texts("reason")?;
    let raw = fields.text("raw")?;
    Ok(Action::Reason(Reason {
        summary: summary.iter().map(|part| Chunks::cut(part, cutting, delay)).collect(),
        raw: raw.map(|text| Chunks::cut(&text, cutting, delay)),
        id: fields.text("id")?,
    }))
}

fn call(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let (cutting, delay) = pace(fields, Cutting::Count(1))?;
    let arguments = match fields.value("args") {
        None => "{}".to_owned(),
        // A text is sent unchanged, so a script can send arguments that are no JSON.
        Some(Value::String(text)) => text,
        Some(object @ Value::Object(_)) => object.to_string(),
        Some(other) => return Err(wrong("args", "an object or a text", &other)),
    };
    let mut names = fields.texts("call")?.into_iter();
    let name = names.next().ok_or(ScriptFault::Missing { key: "call" })?;
    Ok(Action::Call(FunctionCall {
        name,
        otherwise: names.collect(),
        namespace: fields.text("namespace")?,
        arguments: Chunks::cut(&arguments, cutting, delay),
        id: fields.text("id")?,
        unfinished: fields.yes_or_no("unfinished")?.unwrap_or(false),
        signature: fields.text("signature")?,
    }))
}

fn custom(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let (cutting, delay) = pace(fields, Cutting::Count(1))?;
    Ok(Action::Custom(CustomCall {
        name: fields.need_text("custom")?,
        input: Chunks::cut(&fields.need_text("input")?, cutting, delay),
        id: fields.text("id")?,
    }))
}

fn sleep(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let wait = fields.wait("sleep_ms")?;
    wait.map(Action::Sleep).ok_or(ScriptFault::Missing { key: "sleep_ms" })
}

fn fail(fields: &mut Fields) -> Result<Action, ScriptFault> {
    let mut error = Fields::of("\"fail\"", fields.value("fail").unwrap_or(Value::Null))?;
    let action = Action::Fail { code: error.need_text("code")?, message: error.need_text("message")? };
    error.done()?;
    Ok(action)
}

fn object(fields: &mut Fields, key: &'static str) -> Result<Value, ScriptFault> {
    match fields.value(key) {
        Some(object @ Value::Object(_)) => Ok(object),
        other => Err(wrong(key, "an object", &other.unwrap_or(Value::Null))),
    }
}

/// The keys of every streamed text: how to cut it, and how fast to send it.
fn pace(fields: &mut Fields, otherwise: Cutting) -> Result<(Cutting, Duration), ScriptFault> {
    const WANTED: &str = "a number from 1, \"words\" or \"lines\"";
    let cutting = match fields.value("chunks") {
        None => otherwise,
        Some(Value::String(word)) if word == "words" => Cutting::Words,
        Some(Value::String(word)) if word == "lines" => Cutting::Lines,
        Some(other) => match other.as_u64().and_then(|count| usize::try_from(count).ok()) {
            Some(count) if count > 0 => Cutting::Count(count),
            _ => return Err(wrong("chunks", WANTED, &other)),
        },
    };
    Ok((cutting, fields.wait("delay_ms")?.unwrap_or_default()))
}

fn exact_pieces(key: &str, pieces: Vec<Value>) -> Result<Vec<String>, ScriptFault> {
    pieces
        .into_iter()
        .map(|piece| match piece {
            Value::String(text) => Ok(text),
            other => Err(shape(&format!("a piece of {key:?}"), "a text", &other)),
        })
        .collect()
}
