//! Erasing: deletes a session for good, with its log, its row and its data in memory.

use longshore_model::id::SessionId;

use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;

impl Hub {
    /// Erases a session. The hub first stops the agent. Followers learn that the session does not exist. The
    /// agent's own record stays, and the hub does not import it again.
    pub async fn erase(&self, session: SessionId) -> Result<(), HubError> {
        let handle = self.wake_existing(session).await?;
        self.orphan_children(session);
        self.inner.importing.lock().await.remove(&session);
        self.request(&handle, |reply| FromClient::Erase { reply }).await
    }
}
