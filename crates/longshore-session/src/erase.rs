//! Erasing: a session goes for good, with its log, its row and whatever is held of it in memory.

use longshore_model::id::SessionId;

use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;

impl Hub {
    /// Erases a session. Its agent is stopped first; whoever follows it is told that there is no such session; an
    /// agent's own record of it stays where it is, and is not taken in again.
    pub async fn erase(&self, session: SessionId) -> Result<(), HubError> {
        let handle = self.wake_existing(session).await?;
        self.orphan_children(session);
        self.inner.importing.lock().await.remove(&session);
        self.request(&handle, |reply| FromClient::Erase { reply }).await
    }
}
