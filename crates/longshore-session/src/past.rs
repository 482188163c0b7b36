//! Conversations from elsewhere: the anchor finds them, the hub imports them piece by piece, and clients read
//! them like all other sessions.

use std::sync::Arc;
use std::time::Duration;

use longshore_log::WithRaw;
use longshore_model::anchor::{Past, PastCount, PastQuery, RecordSizeQuery, ToAnchor};
use longshore_model::capability::Mode;
use longshore_model::command::Command;
use longshore_model::event::{Author, Body};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::{Activity, SessionInfo};
use longshore_model::lifecycle::Opened;
use longshore_model::session::RecordPlace;
use tokio::task::JoinSet;
use tracing::warn;

use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;
use crate::registry::SessionHandle;
use crate::subscription::Subscription;

/// How long a prompt may wait for turns from the agent's own terminal.
const CAUGHT_UP_WITHIN: Duration = Duration::from_secs(45);
/// How often the hub asks for these turns.
const LOOKS: usize = 2;
/// How long after its last output an agent writes into its own record.
const WRITES_WITHIN_MS: i64 = 10_000;

/// The result of a search for conversations from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedPast {
    /// The number of conversations.
    pub found: u64,
    /// The number of conversations that are new in the list.
    pub new: u64,
    /// The number of conversations that the hub has yet to read, or to read further.
    pub unread: u64,
}

/// How a conversation continues in the agent's own terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandBack {
    /// The folder to be in.
    pub cwd: String,
    /// The command to run there.
    pub command: String,
}

impl HandBack {
    /// Folder and command as one shell line.
    pub fn line(&self) -> String {
        format!("cd {} && {}", quoted(&self.cwd), self.command)
    }
}

/// How long a release waits for the agent to end.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// Waits until the session's agent is gone.
async fn asleep(heard: &mut Subscription) -> Result<(), HubError> {
    loop {
        for frame in heard.next().await?.iter() {
            let event = frame.event().map_err(|source| HubError::Unreadable { seq: frame.seq(), source })?;
            if matches!(event.body, Body::SessionSleeping(_) | Body::SessionClosed) {
                return Ok(());
            }
        }
    }
}

impl Hub {
    /// How the session continues in the agent's own terminal; none if the agent has no such command, or
    /// nothing to continue with.
    pub async fn hand_back(&self, session: SessionId) -> Result<Option<HandBack>, HubError> {
        let info = self.session(session).await?;
        let Some(native) = info.native.filter(|_| info.capabilities.send_prompt) else { return Ok(None) };
        let agent = self.agents().await?.into_iter().find(|agent| agent.name == info.provider);
        let command = agent.and_then(|agent| agent.resume);
        let command = command.map(|command| command.replace("{native}", &quoted(&native)));
        Ok(command.map(|command| HandBack { cwd: info.cwd, command }))
    }

    /// Releases a session: ends the agent's process, so that the agent's own terminal can continue. Returns
    /// the same as [`Hub::hand_back`]. The process has ended on return, or ends within moments.
    pub async fn release(&self, session: SessionId, by: Author) -> Result<Option<HandBack>, HubError> {
        let back = self.hand_back(session).await?;
        let before = self.session(session).await?;
        let release = Command::Release { hand_back: back.as_ref().map(HandBack::line) };
        self.command(session, release, by).await?;
        let mut heard = self.subscribe(session, before.head, WithRaw::No).await?;
        if before.activity != Activity::Sleeping {
            // An agent that does not end in time is killed by its anchor; nobody needs to wait for that here.
            let _ = tokio::time::timeout(ENDED_WITHIN, asleep(&mut heard)).await;
        }
        Ok(back)
    }

    /// Lets the anchor look for conversations from elsewhere now. On return they are listed; the hub reads
    /// them in the background.
    pub async fn import_past(&self) -> Result<ImportedPast, HubError> {
        let before = self.inner.counters.past();
        let PastCount { found, unread } = self.ask(PastQuery {}).await?;
        Ok(ImportedPast { found, new: self.inner.counters.past() - before, unread })
    }

    /// Opens a session for each new conversation, all at once so that they share commits. Lets the anchor
    /// read further in conversations that have grown.
    pub(crate) async fn found_past(&self, found: Vec<Past>) {
        let mut openings = JoinSet::new();
        for past in found {
            let hub = self.clone();
            openings.spawn(async move {
                let native = past.native.clone();
                if let Err(error) = hub.follow_past(past).await {
                    warn!(%native, %error, "a past conversation cannot be taken in");
                }
            });
        }
        while openings.join_next().await.is_some() {}
    }

    async fn follow_past(&self, past: Past) -> Result<(), HubError> {
        let known = self.inner.catalog.native(Arc::clone(&past.agent), past.native.clone()).await?;
        let (agent, native) = (Arc::clone(&past.agent), past.native.clone());
        let (size, written) = (past.size, past.written);
        let session = match known {
            Some(known) => known,
            None if self.inner.catalog.is_erased(native.clone()).await? => return Ok(()),
            None => self.open_past(past).await?,
        };
        match session.imported {
            Some(after) if after < size => {
                let session = session.session_id;
                let read = ToAnchor::ReadPast { session, agent, native, after, told: None };
                self.inner.to_anchor(read).await;
            }
            Some(_) => {}
            // The record is as an earlier hub left it: only the session's own agent has written to it since,
            // because an agent writes a little later than it speaks.
            None if written < self.inner.started
                && written <= session.updated_at.plus_millis(WRITES_WITHIN_MS) => {}
            // The hub does not wait for this: the anchor that reports its findings here must also tell the
            // size of this record.
            None => {
                let hub = self.clone();
                tokio::spawn(async move { hub.follow_record(session.session_id).await });
            }
        }
        Ok(())
    }

    /// Lets the anchor read the turns that the agent's own record has from elsewhere, if the record has
    /// grown.
    pub(crate) async fn follow_record(&self, session: SessionId) {
        let looked = async { self.read_record(session, &self.wake_existing(session).await?).await };
        match looked.await {
            // The hub is about to end; the next hub reads the record.
            Ok(_) | Err(HubError::NoAnchor) => {}
            Err(error) => warn!(%session, %error, "the agent's own record of a session cannot be looked at"),
        }
    }

    /// Waits until turns from the agent's own terminal are imported, before anything else is sent here. A
    /// record that takes too long delays nobody further.
    pub(crate) async fn catch_up(&self, session: SessionId, handle: &SessionHandle) {
        let mut looked_at = handle.looked_at.subscribe();
        let caught_up = async {
            // An agent that has to be started first may be late. The second question finds it running.
            for _ in 0..LOOKS {
                match self.read_record(session, handle).await {
                    Ok(Some(size)) => return drop(looked_at.wait_for(|place| *place >= size).await),
                    Ok(None) => return,
                    Err(error) => {
                        warn!(%session, %error, "the agent's own record of a session cannot be looked at");
                    }
                }
            }
        };
        if tokio::time::timeout(CAUGHT_UP_WITHIN, caught_up).await.is_err() {
            warn!(%session, "the agent's own record of a session was not read in time");
        }
    }

    /// Lets the anchor read further in the agent's own record. Returns the position that it will reach; none
    /// if there is nothing to read.
    async fn read_record(&self, session: SessionId, handle: &SessionHandle) -> Result<Option<u64>, HubError> {
        let place = self.request(handle, |reply| FromClient::RecordPlace { reply }).await?;
        let Some(RecordPlace { agent, native, taken, told }) = place else { return Ok(None) };
        let query = RecordSizeQuery { agent: Arc::clone(&agent), native: native.clone() };
        let size = self.ask(query).await?;
        let after = taken.unwrap_or(*handle.looked_at.borrow());
        let Some(size) = size.filter(|size| *size > after) else { return Ok(None) };
        self.inner.to_anchor(ToAnchor::ReadPast { session, agent, native, after, told }).await;
        Ok(Some(size))
    }

    async fn open_past(&self, past: Past) -> Result<SessionInfo, HubError> {
        let session = SessionId::of_past(&past.agent, &past.native);
        let parent = match past.parent {
            Some(native) => {
                let known = self.inner.catalog.native(Arc::clone(&past.agent), native.clone()).await?;
                Some(known.map_or_else(|| SessionId::of_past(&past.agent, &native), |known| known.session_id))
            }
            None => None,
        };
        let opened = Opened {
            agent: past.agent,
            cwd: past.cwd,
            mode: Mode::default(),
            model: None,
            effort: None,
            title: past.title,
            mcp_servers: Vec::new(),
            capabilities: past.capabilities,
            parent,
            forked_from: None,
            from_file: false,
        };
        let handle = self.wake(session, Seq::ZERO);
        let (opened, native, at) = (Box::new(opened), past.native, past.created_at);
        let opened =
            self.request(&handle, |reply| FromClient::OpenPast { opened, native, at, reply }).await?;
        self.inner.counters.took_in_past();
        Ok(opened)
    }
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_it_as_it_is() {
        let back = HandBack { cwd: "/home/dev/it's here".to_owned(), command: "codex resume 1-2".to_owned() };
        assert_eq!(back.line(), r"cd '/home/dev/it'\''s here' && codex resume 1-2");
        assert_eq!(quoted("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(quoted(""), "''");
    }
}
