//! How far the conversation with a process is that has to be greeted first.

/// Where it stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing was said yet.
    #[default]
    Silent,
    /// `initialize` is on its way.
    Greeting,
    /// It listens.
    Listening,
    /// It cannot be used, for this reason.
    Refused(String),
}
