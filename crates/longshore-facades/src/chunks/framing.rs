//! How the objects of a stream stand in its body.
//!
//! | framing | chosen by | body |
//! |---|---|---|
//! | [`Framing::Bare`] | nothing, or `format=json` | objects with nothing between them, as the original sends |
//! | [`Framing::Lines`] | `format=ndjson`, or `Accept: application/x-ndjson` | one object per line |
//! | [`Framing::Events`] | `format=sse`, or `Accept: text/event-stream` with `Last-Event-ID` | server-sent events with ids |
//!
//! Clients of the original may accept anything, `text/event-stream` above all, and still expect bare objects. None of
//! them accepts NDJSON or sends a `Last-Event-ID`: an object of the original has no id.

use std::fmt::Write;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use longshore_model::id::Seq;
use serde::Serialize;

use super::wire::{ChatMessageResponse, ToolCallResponse};
use crate::problem::Problem;

/// How the objects of a stream stand in its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    #[default]
    Bare,
    Lines,
    Events,
}

/// An object as our own framings write it: with the text under both names that the protocol's documents use.
#[derive(Serialize)]
struct NamedTwice<'a> {
    message: &'a str,
    response: &'a str,
    citations: &'a Arc<Vec<String>>,
    tool_calls: &'a [ToolCallResponse],
    thinking: Option<&'a str>,
}

impl Framing {
    /// The framing for which a request asks.
    pub(crate) fn of(format: Option<&str>, headers: &HeaderMap) -> Result<Self, Problem> {
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        match format {
            Some("json") => Ok(Framing::Bare),
            Some("ndjson") => Ok(Framing::Lines),
            Some("sse") => Ok(Framing::Events),
            Some(_) => Err(Problem::invalid("`format` is json, ndjson or sse")),
            None if accept.contains("application/x-ndjson") => Ok(Framing::Lines),
            None if accept.contains("text/event-stream") && headers.contains_key("last-event-id") => {
                Ok(Framing::Events)
            }
            None => Ok(Framing::Bare),
        }
    }

    /// The type of the body. The original calls its bare objects an event stream.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Framing::Bare | Framing::Events => "text/event-stream",
            Framing::Lines => "application/x-ndjson",
        }
    }

    /// Writes an object. `seq` is the last event that is part of it.
    pub(crate) fn write(self, text: &mut String, seq: Seq, object: &ChatMessageResponse) {
        let ChatMessageResponse { message, citations, tool_calls, thinking } = object;
        let twice =
            NamedTwice { message, response: message, citations, tool_calls, thinking: thinking.as_deref() };
        // These types have no value that JSON cannot say.
        match self {
            Framing::Bare => text.push_str(&serde_json::to_string(object).unwrap_or_default()),
            Framing::Lines => {
                let _ = writeln!(text, "{}", serde_json::to_string(&twice).unwrap_or_default());
            }
            Framing::Events => {
                let json = serde_json::to_string(&twice).unwrap_or_default();
                let _ = write!(text, "id: {seq}\ndata: {json}\n\n");
            }
        }
    }

    /// A sign of life. To clients of bare objects and of lines, an object that says nothing new is the least surprise.
    pub(crate) fn sign_of_life(self, quiet: &ChatMessageResponse) -> String {
        match self {
            Framing::Bare | Framing::Lines => {
                let mut text = String::new();
                self.write(&mut text, Seq::ZERO, quiet);
                text
            }
            Framing::Events => ":\n\n".to_owned(),
        }
    }

    /// What follows the last object. Otherwise a client of server-sent events would connect again.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Framing::Bare | Framing::Lines => "",
            Framing::Events => "event: end\ndata: {}\n\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn chosen(format: Option<&str>, accept: &'static str, last: Option<&'static str>) -> Option<Framing> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        last.map(|last| headers.insert("last-event-id", HeaderValue::from_static(last)));
        Framing::of(format, &headers).ok()
    }

    #[test]
    fn clients_of_the_original_get_bare_objects_whatever_they_accept() {
        for accept in
            ["*/*", "text/event-stream", "application/json, text/plain, */*", "text/event-stream, */*"]
        {
            assert_eq!(chosen(None, accept, None), Some(Framing::Bare), "{accept}");
        }
        assert_eq!(chosen(None, "text/event-stream", Some("")), Some(Framing::Events));
        assert_eq!(chosen(None, "*/*", Some("7")), Some(Framing::Bare));
        assert_eq!(chosen(None, "application/x-ndjson", None), Some(Framing::Lines));
        assert_eq!(chosen(Some("sse"), "*/*", None), Some(Framing::Events));
        assert_eq!(chosen(Some("json"), "application/x-ndjson", None), Some(Framing::Bare));
        assert_eq!(chosen(Some("SSE"), "*/*", None), None);
    }

    #[test]
    fn a_sign_of_life_says_nothing_new() {
        let quiet = ChatMessageResponse { citations: Arc::new(vec!["a".to_owned()]), ..Default::default() };
        let bare = Framing::Bare.sign_of_life(&quiet);
        assert_eq!(bare, r#"{"message":"","citations":["a"],"tool_calls":[],"thinking":null}"#);
        assert!(Framing::Lines.sign_of_life(&quiet).ends_with("}\n"));
        assert_eq!(Framing::Events.sign_of_life(&quiet), ":\n\n", "it has no id");
    }
}
