//! Finding a prompt again: by the client's own name for it, or by its turn. Clients of protocols that resume a request
//! hold nothing else of it.

use super::Session;
use crate::id::{Seq, TurnId};

/// What names a prompt that the session has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptName {
    /// The client's own name for the prompt.
    Key(String),
    /// The turn of the prompt.
    Turn(TurnId),
}

/// A prompt for which a client has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedPrompt {
    /// The client's own name for the prompt.
    pub key: String,
    /// The turn that the prompt begins or steers.
    pub turn: TurnId,
    /// The event that recorded the prompt.
    pub seq: Seq,
}

impl Session {
    /// The prompt with this name. If several prompts have this turn, it is the first of them.
    pub fn keyed_prompt(&self, name: &PromptName) -> Option<KeyedPrompt> {
        let (key, receipt) = match name {
            PromptName::Key(key) => self.keys.get(key).map(|receipt| (key, receipt)),
            PromptName::Turn(turn) => {
                let of_turn = self.keys.iter().filter(|(_, receipt)| receipt.turn == *turn);
                of_turn.min_by_key(|(_, receipt)| receipt.seq)
            }
        }?;
        Some(KeyedPrompt { key: key.clone(), turn: receipt.turn, seq: receipt.seq })
    }
}
