//! Trying again until it is done: what a full disk did not take must be in it before the next start.

use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long a disk has to get room.
const PAUSE: Duration = Duration::from_secs(2);

/// Does something every few seconds until it says that nothing is left to do, or until whoever it belongs to is gone.
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
