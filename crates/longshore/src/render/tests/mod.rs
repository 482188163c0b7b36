//! Whole sessions through the renderer, by their exact words.

mod asking;
mod lists;
mod safety;
mod talking;
mod working;

use longshore_model::event::{Body, Event};
use longshore_model::id::{ItemId, Seq};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{Renderer, Style};

pub(super) const ID: &str = "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6";
pub(super) const OTHER_ID: &str = "01931f5e-7a2b-7c3d-8e4f-aaaaaaaaaaaa";

/// An event of an item (0: of none) at a time in milliseconds.
pub(super) fn event(item: u32, millis: i64, text: &str, body: Value) -> Event {
    Event {
        seq: Seq(1),
        session: ID.parse().unwrap(),
        agent: "codex".into(),
        at: Timestamp::from_micros(0).plus_millis(millis),
        turn: None,
        item: (item > 0).then(|| item_id(item)),
        parent: None,
        text: (!text.is_empty()).then(|| text.to_owned()),
        body: serde_json::from_value::<Body>(body).unwrap(),
    }
}

fn item_id(item: u32) -> ItemId {
    format!("01931f5e-7a2b-7c3d-8e4f-{item:012}").parse().unwrap()
}

/// A body that is nothing but its type.
pub(super) fn bare(kind: &str) -> Value {
    json!({"type": kind})
}

/// A body with its payload.
pub(super) fn body(kind: &str, payload: Value) -> Value {
    json!({"type": kind, "payload": payload})
}

/// What a fresh renderer prints for these events.
pub(super) fn shown(style: Style, events: &[Event]) -> String {
    let mut renderer = Renderer::new(style);
    let mut printed: String = events.iter().map(|event| renderer.event(event)).collect();
    printed.push_str(&renderer.finish());
    printed
}

/// The same at 60 columns, without colour.
pub(super) fn plain(events: &[Event]) -> String {
    shown(Style { width: 60, ..Style::default() }, events)
}
