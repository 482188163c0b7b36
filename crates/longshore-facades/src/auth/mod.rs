//! Who may connect, and what each caller may do.
//!
//! Every request and every connection has one [`Caller`]. [`Caller::check`] decides what a caller may do, and one place
//! asks it: the [`Gate`](crate::gate::Gate). No protocol has another way to the hub.
//!
//! | access | owner | full | approve | read_only |
//! |---|---|---|---|---|
//! | [`Access::Read`] | yes | yes | yes | yes |
//! | [`Access::Decide`] | yes | yes | yes | no |
//! | [`Access::Act`] | yes | yes | no | no |
//! | [`Access::Admin`] | yes | no | no | no |

mod cookie;
mod keys;
mod prove;
mod require;
mod throttle;
mod token;

use std::sync::Arc;

use longshore_model::command::Command;
use longshore_model::device::{Device, DeviceMode};
use longshore_model::id::DeviceId;

pub use keys::{Keep, Keys, Owner};
pub use prove::{Challenge, PROVABLE};
pub use token::Token;

pub(crate) use cookie::{forgotten, given};
pub(crate) use keys::{Maker, TokenLookup};
pub(crate) use prove::{ProveParams, prove};
pub(crate) use require::{address, bearer, in_query, longer_than, require, written};
pub(crate) use throttle::Throttle;

use crate::berth::Party;

/// The access that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reading, and setting one's own presence and pushes.
    Read,
    /// Deciding approvals.
    Decide,
    /// Everything else that changes something: sessions, prompts, devices.
    Act,
    /// What only the owner may do.
    Admin,
}

/// Why a caller is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The caller's mode does not allow it.
    #[error("a device of mode {mode} may not {}", .access.words())]
    NotAllowed {
        /// The caller's mode.
        mode: DeviceMode,
        /// What it takes.
        access: Access,
    },
    /// The owner's token was rotated, and the caller came in with the old one.
    #[error("this token is not a token of this hub")]
    Rotated,
    /// The caller's device was revoked.
    #[error("this device was revoked")]
    Revoked,
}

impl Access {
    /// What somebody does who has it, for a sentence.
    fn words(self) -> &'static str {
        match self {
            Access::Read => "read this",
            Access::Decide => "decide this",
            Access::Act => "change anything here",
            Access::Admin => "do this; only the owner may",
        }
    }

    /// The access that a command needs.
    pub fn of(command: &Command) -> Self {
        match command {
            // With other arguments it would be another command, and with words it is something said to the agent: both
            // are more than a yes.
            Command::Decide { input: Some(_), .. } | Command::Decide { message: Some(_), .. } => Access::Act,
            Command::Decide { input: None, message: None, .. } => Access::Decide,
            Command::Prompt(_)
            | Command::EditPrompt { .. }
            | Command::CancelPrompt { .. }
            | Command::Reorder { .. }
            | Command::SendQueued { .. }
            | Command::DiscardQueue
            | Command::Interrupt
            | Command::Recall
            // An answer is words to the agent, as a prompt is.
            | Command::Answer { .. }
            | Command::SetMode(_)
            | Command::SetModel(_)
            | Command::SetEffort(_)
            | Command::Rename(_)
            | Command::Archive(_)
            | Command::Revive { .. }
            | Command::Resume
            | Command::Release { .. }
            | Command::Close => Access::Act,
        }
    }
}

/// The most access of a mode. Only this function decides that.
fn most_of(mode: DeviceMode) -> Access {
    match mode {
        DeviceMode::Full => Access::Act,
        DeviceMode::Approve => Access::Decide,
        DeviceMode::ReadOnly => Access::Read,
    }
}

/// The caller of a request or a connection.
#[derive(Clone, Debug)]
pub struct Caller {
    who: Who,
    keys: Arc<Keys>,
    /// How often the owner's token had been rotated when the caller connected.
    rotation: u64,
}

/// Whose token the caller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The owner's token.
    Owner,
    /// A device's token.
    Device(Device),
}

impl Caller {
    /// Whose token the caller has.
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// The name that others see beside the caller's decisions.
    pub fn name(&self) -> &str {
        match &self.who {
            Who::Owner => "owner",
            Who::Device(device) => &device.label,
        }
    }

    /// The device; none for the owner.
    pub fn device(&self) -> Option<DeviceId> {
        match &self.who {
            Who::Owner => None,
            Who::Device(device) => Some(device.id),
        }
    }

    /// The owner of the caller's connections.
    pub(crate) fn party(&self) -> Party {
        match &self.who {
            Who::Owner => Party::Owner,
            Who::Device(device) => Party::Device(device.id),
        }
    }

    /// The caller's mode, in the terms of devices.
    pub fn mode(&self) -> DeviceMode {
        match &self.who {
            Who::Owner => DeviceMode::Full,
            Who::Device(device) => device.mode,
        }
    }

    /// Whether the caller has this access.
    pub fn may(&self, access: Access) -> bool {
        match &self.who {
            Who::Owner => true,
            Who::Device(device) => access <= most_of(device.mode),
        }
    }

    /// Refuses what the caller may not do, and everything once its token is no longer valid: its request may
    /// have begun earlier.
    pub fn check(&self, access: Access) -> Result<(), Denial> {
        if let Some(denial) = self.keys.why_out(self) {
            return Err(denial);
        }
        if self.may(access) { Ok(()) } else { Err(Denial::NotAllowed { mode: self.mode(), access }) }
    }

    /// Why the caller's token is no longer valid, if so.
    pub(crate) fn why_out(&self) -> Option<Denial> {
        self.keys.why_out(self)
    }

    /// Resolves with the reason when the caller's token is no longer valid.
    pub(crate) async fn put_out(&self) -> Denial {
        self.keys.until_out(self).await
    }

    /// Resolves when the caller must leave: its device was revoked, or the owner's token rotated. After a
    /// rotation, devices must leave too, and may reconnect.
    pub async fn dismissed(&self) {
        self.keys.until_dismissed(self).await;
    }
}

#[cfg(test)]
mod tests {
    use longshore_log::MemoryLog;
    use longshore_model::approval::Decision;
    use longshore_model::id::ApprovalId;
    use longshore_session::Hub;

    use super::keys::TokenLookup;
    use super::*;

    #[test]
    fn other_arguments_and_words_are_more_than_a_yes() {
        let decide = |message: Option<&str>, input| Command::Decide {
            approval: ApprovalId::of_words(&["a"]),
            decision: Decision::AllowOnce,
            message: message.map(str::to_owned),
            input,
        };
        assert_eq!(Access::of(&decide(None, None)), Access::Decide);
        assert_eq!(Access::of(&decide(None, Some(serde_json::json!({ "command": "rm" })))), Access::Act);
        assert_eq!(Access::of(&decide(Some("do this instead"), None)), Access::Act);
        assert_eq!(Access::of(&Command::Interrupt), Access::Act);
    }

    #[tokio::test]
    async fn who_was_put_out_is_refused_whatever_it_may_do() {
        let owner = Owner { token: Token::new("s3cret"), keep: Some(Box::new(|_| Ok(()))) };
        let keys = Keys::load(Hub::new(Arc::new(MemoryLog::default())), owner).await.unwrap();
        let caller = |token: &Token| match keys.recognise(token) {
            TokenLookup::Caller(caller) => caller,
            TokenLookup::Revoked | TokenLookup::Unknown => panic!("not known"),
        };
        let (token, device) = keys.add("phone".to_owned(), DeviceMode::Full).await.unwrap();
        let (phone, owner) = (caller(&token), caller(&Token::new("s3cret")));
        assert!(phone.check(Access::Act).is_ok() && owner.check(Access::Admin).is_ok());
        keys.rotate().unwrap();
        assert!(owner.check(Access::Read).is_err(), "its token is another one by now");
        assert!(phone.check(Access::Act).is_ok(), "its own token is as it was");
        keys.revoke(device.id).await.unwrap();
        assert!(phone.check(Access::Read).is_err());
    }
}
