//! Who comes in, and what each may do.
//!
//! A request or a connection has one [`Caller`], made when it comes in. What a caller may do is decided here, in
//! [`Caller::check`], and asked for in one place, the [`Gate`](crate::gate::Gate): whatever protocol a client
//! speaks, there is no other way to the hub.
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
pub(crate) use keys::Maker;
pub(crate) use prove::{ProveParams, prove};
pub(crate) use require::{address, bearer, longer_than, require, written};
pub(crate) use throttle::Throttle;

use crate::berth::Party;
use crate::problem::Problem;

/// What something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// To look, and to say how oneself wants to be told.
    Read,
    /// To decide what an agent asks to be allowed.
    Decide,
    /// Everything else that changes something: sessions, prompts, devices.
    Act,
    /// What is the owner's alone.
    Admin,
}

impl Access {
    /// What a wish takes.
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

/// The most that a device of a mode may do: the one place where that is said.
fn most_of(mode: DeviceMode) -> Access {
    match mode {
        DeviceMode::Full => Access::Act,
        DeviceMode::Approve => Access::Decide,
        DeviceMode::ReadOnly => Access::Read,
    }
}

/// Who a request or a connection comes from.
#[derive(Clone, Debug)]
pub struct Caller {
    who: Who,
    keys: Arc<Keys>,
    /// How often the owner's token had been rotated when this one came in.
    rotation: u64,
}

/// Whose token it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// The owner's.
    Owner,
    /// A device's own.
    Device(Device),
}

impl Caller {
    /// Whose token it was.
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// What others read when this one decides something.
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

    /// Whose its connections are.
    pub(crate) fn party(&self) -> Party {
        match &self.who {
            Who::Owner => Party::Owner,
            Who::Device(device) => Party::Device(device.id),
        }
    }

    /// What it may do, as devices say it.
    pub fn mode(&self) -> DeviceMode {
        match &self.who {
            Who::Owner => DeviceMode::Full,
            Who::Device(device) => device.mode,
        }
    }

    /// May this caller do this?
    pub fn may(&self, access: Access) -> bool {
        match &self.who {
            Who::Owner => true,
            Who::Device(device) => access <= most_of(device.mode),
        }
    }

    /// Refuses what this caller may not do, and everything once its token opens nothing any more: it may have begun to
    /// ask before that.
    pub fn check(&self, access: Access) -> Result<(), Problem> {
        if let Some(problem) = self.keys.why_out(self) {
            return Err(problem);
        }
        if self.may(access) { Ok(()) } else { Err(Problem::not_allowed(self.mode(), access)) }
    }

    /// Why this caller's token opens nothing any more, if so.
    pub(crate) fn why_out(&self) -> Option<Problem> {
        self.keys.why_out(self)
    }

    /// Resolves when this caller's token opens nothing any more, with why.
    pub(crate) async fn put_out(&self) -> Problem {
        self.keys.until_out(self).await
    }

    /// Resolves when this caller is to leave: its device was revoked, or the owner's token rotated. Devices leave then too,
    /// and may come back.
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
