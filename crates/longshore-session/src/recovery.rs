//! Recovery after a crash: repairs what was left open. Requests over all sessions wait for it.

use std::time::Duration;

use tracing::{info, warn};

use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;

/// How long recovery may delay such requests.
const RECOVERED_WITHIN: Duration = Duration::from_secs(10);

impl Hub {
    /// Repairs what a crash left open: running turns, waiting approvals, queued prompts.
    pub async fn recover(&self) -> Result<usize, HubError> {
        let unfinished = self.inner.catalog.unfinished().await?;
        self.inner.recovered.send_replace(unfinished.is_empty());
        for info in &unfinished {
            let handle = self.wake(info.session_id, info.head);
            let _ = handle.clients.send(FromClient::Wake).await;
        }
        let (hub, sessions) =
            (self.clone(), unfinished.iter().map(|info| info.session_id).collect::<Vec<_>>());
        tokio::spawn(async move {
            for session in sessions {
                // Whoever tells how it stands has set it right before.
                if let Err(error) = hub.session(session).await {
                    warn!(%session, %error, "cannot set right what a crash left open");
                }
            }
            hub.inner.recovered.send_replace(true);
        });
        if !unfinished.is_empty() {
            info!(sessions = unfinished.len(), "sessions that were cut short are being set right");
        }
        Ok(unfinished.len())
    }

    /// Waits for the recovery. Before it, nobody knows which turns were interrupted and which approvals are
    /// void, and rows show agents at work that are long gone.
    pub(crate) async fn until_recovered(&self) {
        let mut recovered = self.inner.recovered.subscribe();
        let waiting = recovered.wait_for(|recovered| *recovered);
        if tokio::time::timeout(RECOVERED_WITHIN, waiting).await.is_err() {
            warn!("what a crash left open is not set right yet; lists and inbox may tell of what is gone");
        }
    }
}
