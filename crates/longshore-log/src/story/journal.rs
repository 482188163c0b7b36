//! The story of a journal.

use longshore_model::event::Body;
use longshore_model::frame::Frame;
use longshore_model::id::Seq;

use super::compaction::{compaction_changes_nothing_that_is_seen, compaction_spares_what_is_not_said_again};
use super::fence::{
    an_append_that_comes_again_is_written_once, of_many_who_continue_a_session_one_does,
    whoever_watches_sees_what_is_appended,
};
use super::sample::{Talk, all, append, end, item, parts, seqs, session};
use super::{Reopen, fence};
use crate::{Batch, LogError, PAGE_BYTES, Stores, WithRaw};

/// Tests everything that a journal promises.
pub async fn journal(log: Stores, reopen: Reopen<'_>) {
    events_are_read_as_they_were_written(&log).await;
    a_page_holds_no_more_than_a_page(&log).await;
    only_what_follows_is_taken(&log).await;
    let log = reopen(log);
    events_go_on_after_a_restart(&log).await;
    compaction_changes_nothing_that_is_seen(&log).await;
    let log = reopen(log);
    compaction_spares_what_is_not_said_again(&log).await;
    let log = an_append_that_comes_again_is_written_once(log, reopen).await;
    of_many_who_continue_a_session_one_does(&log).await;
    whoever_watches_sees_what_is_appended(&log).await;
    fence::whoever_follows_misses_nothing(&log).await;
}

async fn events_are_read_as_they_were_written(log: &Stores) {
    let mut talk = Talk::new(1);
    assert_eq!(end(&*log.journal, talk.session).await, Seq::ZERO);
    assert!(log.journal.read(talk.session, Seq::ZERO, 10, WithRaw::Yes).await.unwrap().is_empty());

    let frames = talk.turn_of(1, &["Lift ", "the ", "anchor, ", "wörld\u{0}\u{1f6a2}"]);
    for batch in [&frames[..3], &frames[3..4], &frames[4..]] {
        append(&*log.journal, talk.batch(batch.to_vec())).await.unwrap();
    }
    assert_eq!(end(&*log.journal, talk.session).await, talk.seq);

    for page in [1, 2, 3, 100] {
        let read = all(&*log.journal, talk.session, page, WithRaw::Yes).await;
        assert_eq!(parts(&read), parts(&frames), "in pages of {page}");
    }
    assert_eq!(
        read_event(&frames[4]),
        read_event(&all(&*log.journal, talk.session, 100, WithRaw::No).await[4])
    );
    let bare = log.journal.read(talk.session, Seq(2), 3, WithRaw::No).await.unwrap();
    assert_eq!(seqs(&bare), [3, 4, 5]);
    assert!(bare.iter().all(|frame| frame.raw().is_none()));
    let past = log.journal.read(talk.session, Seq(u64::MAX), 3, WithRaw::Yes).await.unwrap();
    assert!(past.is_empty(), "nothing follows the end of all sessions");
    assert!(log.journal.read(talk.session, Seq::ZERO, 0, WithRaw::Yes).await.unwrap().is_empty());
}

async fn a_page_holds_no_more_than_a_page(log: &Stores) {
    let mut talk = Talk::new(3);
    let (word, line) = ("w".repeat(1 << 20), "r".repeat(2 << 20));
    let mut frames: Vec<Frame> =
        (0..9).map(|_| talk.say(Body::MessageDelta, Some(item(3)), &word, Some(&line))).collect();
    // A watch gets only a part of a long run of events, and one event is larger than a page.
    frames.extend((0..9).map(|_| talk.say(Body::MessageDelta, Some(item(3)), "", Some(&line))));
    frames.push(talk.say(Body::MessageDelta, Some(item(3)), &"w".repeat(PAGE_BYTES), Some(&line)));
    frames.push(talk.say(Body::MessageDelta, Some(item(3)), "", None));
    for frame in &frames {
        append(&*log.journal, talk.batch(vec![frame.clone()])).await.unwrap();
    }
    for raw in [WithRaw::Yes, WithRaw::No] {
        let (mut read, mut after) = (Vec::new(), Seq::ZERO);
        loop {
            let page = log.journal.read(talk.session, after, 1_000, raw).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.seq();
            let bytes: usize =
                page.iter().map(|frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len())).sum();
            assert!(bytes <= PAGE_BYTES || page.len() == 1, "{bytes} bytes of {} events", page.len());
            read.extend(page);
        }
        assert_eq!(seqs(&read), (1..=frames.len() as u64).collect::<Vec<_>>());
        assert!(raw == WithRaw::No || parts(&read) == parts(&frames), "as they were written");
    }
}

async fn only_what_follows_is_taken(log: &Stores) {
    let mut talk = Talk::new(2);
    let frames = talk.turn_of(2, &["a", "b"]);
    let refused = |frames: &[Frame]| append(&*log.journal, talk.batch(frames.to_vec()));

    let gap = refused(&frames[1..]).await.unwrap_err();
    assert!(matches!(gap, LogError::Gap { expected: Seq(1), found: Seq(2), .. }), "{gap}");
    append(&*log.journal, talk.batch(frames[..2].to_vec())).await.unwrap();
    let again = refused(&frames[..2]).await.unwrap_err();
    assert!(matches!(again, LogError::Gap { expected: Seq(3), found: Seq(1), .. }), "{again}");
    let hole = refused(&[frames[2].clone(), frames[4].clone()]).await.unwrap_err();
    assert!(matches!(hole, LogError::Gap { expected: Seq(4), found: Seq(5), .. }), "{hole}");
    assert_eq!(end(&*log.journal, talk.session).await, Seq(2), "nothing of a refused batch is kept");

    // A batch may have no events but only a row. The row that was written last counts.
    for title in ["first", "second"] {
        let info = Some(talk.info(|info| info.title = title.into()));
        append(&*log.journal, Batch { info, ..talk.batch(Vec::new()) }).await.unwrap();
    }
    assert_eq!(log.catalog.session(talk.session).await.unwrap().unwrap().title, "second");
    assert_eq!(end(&*log.journal, talk.session).await, Seq(2));
    assert!(log.catalog.session(session(1)).await.unwrap().is_none(), "no row was written for that one");
    assert!(log.catalog.session(session(99)).await.unwrap().is_none());
}

async fn events_go_on_after_a_restart(log: &Stores) {
    let mut talk = Talk::new(2);
    let frames = talk.turn_of(2, &["a", "b"]);
    assert_eq!(end(&*log.journal, talk.session).await, Seq(2));
    append(&*log.journal, talk.batch(frames[2..].to_vec())).await.unwrap();
    assert_eq!(parts(&all(&*log.journal, talk.session, 4, WithRaw::Yes).await), parts(&frames));
}

pub(super) fn read_event(frame: &Frame) -> longshore_model::event::Event {
    (**frame.event().unwrap()).clone()
}
