//! Taking in a session that was exported from another log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use longshore_log::{Batch, SessionFilter};
use longshore_model::event::{Body, Event, Raw};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::Opened;
use longshore_model::session::Session;
use tokio::sync::Mutex;

use crate::changes::Change;
use crate::customs::{Customs, ImportedEvent};
use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;

/// How many imports may be under way.
const AT_ONCE: usize = 16;
/// How many sessions are looked at at once.
const PAGE: usize = 200;

/// The imports under way.
pub(crate) type Importing = Mutex<HashMap<SessionId, UnderWay>>;

/// An import under way.
pub(crate) struct UnderWay {
    /// What the session has come to.
    session: Session,
    /// The last event that was taken in, as its file counts.
    last: Seq,
    customs: Customs,
}

/// A part of an exported session.
#[derive(Debug, Default)]
pub struct ImportRequest {
    /// The next events, the first ones first.
    pub events: Vec<(Event, Option<Raw>)>,
    /// The work tree in which it goes on here; none takes that of the file, if sessions of this hub have been there.
    pub cwd: Option<String>,
    /// Whether that is all.
    pub done: bool,
}

impl Hub {
    /// Takes in the next events of an exported session, the first ones first. Their seqs are made dense, since an
    /// export of a compacted log has holes. A session that is here already is not touched. What of them is let in is said
    /// in `customs.rs`.
    pub async fn import(&self, request: ImportRequest) -> Result<SessionInfo, HubError> {
        let ImportRequest { events, cwd, done } = request;
        let Some((first, _)) = events.first() else { return Err(invalid("the file has no events")) };
        let (id, begins) = (first.session, first.seq);
        if events.iter().any(|(event, _)| event.session != id) {
            return Err(invalid("the events belong to different sessions"));
        }
        // Checked before anything is taken in, so that a refused import can be mended and sent again.
        if !events.is_sorted_by(|(one, _), (next, _)| one.seq < next.seq) {
            return Err(invalid("the events are not in order"));
        }
        let mut importing = self.inner.importing.lock().await;
        let mut events = events.into_iter();
        let mut told = Vec::new();
        let UnderWay { session, last, customs } = match importing.entry(id) {
            Entry::Occupied(under_way) => under_way.into_mut(),
            Entry::Vacant(_) if self.inner.log.head(id).await? > Seq::ZERO => {
                return Err(HubError::SessionExists(id));
            }
            Entry::Vacant(free) => {
                let (customs, opening) = self.open_import(events.next(), cwd).await?;
                let folded = opening.first().and_then(|(event, _)| Session::fold([event]));
                let session = folded.ok_or_else(|| invalid("the first event does not open a session"))?;
                told = opening;
                free.insert(UnderWay { session, last: Seq::ZERO, customs })
            }
        };
        if begins <= *last {
            return Err(invalid("these events were already imported"));
        }
        *last = begins;
        for event in events {
            *last = event.0.seq;
            told.extend(customs.pass(event));
        }
        if let Some(native) = customs.take_native()
            && let Some(known) = self.inner.log.native(customs.agent(), native).await?
        {
            told.push(customs.namesake(known.session_id));
        }
        let mut frames = Vec::new();
        let mut head = self.inner.log.head(id).await?;
        for (mut event, raw) in told {
            head = head.next();
            event.seq = head;
            session.apply(&event);
            frames.push(
                Frame::encode(event, raw).map_err(|source| HubError::Unreadable { seq: head, source })?,
            );
        }
        let info = Arc::new(session.row());
        let frames: Arc<[Frame]> = frames.into();
        let batch = Batch { session: id, frames: Arc::clone(&frames), info: Some(Arc::clone(&info)) };
        if !frames.is_empty()
            && let Err(error) = self.inner.log.append(batch).await
        {
            // What is held here is ahead of the log now.
            importing.remove(&id);
            return Err(error.into());
        }
        // Somebody may follow it already: what they hold is behind the log now.
        if let Some(handle) = self.inner.registry.find(id) {
            handle.tail.push(frames);
            let _ = handle.clients.send(FromClient::Reread).await;
        }
        self.inner.told(Change::Row(Arc::clone(&info)));
        while importing.len() > AT_ONCE {
            let Some(other) = importing.keys().find(|other| **other != id).copied() else { break };
            importing.remove(&other);
        }
        if !done {
            return Ok((*info).clone());
        }
        importing.remove(&id);
        drop(importing);
        // What the file leaves open comes to its end when the session is next looked at: that is now.
        let handle = self.wake_existing(id).await?;
        self.request(&handle, |reply| FromClient::Info { reply }).await
    }

    /// Looks through the opening of a session, with what this hub knows of its agent and of its folder.
    async fn open_import(
        &self,
        first: Option<ImportedEvent>,
        cwd: Option<String>,
    ) -> Result<(Customs, Vec<ImportedEvent>), HubError> {
        let no_opening = || invalid("the first event does not open a session");
        let first = first.ok_or_else(no_opening)?;
        let Body::SessionOpened(opened) = &first.0.body else { return Err(no_opening()) };
        let opened = Opened::clone(opened);
        let cwd = match cwd {
            Some(cwd) if cwd.starts_with('/') => cwd,
            Some(cwd) => {
                return Err(HubError::Invalid(format!("`cwd` must be an absolute path, not `{cwd}`")));
            }
            None if self.has_been_in(&opened.cwd).await? => opened.cwd.clone(),
            None => {
                return Err(invalid(&format!(
                    "this hub has had no session in `{}`; name the folder in which the session continues (`cwd`, or \
                     `longshore import --cwd DIR FILE`)",
                    opened.cwd
                )));
            }
        };
        let known =
            self.agents().await.unwrap_or_default().into_iter().find(|known| known.name == opened.agent);
        let capabilities = known.map(|known| known.capabilities).unwrap_or_default();
        Ok(Customs::open(first, opened, capabilities, cwd, crate::hub::now()))
    }

    /// Whether a session of this hub works in this folder, or did.
    async fn has_been_in(&self, cwd: &str) -> Result<bool, HubError> {
        let mut cursor = None;
        loop {
            let filter =
                SessionFilter { q: Some(cwd.to_owned()), limit: PAGE, cursor, ..SessionFilter::default() };
            let page = self.sessions(filter).await?;
            if page.sessions.iter().any(|session| session.cwd == cwd) {
                return Ok(true);
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(false);
            }
        }
    }
}

fn invalid(fault: &str) -> HubError {
    HubError::Invalid(format!("the import stopped: {fault}"))
}
