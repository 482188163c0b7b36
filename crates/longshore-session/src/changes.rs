//! What those hear who look on as sessions change.

use std::sync::Arc;

use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;

/// A change in the list of sessions.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A session is new, or its row reads otherwise now.
    Row(Arc<SessionInfo>),
    /// A session is gone for good.
    Erased(SessionId),
}
