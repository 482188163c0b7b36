//! What a fork takes over from its origin: what was said and done, not what its agent's process went through.

use longshore_log::{Log, WithRaw};
use longshore_model::event::{Draft, Growth};
use longshore_model::id::{Seq, SessionId};

use crate::error::HubError;

const PAGE: usize = 4_096;

pub(crate) async fn copied(log: &dyn Log, origin: SessionId, until: Seq) -> Result<Vec<Draft>, HubError> {
    let mut copied = Vec::new();
    let mut cursor = Seq::ZERO;
    loop {
        let page = log.read(origin, cursor, PAGE, WithRaw::No).await?;
        let Some(last) = page.last() else { return Ok(copied) };
        cursor = last.seq();
        for frame in page.iter().take_while(|frame| frame.seq() <= until) {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            let kind = event.body.kind();
            if kind.conversation && kind.growth != Growth::Delta {
                copied.push(Draft {
                    turn: event.turn,
                    item: event.item,
                    text: event.text.clone(),
                    body: event.body.clone(),
                    raw: None,
                });
            }
        }
        if cursor >= until {
            return Ok(copied);
        }
    }
}
