//! Actions in a simpler form, for APIs without groups of tools, without free-text tools and with one kind of thought.

use std::time::Duration;

use serde_json::Value;

use super::chunks::Chunks;
use super::step::{CustomCall, FunctionCall, Reason};

/// A call of a function without a group.
pub(super) struct PlainCall<'a> {
    pub(super) name: String,
    /// The arguments as JSON text, or broken text if the author wants to send it.
    pub(super) arguments: Chunks,
    pub(super) id: &'a Option<String>,
    pub(super) unfinished: bool,
    pub(super) signature: Option<&'a str>,
}

impl<'a> PlainCall<'a> {
    /// A call of a function. A group becomes a prefix of the name, as agents name the tools of MCP servers in these
    /// APIs.
    pub(super) fn of_function(call: &'a FunctionCall) -> Self {
        let name = match &call.namespace {
            Some(namespace) => format!("{namespace}__{}", call.name),
            None => call.name.clone(),
        };
        let (id, unfinished, signature) = (&call.id, call.unfinished, call.signature.as_deref());
        PlainCall { name, arguments: call.arguments.clone(), id, unfinished, signature }
    }

    /// A call of a free-text tool. The text becomes the argument `input`, cut at the same places.
    pub(super) fn of_custom(call: &'a CustomCall) -> Self {
        let pieces = call.input.pieces().iter().map(|piece| within_quotes(piece));
        let opening = ["{\"input\":\"".to_owned()];
        let pieces = opening.into_iter().chain(pieces).chain(["\"}".to_owned()]);
        let arguments = Chunks::exact(pieces.collect(), call.input.delay());
        PlainCall { name: call.name.clone(), arguments, id: &call.id, unfinished: false, signature: None }
    }

    /// The arguments as JSON. Broken arguments become a string.
    pub(super) fn arguments_json(&self) -> Value {
        let text = self.arguments.text();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}

/// The pieces of all thoughts in order, each with the pause after it: first the parts of the summary, then the raw
/// thoughts, with a blank line between two of them.
pub(super) fn thoughts(reason: &Reason) -> Vec<(String, Duration)> {
    let mut pieces: Vec<(String, Duration)> = Vec::new();
    for part in reason.summary.iter().chain(&reason.raw) {
        let mut gap = if pieces.is_empty() { "" } else { "\n\n" };
        for piece in part.pieces() {
            pieces.push((format!("{gap}{piece}"), part.delay()));
            gap = "";
        }
    }
    pieces
}

/// A text as it stands between the quotes of a JSON string.
fn within_quotes(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
