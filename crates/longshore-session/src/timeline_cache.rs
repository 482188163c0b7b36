//! A cache of recent timelines, each folded further on demand: a person who scrolls back through a long
//! session requests it page by page.

use std::sync::{Arc, Mutex};

use longshore_log::Journal;
use longshore_model::id::{Seq, SessionId};
use longshore_model::timeline::{Item, Timeline};
use tokio::sync::Mutex as AsyncMutex;

use crate::error::HubError;
use crate::hub::lock;
use crate::transcript::fold_on;

/// The most cached timelines.
const KEPT: usize = 8;
/// The most bytes of text that they may hold together. A timeline that is larger by itself is folded anew
/// each time.
const KEPT_BYTES: usize = 32 << 20;

type SharedTimeline = Arc<AsyncMutex<Arc<Timeline>>>;

/// The cached timelines, the most recently used one first.
#[derive(Default)]
pub(crate) struct TimelineCache {
    cached: Mutex<Vec<CachedTimeline>>,
}

struct CachedTimeline {
    session: SessionId,
    timeline: SharedTimeline,
    bytes: usize,
}

impl TimelineCache {
    /// The timeline of a session, at least up to `head`.
    pub(crate) async fn timeline(
        &self,
        journal: &dyn Journal,
        session: SessionId,
        head: Seq,
    ) -> Result<Arc<Timeline>, HubError> {
        let shared = self.find(session);
        // Whoever asks for the same one meanwhile waits, and finds it folded.
        let mut timeline = shared.lock().await;
        if timeline.head < head {
            let folded =
                fold_on(journal, session, Arc::unwrap_or_clone(std::mem::take(&mut *timeline))).await?;
            *timeline = Arc::new(folded);
        }
        let found = Arc::clone(&timeline);
        drop(timeline);
        self.weigh(session, found.items.iter().map(bytes_of).sum());
        Ok(found)
    }

    /// Empties the cache, because sessions were deleted.
    pub(crate) fn clear(&self) {
        lock(&self.cached).clear();
    }

    /// Removes a deleted session.
    pub(crate) fn remove(&self, session: SessionId) {
        lock(&self.cached).retain(|one| one.session != session);
    }

    fn find(&self, session: SessionId) -> SharedTimeline {
        let mut cached = lock(&self.cached);
        let found = match cached.iter().position(|one| one.session == session) {
            Some(at) => cached.remove(at),
            None => CachedTimeline { session, timeline: SharedTimeline::default(), bytes: 0 },
        };
        let timeline = Arc::clone(&found.timeline);
        cached.insert(0, found);
        cached.truncate(KEPT);
        timeline
    }

    /// Notes the size of a timeline, and drops others if there is no room.
    fn weigh(&self, session: SessionId, bytes: usize) {
        let mut cached = lock(&self.cached);
        if let Some(found) = cached.iter_mut().find(|one| one.session == session) {
            found.bytes = bytes;
        }
        let mut all = 0;
        cached.retain(|one| {
            let fits = all + one.bytes <= KEPT_BYTES;
            all += if fits { one.bytes } else { 0 };
            fits
        });
    }
}

/// The approximate size of an item.
fn bytes_of(item: &Item) -> usize {
    size_of::<Item>() + item.text.len()
}
