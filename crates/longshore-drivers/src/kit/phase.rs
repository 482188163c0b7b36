//! The state of a connection to a process that needs a handshake first.

/// The state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No message yet.
    #[default]
    Silent,
    /// The driver has sent `initialize`.
    Greeting,
    /// The process has answered the handshake.
    Listening,
    /// The process is unusable, for this reason.
    Refused(String),
}
