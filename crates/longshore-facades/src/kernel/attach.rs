//! Attaching to a session: what was there already, and all that follows, joined at one seq.

use std::sync::Arc;

use longshore_model::event::Event;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::timeline::{ItemChange, Timeline};
use longshore_session::{HubError, Subscription, WithRaw};

use crate::gate::{Gate, GateError};

/// How many settled items a follower holds. An agent rarely speaks of an older one, and then it begins anew.
const NEWEST: usize = 64;
/// How many events to read at once.
const PAGE: usize = 512;

/// A session as it was at one moment, and a cursor behind that moment.
pub(crate) struct Attached {
    /// The session at that moment.
    pub(crate) info: SessionInfo,
    /// The newest items, and all that are not settled.
    pub(crate) follower: Follower,
    /// All that follows.
    pub(crate) subscription: Subscription,
}

impl Gate {
    /// Attaches to a session.
    pub(crate) async fn attach(&self, session: SessionId) -> Result<Attached, GateError> {
        let mut window = self.timeline(session).await?.window(NEWEST);
        let info = self.session(session).await?;
        // The session went on between the two answers.
        while window.head < info.head {
            let frames = self.events(session, window.head, PAGE, WithRaw::No).await?;
            let Some(last) = frames.last().map(longshore_model::frame::Frame::seq) else { break };
            for frame in frames.iter().take_while(|frame| frame.seq() <= info.head) {
                let unreadable = |source| HubError::Unreadable { seq: frame.seq(), source };
                window.apply(frame.event().map_err(unreadable)?);
            }
            window.head = window.head.max(last.min(info.head));
        }
        let subscription = self.subscribe(session, window.head, WithRaw::No).await?;
        Ok(Attached { info, follower: Follower { window }, subscription })
    }

    /// Attaches to a session where it was at an earlier moment, which `end` chooses: what followed comes once more.
    /// Returns the whole timeline, too.
    pub(crate) async fn attach_earlier(
        &self,
        session: SessionId,
        end: impl FnOnce(&Timeline) -> Seq + Send,
    ) -> Result<(Arc<Timeline>, Attached), GateError> {
        let timeline = self.timeline(session).await?;
        let end = end(&timeline).min(timeline.head);
        let info = self.session(session).await?;
        let subscription = self.subscribe(session, end, WithRaw::No).await?;
        let window = timeline.begun_by(end).window(NEWEST);
        Ok((timeline, Attached { info, follower: Follower { window }, subscription }))
    }

    /// Attaches to a session whose events up to a seq the client has. The follower knows the session as it is now, and
    /// what the client missed comes once more.
    pub(crate) async fn attach_after(&self, session: SessionId, after: Seq) -> Result<Attached, GateError> {
        let mut window = self.timeline(session).await?.window(NEWEST);
        let info = self.session(session).await?;
        let subscription = self.subscribe(session, after, WithRaw::No).await?;
        window.head = after;
        Ok(Attached { info, follower: Follower { window }, subscription })
    }
}

/// The part of a session's timeline that may still change.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    window: Timeline,
}

impl Follower {
    /// The items that it holds, in their order.
    pub(crate) fn timeline(&self) -> &Timeline {
        &self.window
    }

    /// Folds an event, and returns what it changed.
    pub(crate) fn apply<'a>(&'a mut self, event: &'a Event) -> Option<ItemChange<'a>> {
        if self.window.items.len() > 4 * NEWEST {
            let open = self.window.items.iter().filter(|item| item.ended_at.is_none()).count();
            if self.window.items.len() > 2 * (NEWEST + open) {
                self.window = self.window.window(NEWEST);
            }
        }
        self.window.apply(event)
    }
}
