//! Finding a prompt again by its name, for clients that resume what they once asked for.

use longshore_model::id::SessionId;
use longshore_model::session::{KeyedPrompt, PromptName};

use crate::error::HubError;
use crate::hub::Hub;
use crate::message::FromClient;

impl Hub {
    /// The prompt of a session with this name, also long after its turn ended.
    pub async fn keyed_prompt(
        &self,
        session: SessionId,
        name: PromptName,
    ) -> Result<Option<KeyedPrompt>, HubError> {
        let handle = self.wake_existing(session).await?;
        self.request(&handle, |reply| FromClient::KeyedPrompt { name, reply }).await
    }
}
