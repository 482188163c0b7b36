//! Actions in a simpler form, for APIs without groups of tools, without free-text tools and with one kind of
//! thought.

use std::time::Duration;

use serde_json::Value;

use super::chunks::Chunks;
use super::step::{CustomCall, FunctionCall, Reason};

/// A call of a function whose name says everything.
pub(super) struct PlainCall<'a> {
    pub(super) name: String,
    /// The arguments as JSON text, or as the broken text that the author wants to send.
    pub(super) arguments: Chunks,
    pub(super) id: &'a Option<String>,
    pub(super) unfinished: bool,
    pub(super) signature: Option<&'a str>,
}

impl<'a> PlainCall<'a> {
    /// A group becomes the front of the name, as agents name the tools of MCP servers in these APIs.
    pub(super) fn of_function(call: &'a FunctionCall) -> Self {
        let name = match &call.namespace {
            Some(namespace) => format!("{namespace}__{}", call.name),
            None => call.name.clone(),
        };
        let (id, unfinished, signature) = (&call.id, call.unfinished, call.signature.as_deref());
        PlainCall { name, arguments: call.arguments.clone(), id, unfinished, signature }
    }

    /// Free text becomes the argument `input`, cut at the same places.
    pub(super) fn of_custom(call: &'a CustomCall) -> Self {
        let pieces = call.input.pieces().iter().map(|piece| within_quotes(piece));
        let opening = ["{\"input\":\"".to_owned()];
        let pieces = opening.into_iter().chain(pieces).chain(["\"}".to_owned()]);
        let arguments = Chunks::exact(pieces.collect(), call.input.delay());
        PlainCall { name: call.name.clone(), arguments, id: &call.id, unfinished: false, signature: None }
    }

    /// The arguments where the API wants them as JSON. Broken ones stay the text that they are.
    pub(super) fn arguments_json(&self) -> Value {
        let text = self.arguments.text();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }
}

/// The pieces of all thoughts in their order with the pause after each: the parts of the summary, then the
/// thoughts themselves, a blank line between any two of them.
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
