//! The story of compaction: which events it drops, and which it keeps.

use std::collections::BTreeMap;

use longshore_model::event::{Body, Growth};
use longshore_model::frame::Frame;
use longshore_model::id::Seq;
use longshore_model::item::{ToolOutcome, ToolStatus};
use uuid::Uuid;

use super::journal::read_event;
use super::sample::{Talk, all, append, at, end, item, parts, seqs, turn};
use crate::{Stores, WithRaw};

fn fold(frames: &[Frame]) -> (BTreeMap<Uuid, String>, Vec<String>) {
    let (mut items, mut facts) = (BTreeMap::<Uuid, String>::new(), Vec::new());
    for frame in frames {
        let event = frame.event().unwrap();
        let item = event.item.map(|item| item.0).unwrap_or_default();
        match event.body.growth() {
            Growth::Delta => items.entry(item).or_default().push_str(event.text()),
            Growth::Final => {
                items.insert(item, event.text().to_owned());
            }
            Growth::Fact => facts.push(frame.json().to_owned()),
        }
    }
    (items, facts)
}

pub(super) async fn compaction_changes_nothing_that_is_seen(log: &Stores) {
    let mut talk = Talk::new(30);
    let mut frames = Vec::new();
    for number in 31..34 {
        frames.extend(talk.turn_of(number, &["one ", "two ", "three"]));
    }
    // One batch per event, as a slow agent produces them.
    for frame in &frames {
        append(&*log.journal, talk.batch(vec![frame.clone()])).await.unwrap();
    }
    assert_eq!(log.journal.compact(at(0)).await.unwrap().events, 0, "no turn ended before time began");
    assert_eq!(parts(&all(&*log.journal, talk.session, 100, WithRaw::Yes).await), parts(&frames));

    // The first turn ends with its 7th event, at second 7; the second turn ends at second 14.
    let compacted = log.journal.compact(at(8)).await.unwrap();
    assert_eq!((compacted.sessions, compacted.events), (2, 3 + 2), "here and in session 2");
    let compacted = log.journal.compact(at(15)).await.unwrap();
    assert_eq!((compacted.sessions, compacted.events), (2, 3 + 4), "here and in session 1");
    assert_eq!(log.journal.compact(at(15)).await.unwrap(), Default::default(), "once is enough");

    let kept = all(&*log.journal, talk.session, 2, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    assert_eq!(fold(&kept), fold(&frames));
    let mut expected = parts(&frames);
    expected.retain(|(seq, ..)| seqs(&kept).contains(seq));
    assert_eq!(parts(&kept), expected, "what is left is as it was, raw frames too");

    // A client that stopped reading among the dropped events continues without a gap and without a duplicate.
    for after in 0..=21 {
        let rest = log.journal.read(talk.session, Seq(after), 100, WithRaw::No).await.unwrap();
        assert!(seqs(&rest).iter().all(|seq| *seq > after));
        let caught_up = [&frames[..after as usize], &rest].concat();
        assert_eq!(fold(&caught_up), fold(&frames), "after {after}");
    }
    let more = talk.turn_of(35, &["four"]);
    append(&*log.journal, talk.batch(more)).await.unwrap();
    assert_eq!(end(&*log.journal, talk.session).await, talk.seq);
}

pub(super) async fn compaction_spares_what_is_not_said_again(log: &Stores) {
    let mut talk = Talk::new(40);
    let mut frames = talk.turn_of(41, &["in ", "a turn"]);
    let ended = frames.pop().unwrap();
    talk.seq = Seq(talk.seq.0 - 1);
    talk.turn = Some(turn(41));
    let outlives = item(42);
    frames.push(talk.say(Body::ToolOutputDelta, Some(outlives), "a tool that outlives its turn", Some("{}")));
    frames.push(talk.say(Body::PlanUpdated { steps: Vec::new() }, Some(item(43)), "a plan", None));
    frames.push(talk.say(Body::PlanDelta, Some(item(43)), "that grew once more", None));
    let finished = read_event(&ended).body;
    frames.push(talk.say(finished, None, "", None));
    append(&*log.journal, talk.batch(frames.clone())).await.unwrap();

    let drop_of = async |ended| log.journal.compact(ended).await.unwrap().events;
    assert_eq!(drop_of(at(500)).await, 2 + 3 + 1, "two here, and what other sessions had left");
    let kept = all(&*log.journal, talk.session, 100, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 5, 6, 7, 8, 9]);
    assert_eq!(fold(&kept), fold(&frames));

    // In the next turn the tool ends, and the session's last event is a delta of a finished item. This delta
    // stays.
    let next = talk.turn_of(44, &["x"]);
    append(&*log.journal, talk.batch(next)).await.unwrap();
    talk.turn = Some(turn(44));
    let ended = Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed));
    let late = vec![
        talk.say(ended, Some(outlives), "a tool that outlived its turn", None),
        talk.say(Body::MessageDelta, Some(item(44)), "a late delta", None),
    ];
    append(&*log.journal, talk.batch(late)).await.unwrap();
    assert_eq!(drop_of(at(500)).await, 2, "the tool's output of the turn before, and this turn's x");
    let kept = all(&*log.journal, talk.session, 100, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16]);
    assert_eq!(end(&*log.journal, talk.session).await, Seq(16));
}
