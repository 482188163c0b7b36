//! Repeats a write until it succeeds: what a full disk refused must be recorded before the next start.

use std::sync::{Arc, Weak};
use std::time::Duration;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// Repeats a task every few seconds until it reports that nothing is left, or until its owner is gone.
pub(crate) fn until_done<T, F>(whose: Weak<T>, attempt: impl Fn(Arc<T>) -> F + Send + 'static)
where
    T: Send + Sync + 'static,
    F: Future<Output = bool> + Send,
{
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(PAUSE).await;
            let Some(whose) = whose.upgrade() else { return };
            if attempt(whose).await {
                return;
            }
        }
    });
}
