//! The lines of a session: the memory of agents that have none but our log.

use longshore_log::{Log, WithRaw};
use longshore_model::event::{Body, Draft, Event, Growth, Raw};
use longshore_model::id::{Seq, SessionId};

use crate::error::HubError;

const PAGE: usize = 1_024;

/// What the agent said, line by line, and what people said to it. What only made an item grow is left out: the item's
/// last line says it again, and the log may have dropped it.
pub(crate) async fn lines_of(log: &dyn Log, session: SessionId) -> Result<Vec<Raw>, HubError> {
    let mut lines = Vec::new();
    let mut cursor = Seq::ZERO;
    loop {
        let page = log.read(session, cursor, PAGE, WithRaw::Yes).await?;
        let Some(last) = page.last() else { return Ok(lines) };
        cursor = last.seq();
        for frame in &page {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            match (&event.body, frame.raw()) {
                (Body::UserMessage { .. }, _) => lines.extend(told(event)),
                (body, Some(raw)) if body.growth() != Growth::Delta => lines.push(Raw::clone(raw)),
                (_, _) => {}
            }
        }
    }
}

/// What a person said, in the shape of the agent's own lines.
fn told(event: &Event) -> Option<Raw> {
    let draft = Draft {
        turn: event.turn,
        item: event.item,
        text: event.text.clone(),
        body: event.body.clone(),
        raw: None,
    };
    let draft = serde_json::to_string(&draft).ok()?;
    Some(format!("{{\"draft\":{draft}}}").into())
}
