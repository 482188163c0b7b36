//! Reads a JSON object key by key, and rejects unknown keys.

use std::time::Duration;

use axum::http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::error::ScriptFault;

/// The longest wait of a script: an hour. A longer wait is probably a mistake.
const LONGEST_WAIT_MS: u64 = 3_600_000;

/// The fields of an object while the parser reads them.
pub(super) struct Fields {
    left: Map<String, Value>,
    asked: Vec<&'static str>,
}

impl Fields {
    pub(super) fn of(what: &str, value: Value) -> Result<Self, ScriptFault> {
        match value {
            Value::Object(left) => Ok(Fields { left, asked: Vec::new() }),
            other => Err(shape(what, "an object", &other)),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.left.contains_key(key)
    }

    /// Takes the value of a key. `null` counts as absent.
    pub(super) fn value(&mut self, key: &'static str) -> Option<Value> {
        self.asked.push(key);
        self.left.remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, ScriptFault> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(other) => Err(wrong(key, "a text that is not empty", &other)),
        }
    }

    pub(super) fn need_text(&mut self, key: &'static str) -> Result<String, ScriptFault> {
        self.text(key)?.ok_or(ScriptFault::Missing { key })
    }

    /// A list of texts, or one text as a list of one.
    pub(super) fn texts(&mut self, key: &'static str) -> Result<Vec<String>, ScriptFault> {
        const WANTED: &str = "a text or a list of texts";
        match self.value(key) {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(list)) => list
                .into_iter()
                .map(|entry| match entry {
                    Value::String(text) => Ok(text),
                    other => Err(wrong(key, WANTED, &other)),
                })
                .collect(),
            Some(other) => Err(wrong(key, WANTED, &other)),
        }
    }

    pub(super) fn number(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ScriptFault> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if range.contains(&number) => Ok(Some(number)),
                _ => Err(wrong(key, wanted, &value)),
            },
        }
    }

    pub(super) fn wait(&mut self, key: &'static str) -> Result<Option<Duration>, ScriptFault> {
        let wanted = "milliseconds from 0 to 3600000";
        let millis = self.number(key, wanted, 0..=LONGEST_WAIT_MS)?;
        Ok(millis.map(Duration::from_millis))
    }

    pub(super) fn yes_or_no(&mut self, key: &'static str) -> Result<Option<bool>, ScriptFault> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(answer)) => Ok(Some(answer)),
            Some(found) => Err(wrong(key, "true or false", &found)),
        }
    }

    /// A key that may only have the value `true`.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<(), ScriptFault> {
        match self.value(key) {
            Some(Value::Bool(true)) => Ok(()),
            other => Err(wrong(key, "true", &other.unwrap_or(Value::Null))),
        }
    }

    pub(super) fn headers(&mut self, key: &'static str) -> Result<HeaderMap, ScriptFault> {
        let mut headers = HeaderMap::new();
        let Some(value) = self.value(key) else {
            return Ok(headers);
        };
        let Value::Object(entries) = value else {
            return Err(wrong(key, "an object of texts", &value));
        };
        for (name, value) in entries {
            let Value::String(text) = value else {
                return Err(wrong(&name, "a text", &value));
            };
            let legal = HeaderName::try_from(&name)
                .ok()
                .filter(|name| *name != CONTENT_LENGTH && *name != TRANSFER_ENCODING)
                .zip(HeaderValue::try_from(text).ok());
            let Some((legal_name, legal_value)) = legal else {
                return Err(ScriptFault::Header { name });
            };
            headers.append(legal_name, legal_value);
        }
        Ok(headers)
    }

    /// Ends the reading. A key that is left is unknown.
    pub(super) fn done(mut self) -> Result<(), ScriptFault> {
        match self.left.keys().next().cloned() {
            None => Ok(()),
            Some(key) => {
                self.asked.sort_unstable();
                self.asked.dedup();
                Err(ScriptFault::UnknownKey { key, known: self.asked.join(", ") })
            }
        }
    }
}

/// The fault of a key with a wrong value.
pub(super) fn wrong(key: &str, wanted: &'static str, found: &Value) -> ScriptFault {
    shape(&format!("{key:?}"), wanted, found)
}

/// The fault of a value that has the wrong type or is out of its range.
pub(super) fn shape(what: &str, wanted: &'static str, found: &Value) -> ScriptFault {
    ScriptFault::Shape { what: what.to_owned(), wanted, found: kind(found) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "this number",
        Value::String(text) if text.is_empty() => "an empty text",
        Value::String(_) => "this text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
