//! Imports a session that another log exported.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use longshore_log::{Batch, SessionFilter, SessionHead};
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
/// How many sessions to read at once.
const PAGE: usize = 200;

/// The imports under way.
pub(crate) type Imports = Mutex<HashMap<SessionId, ImportProgress>>;

/// A running import.
pub(crate) struct ImportProgress {
    /// The session so far.
    session: Session,
    /// The last imported event, by its seq in the file.
    last: Seq,
    customs: Customs,
}

/// A part of an exported session.
#[derive(Debug, Default)]
pub struct ImportRequest {
    /// The next events, in order.
    pub events: Vec<(Event, Option<Raw>)>,
    /// The work tree in which the session continues here. None: the folder of the file, if sessions of this
    /// hub have been there.
    pub cwd: Option<String>,
    /// Whether this is the last part.
    pub done: bool,
}

impl Hub {
    /// Imports the next events of an exported session. The hub numbers them anew, because an export of a
    /// compacted log has gaps. It refuses a session that it already has. `customs.rs` decides what of the
    /// events enters.
    pub async fn import(&self, request: ImportRequest) -> Result<SessionInfo, HubError> {
        let ImportRequest { events, cwd, done } = request;
        let Some((first, _)) = events.first() else { return Err(invalid("the file has no events")) };
        let (id, begins) = (first.session, first.seq);
        if events.iter().any(|(event, _)| event.session != id) {
            return Err(invalid("the events belong to different sessions"));
        }
        // This check comes before anything is imported, so that a client can correct a refused import and
        // send it again.
        if !events.is_sorted_by(|(one, _), (next, _)| one.seq < next.seq) {
            return Err(invalid("the events are not in order"));
        }
        let mut importing = self.inner.importing.lock().await;
        let mut events = events.into_iter();
        let mut told = Vec::new();
        let ImportProgress { session, last, customs } = match importing.entry(id) {
            Entry::Occupied(under_way) => under_way.into_mut(),
            Entry::Vacant(_) if self.inner.journal.head(id).await?.seq > Seq::ZERO => {
                return Err(HubError::SessionExists(id));
            }
            Entry::Vacant(free) => {
                let (customs, opening) = self.open_import(events.next(), cwd).await?;
                let folded = opening.first().and_then(|(event, _)| Session::fold([event]));
                let session = folded.ok_or_else(|| invalid("the first event does not open a session"))?;
                told = opening;
                free.insert(ImportProgress { session, last: Seq::ZERO, customs })
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
            && let Some(known) = self.inner.catalog.native(customs.agent(), native).await?
        {
            told.push(customs.namesake(known.session_id));
        }
        let mut frames = Vec::new();
        let SessionHead { seq: mut head, mark } = self.inner.journal.head(id).await?;
        for (mut event, raw) in told {
            head = head.next();
            event.seq = head;
            // The file names parent events by their seqs in the file.
            event.parent = session.parent_of(&event);
            session.apply(&event);
            frames.push(
                Frame::encode(event, raw).map_err(|source| HubError::Unreadable { seq: head, source })?,
            );
        }
        let info = Arc::new(session.row());
        let frames: Arc<[Frame]> = frames.into();
        let batch = Batch { session: id, frames: Arc::clone(&frames), info: Some(Arc::clone(&info)) };
        if !frames.is_empty()
            && let Err(error) = self.inner.append(batch, mark).await
        {
            // The import's state is now ahead of the log.
            importing.remove(&id);
            return Err(error.into());
        }
        // A client may already follow the session; the actor's state is now behind the log.
        if let Some(handle) = self.inner.registry.find(id) {
            let _ = handle.clients.send(FromClient::Reread).await;
        }
        self.inner.announce(Change::Row(Arc::clone(&info)));
        while importing.len() > AT_ONCE {
            let Some(other) = importing.keys().find(|other| **other != id).copied() else { break };
            importing.remove(&other);
        }
        if !done {
            return Ok((*info).clone());
        }
        importing.remove(&id);
        drop(importing);
        // The actor ends what the file left open as soon as somebody wakes the session: now.
        let handle = self.wake_existing(id).await?;
        self.request(&handle, |reply| FromClient::Info { reply }).await
    }

    /// Reads the opening of a session, with what this hub knows of its agent and its folder.
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

    /// Whether a session of this hub works in this folder, or did so.
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
