//! What was said: events, timeline and search.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};

use longshore_model::frame::Frame;
use longshore_model::timeline::Item;
use longshore_session::{HubError, PAGE_BYTES};

use super::bounded;
use crate::gate::{Gate, GateError};
use crate::native::answers::{EventPage, Hits, TimelinePage, TitledHit};
use crate::native::events::with_raw;
use crate::native::params::{EventsParams, SearchParams, TimelineParams};
use crate::problem::Problem;

const EVENTS: (usize, usize) = (200, 1_000);
const ITEMS: (usize, usize) = (50, 500);
const HITS: (usize, usize) = (20, 100);

pub(super) async fn events(gate: Gate, params: EventsParams) -> Result<EventPage, Problem> {
    let EventsParams { session, after, limit, raw } = params;
    let events = gate.events(session, after, bounded(limit, EVENTS), with_raw(raw)).await?;
    let head = gate.session(session).await?.head;
    let next = events.last().map(Frame::seq).filter(|last| *last < head);
    Ok(EventPage { events, next, head, raw })
}

pub(super) async fn timeline(gate: Gate, params: TimelineParams) -> Result<TimelinePage, Problem> {
    let timeline = gate.timeline(params.session).await?;
    let items = &timeline.items;
    let end = params.before.map_or(items.len(), |before| items.partition_point(|item| item.seq < before));
    let most = end.saturating_sub(bounded(params.limit, ITEMS));
    let start = most + too_old(&items[most..end]);
    let next = items.get(start).filter(|_| start > 0).map(|first| first.seq);
    Ok(TimelinePage { items: items[start..end].to_vec(), next, head: timeline.head })
}

/// How many of these items are too old for a page of [`PAGE_BYTES`]. The newest item is on the page, whatever its length.
fn too_old(items: &[Item]) -> usize {
    let mut length = JsonLength(0);
    let fits = items.iter().rev().take_while(|item| {
        let is_first = length.0 == 0;
        // A length can always be counted.
        let _ = serde_json::to_writer(&mut length, item);
        is_first || length.0 <= PAGE_BYTES
    });
    items.len() - fits.count()
}

/// Counts what is written.
struct JsonLength(usize);

impl Write for JsonLength {
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        self.0 += json.len();
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) async fn search(gate: Gate, params: SearchParams) -> Result<Hits, Problem> {
    let found = gate.search(params.q, bounded(params.limit, HITS)).await?;
    let mut titles = HashMap::new();
    let mut hits = Vec::with_capacity(found.len());
    for hit in found {
        let title = match titles.entry(hit.session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match gate.session(hit.session).await {
                Ok(session) => new.insert(session.title),
                // The session was forgotten after the search found it.
                Err(GateError::Hub(HubError::UnknownSession)) => continue,
                Err(error) => return Err(error.into()),
            },
        };
        let title = title.clone();
        hits.push(TitledHit {
            session: hit.session,
            title,
            seq: hit.seq,
            item: hit.item,
            snippet: hit.snippet,
            at: hit.at,
        });
    }
    Ok(Hits { hits })
}
