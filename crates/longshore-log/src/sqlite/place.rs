//! The place of an event: the key of its session and its seq, in one integer.

use std::ops::RangeInclusive;

use longshore_model::id::Seq;

/// The bits of a seq: a trillion events per session, eight million sessions per log.
pub(super) const SEQ_BITS: u32 = 40;
const LAST_SEQ: u64 = (1 << SEQ_BITS) - 1;

/// The place of an event.
pub(super) fn place(key: i64, seq: Seq) -> i64 {
    (key << SEQ_BITS) | (seq.0.min(LAST_SEQ) as i64)
}

/// The seq of a place.
pub(super) fn seq(place: i64) -> Seq {
    Seq((place as u64) & LAST_SEQ)
}

/// All places of a session.
pub(super) fn all(key: i64) -> RangeInclusive<i64> {
    place(key, Seq::ZERO)..=place(key, Seq(LAST_SEQ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_tells_session_and_seq() {
        assert_eq!((place(7, Seq(9)) >> SEQ_BITS, seq(place(7, Seq(9)))), (7, Seq(9)));
        assert_eq!(seq(place(7, Seq(u64::MAX))), Seq(LAST_SEQ), "past the end is the end");
        assert!(place(7, Seq(LAST_SEQ)) < place(8, Seq::ZERO));
    }
}
