//! Timelines that were looked at lately, each folded on from where it was: whoever scrolls back through a long session
//! asks for it page by page.

use std::sync::{Arc, Mutex};

use longshore_log::Log;
use longshore_model::id::{Seq, SessionId};
use longshore_model::timeline::{Item, Timeline};
use tokio::sync::Mutex as AsyncMutex;

use crate::error::HubError;
use crate::hub::lock;
use crate::transcript::fold_on;

/// How many timelines are kept.
const KEPT: usize = 8;
/// How much text they may hold together. A timeline that is larger by itself is folded anew each time.
const KEPT_BYTES: usize = 32 << 20;

type Shared = Arc<AsyncMutex<Arc<Timeline>>>;

/// The timelines, the last one looked at first.
#[derive(Default)]
pub(crate) struct TimelineCache {
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    session: SessionId,
    timeline: Shared,
    bytes: usize,
}

impl TimelineCache {
    /// The timeline of a session that reaches to `head`, at least.
    pub(crate) async fn timeline(
        &self,
        log: &dyn Log,
        session: SessionId,
        head: Seq,
    ) -> Result<Arc<Timeline>, HubError> {
        let shared = self.find(session);
        // Whoever asks for the same one meanwhile waits, and finds it folded.
        let mut timeline = shared.lock().await;
        if timeline.head < head {
            let folded = fold_on(log, session, Arc::unwrap_or_clone(std::mem::take(&mut *timeline))).await?;
            *timeline = Arc::new(folded);
        }
        let found = Arc::clone(&timeline);
        drop(timeline);
        self.weigh(session, found.items.iter().map(bytes_of).sum());
        Ok(found)
    }

    /// Lets go of all of them: sessions were forgotten.
    pub(crate) fn clear(&self) {
        lock(&self.kept).clear();
    }

    /// Lets go of one that is gone for good.
    pub(crate) fn remove(&self, session: SessionId) {
        lock(&self.kept).retain(|kept| kept.session != session);
    }

    fn find(&self, session: SessionId) -> Shared {
        let mut kept = lock(&self.kept);
        let found = match kept.iter().position(|kept| kept.session == session) {
            Some(at) => kept.remove(at),
            None => Kept { session, timeline: Shared::default(), bytes: 0 },
        };
        let timeline = Arc::clone(&found.timeline);
        kept.insert(0, found);
        kept.truncate(KEPT);
        timeline
    }

    /// Notes how large a timeline has become, and lets go of those for which there is no room.
    fn weigh(&self, session: SessionId, bytes: usize) {
        let mut kept = lock(&self.kept);
        if let Some(found) = kept.iter_mut().find(|kept| kept.session == session) {
            found.bytes = bytes;
        }
        let mut all = 0;
        kept.retain(|kept| {
            let fits = all + kept.bytes <= KEPT_BYTES;
            all += if fits { kept.bytes } else { 0 };
            fits
        });
    }
}

/// About how much an item holds.
fn bytes_of(item: &Item) -> usize {
    size_of::<Item>() + item.text.len()
}
