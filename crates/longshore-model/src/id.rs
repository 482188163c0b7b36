//! Ids: UUIDv7 newtypes, the dense [`Seq`] of each session, and a source of ids without a clock.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::Timestamp;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(with = "String")] pub Uuid);

        impl $name {
            /// A new id, ordered by time.
            pub fn mint(cx: &mut Context<'_>) -> Self {
                Self(cx.ids.next(cx.now))
            }

            /// The id of something that another program has named: the same words always give the same id.
            pub fn of_words(words: &[&str]) -> Self {
                Self(of_words(words))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )*};
}

ids! {
    /// One conversation with one agent in one work tree.
    SessionId,
    /// One fact of one session; derived from the session and the seq, see [`EventId::of`].
    EventId,
    /// From a prompt to the agent's rest.
    TurnId,
    /// A thing on the timeline that can grow.
    ItemId,
    /// A prompt of a client.
    PromptId,
    /// A request that blocks the agent until a person decides it.
    ApprovalId,
    /// A question of an agent whose answer is data.
    QuestionId,
    /// A query of the hub to an anchor.
    QueryId,
    /// A paired client with its own token.
    DeviceId,
}

impl SessionId {
    /// The id of a session for a conversation that happened elsewhere. The same conversation always gives the
    /// same id, so the hub imports it once.
    pub fn of_past(agent: &str, native: &str) -> Self {
        Self::of_words(&[agent, native])
    }
}

impl EventId {
    /// The id of an event, derived from its session and its seq.
    ///
    /// The id is not random, so writing a batch twice equals writing it once.
    pub fn of(session: SessionId, seq: Seq, at: Timestamp) -> Self {
        let (high, low) = session.0.as_u64_pair();
        Self(uuid_v7(at, scramble(high ^ seq.0), scramble(low.wrapping_add(seq.0))))
    }
}

/// The place of an event in its session: dense, from 1. Zero is before the first event.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event.
    pub const ZERO: Seq = Seq(0);

    /// The next seq.
    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a pure machine may know of the outside world: the time of the call, and a source of new ids.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time of the call, which the caller has read.
    pub now: Timestamp,
    /// The source of new ids.
    pub ids: &'a mut Ids,
}

/// A source of UUIDv7s that depends only on its seed, so a replay makes the same ids.
#[derive(Clone, Debug)]
pub struct Ids {
    state: u64,
}

impl Ids {
    /// A source with a seed: random in the running program, fixed in a test.
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next id, stamped with `now`.
    pub fn next(&mut self, now: Timestamp) -> Uuid {
        let mut draw = || {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            scramble(self.state)
        };
        let (high, low) = (draw(), draw());
        uuid_v7(now, high, low)
    }
}

/// The finalizer of splitmix64: every input bit reaches every output bit.
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A UUID that is a function of words, between which stands a zero.
fn of_words(words: &[&str]) -> Uuid {
    let mut bits = (0x6c6f_6e67_7368_6f72_u64, 0x7061_7374_7365_7373_u64);
    for (at, word) in words.iter().enumerate() {
        let between: &[u8] = if at == 0 { &[] } else { &[0] };
        for byte in between.iter().copied().chain(word.bytes()) {
            bits.0 = scramble(bits.0 ^ u64::from(byte));
            bits.1 = scramble(bits.1.wrapping_add(bits.0));
        }
    }
    uuid::Builder::from_custom_bytes(Uuid::from_u64_pair(bits.0, bits.1).into_bytes()).into_uuid()
}

fn uuid_v7(at: Timestamp, high: u64, low: u64) -> Uuid {
    let millis = (at.micros().max(0) as u64) / 1_000;
    let head = (millis << 16) | 0x7000 | (high & 0x0fff);
    let tail = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    Uuid::from_u64_pair(head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_and_ordered_by_time() {
        let mut ids = Ids::seeded(7);
        let early = ids.next(Timestamp::from_micros(1_000_000));
        let late = ids.next(Timestamp::from_micros(2_000_000));
        assert_eq!(early.get_version_num(), 7);
        assert!(early < late);
    }

    #[test]
    fn an_event_id_is_a_function_of_session_seq_and_time() {
        let mut ids = Ids::seeded(1);
        let at = Timestamp::from_micros(5);
        let session = SessionId(ids.next(at));
        assert_eq!(EventId::of(session, Seq(3), at), EventId::of(session, Seq(3), at));
        assert_ne!(EventId::of(session, Seq(3), at), EventId::of(session, Seq(4), at));
    }
}
