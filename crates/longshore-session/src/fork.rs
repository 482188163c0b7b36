//! What a fork copies from its origin: the conversation, but not the life of the agent's process.

use longshore_log::{Journal, WithRaw};
use longshore_model::event::{Body, Draft, Growth};
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;

use crate::error::HubError;

const PAGE: usize = 4_096;

/// The last event before the turn of a person's message at `said`.
pub(crate) async fn last_before(
    journal: &dyn Journal,
    origin: SessionId,
    said: Seq,
) -> Result<Seq, HubError> {
    let nobody = HubError::CannotFork("`before` must be the number of a message that a person sent");
    let Some(before) = said.0.checked_sub(1).map(Seq) else { return Err(nobody) };
    let found = journal.read(origin, before, 1, WithRaw::No).await?;
    let Some(frame) = found.first().filter(|frame| frame.seq() == said) else { return Err(nobody) };
    let event = frame.event().map_err(|source| HubError::Unreadable { seq: said, source })?;
    let (Body::UserMessage { .. }, Some(turn)) = (&event.body, event.turn) else { return Err(nobody) };
    let mut last = Seq::ZERO;
    let mut cursor = Seq::ZERO;
    while cursor < said {
        let page = journal.read(origin, cursor, PAGE, WithRaw::No).await?;
        for frame in &page {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            if event.turn == Some(turn) && !matches!(event.body, Body::PromptQueued { .. }) {
                return Ok(last);
            }
            last = frame.seq();
        }
        cursor = last;
    }
    Ok(last)
}

/// The events that a fork copies, with the times at which they happened. `memory` means that the agent remembers by its lines in our log; then the
/// fork copies these too.
pub(crate) async fn copied(
    journal: &dyn Journal,
    origin: SessionId,
    until: Seq,
    memory: bool,
) -> Result<Vec<(Timestamp, Draft)>, HubError> {
    let with_raw = if memory { WithRaw::Yes } else { WithRaw::No };
    let mut copied = Vec::new();
    let mut cursor = Seq::ZERO;
    loop {
        let page = journal.read(origin, cursor, PAGE, with_raw).await?;
        let Some(last) = page.last() else { return Ok(copied) };
        cursor = last.seq();
        for frame in page.iter().take_while(|frame| frame.seq() <= until) {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            let kind = event.body.kind();
            let raw = frame.raw().cloned();
            if kind.growth == Growth::Delta {
                continue;
            }
            if kind.conversation {
                let draft = Draft {
                    turn: event.turn,
                    item: event.item,
                    text: event.text.clone(),
                    body: event.body.clone(),
                    raw,
                };
                copied.push((event.at, draft));
            } else if raw.is_some() {
                // What went on around the conversation was the origin's; of it only the line is remembered.
                let body = Body::Raw { kind: "remembered".to_owned(), fault: None };
                copied.push((event.at, Draft::new(body).raw(raw)));
            }
        }
        if cursor >= until {
            return Ok(copied);
        }
    }
}
