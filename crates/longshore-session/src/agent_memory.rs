//! The lines of a session: the memory of agents that remember nothing themselves.

use longshore_log::{Journal, WithRaw};
use longshore_model::event::{Body, Draft, Event, Growth, Raw};
use longshore_model::id::{Seq, SessionId};

use crate::error::HubError;

const PAGE: usize = 1_024;

/// The agent's lines and the messages of people. Lines that only made an item grow are left out: the item's
/// last line repeats them, and the log may have dropped them.
pub(crate) async fn lines_of(journal: &dyn Journal, session: SessionId) -> Result<Vec<Raw>, HubError> {
    let mut lines = Vec::new();
    let mut cursor = Seq::ZERO;
    loop {
        let page = journal.read(session, cursor, PAGE, WithRaw::Yes).await?;
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

/// A person's message in the form of the agent's own lines.
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
