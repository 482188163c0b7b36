//! The news for listeners of the list of sessions.

use std::sync::Arc;

use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;

/// A change of the list of sessions.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A session is new, or its row has changed.
    Row(Arc<SessionInfo>),
    /// A session was deleted for good.
    Erased(SessionId),
}
