//! Taking in a session that was exported from another log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use longshore_log::Batch;
use longshore_model::event::{Event, Raw};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::session::Session;
use tokio::sync::Mutex;

use crate::actor::FromClient;
use crate::changes::Change;
use crate::error::HubError;
use crate::hub::Hub;

/// How many imports may be under way.
const AT_ONCE: usize = 16;

/// The imports under way: what each session has come to, and the last event that was taken in, as its file counts.
pub(crate) type Importing = Mutex<HashMap<SessionId, (Session, Seq)>>;

impl Hub {
    /// Takes in the next events of an exported session, the first ones first. Their seqs are made dense, since an
    /// export of a compacted log has holes. A session that is here already is not touched.
    pub async fn import(&self, events: Vec<(Event, Option<Raw>)>) -> Result<SessionInfo, HubError> {
        let Some((first, _)) = events.first() else { return Err(invalid("there are no events in it")) };
        let (id, begins) = (first.session, first.seq);
        if events.iter().any(|(event, _)| event.session != id) {
            return Err(invalid("the events are of different sessions"));
        }
        // Checked before anything is taken in, so that a refused import can be mended and sent again.
        if !events.is_sorted_by(|(one, _), (next, _)| one.seq < next.seq) {
            return Err(invalid("the events are not in order"));
        }
        let mut importing = self.inner.importing.lock().await;
        let mut events = events.into_iter().peekable();
        let (session, last) = match importing.entry(id) {
            Entry::Occupied(under_way) => under_way.into_mut(),
            Entry::Vacant(_) if self.inner.log.head(id).await? > Seq::ZERO => {
                return Err(invalid("this session is here already"));
            }
            Entry::Vacant(free) => {
                let opening = events.peek().and_then(|(event, _)| Session::fold([event]));
                let session = opening.ok_or_else(|| invalid("the first event does not open a session"))?;
                free.insert((session, Seq::ZERO))
            }
        };
        if begins <= *last {
            return Err(invalid("these events were taken in already"));
        }
        let mut frames = Vec::new();
        let mut head = self.inner.log.head(id).await?;
        for (mut event, raw) in events {
            *last = event.seq;
            head = head.next();
            event.seq = head;
            session.apply(&event);
            frames.push(
                Frame::encode(event, raw).map_err(|source| HubError::Unreadable { seq: head, source })?,
            );
        }
        let info = Arc::new(session.info());
        let frames: Arc<[Frame]> = frames.into();
        let batch = Batch { session: id, frames: Arc::clone(&frames), info: Some(Arc::clone(&info)) };
        if let Err(error) = self.inner.log.append(batch).await {
            // What is held here is ahead of the log now.
            importing.remove(&id);
            return Err(error.into());
        }
        // Somebody may follow it already: what they hold is behind the log now.
        if let Some(entry) = self.inner.registry.find(id) {
            entry.tail.push(frames);
            let _ = entry.clients.send(FromClient::Reread).await;
        }
        self.inner.told(Change::Row(Arc::clone(&info)));
        while importing.len() > AT_ONCE {
            let Some(other) = importing.keys().find(|other| **other != id).copied() else { break };
            importing.remove(&other);
        }
        Ok((*info).clone())
    }
}

fn invalid(fault: &str) -> HubError {
    HubError::Invalid(format!("the import cannot go on: {fault}"))
}
