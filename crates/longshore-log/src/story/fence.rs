//! The story of fencing: who may continue a session, and who is told.

use longshore_model::event::{Body, Growth};
use longshore_model::id::Seq;
use uuid::Uuid;

use super::Reopen;
use super::sample::{Talk, all, append, parts, seqs};
use crate::{FeedCursor, JournalChange, LogError, Mark, Stores, WithRaw};

pub(super) async fn an_append_that_comes_again_is_written_once(log: Stores, reopen: Reopen<'_>) -> Stores {
    let mut talk = Talk::new(70);
    let frames = talk.turn_of(70, &["a ", "b"]);
    let nonce = Uuid::from_u128;
    let first =
        log.journal.append(talk.batch(frames[..2].to_vec()), Mark::default(), nonce(0x700)).await.unwrap();
    assert_eq!(log.journal.head(talk.session).await.unwrap().mark, first);
    let again = talk.batch(frames[..2].to_vec());
    assert_eq!(log.journal.append(again.clone(), Mark::default(), nonce(0x700)).await.unwrap(), first);

    let log = reopen(log);
    assert_eq!(log.journal.append(again.clone(), Mark::default(), nonce(0x700)).await.unwrap(), first);
    let other = log.journal.append(again.clone(), Mark::default(), nonce(0x701)).await.unwrap_err();
    assert!(matches!(other, LogError::Fenced { session } if session == talk.session), "{other}");

    let second = log.journal.append(talk.batch(frames[2..].to_vec()), first, nonce(0x702)).await.unwrap();
    assert_ne!(first, second);
    let late = log.journal.append(again, Mark::default(), nonce(0x700)).await.unwrap_err();
    assert!(matches!(late, LogError::Fenced { .. }), "it is the end no more: {late}");
    assert_eq!(parts(&all(&*log.journal, talk.session, 10, WithRaw::Yes).await), parts(&frames));
    log
}

pub(super) async fn of_many_who_continue_a_session_one_does(log: &Stores) {
    let mut talk = Talk::new(71);
    let begun = vec![talk.say(Body::TitleChanged, None, "begun", None)];
    let mark = append(&*log.journal, talk.batch(begun)).await.unwrap();
    let writers = (0..16).map(|number: u32| {
        let journal = log.journal.clone();
        let mut talk = Talk { clock: i64::from(number), turn: None, ..talk };
        tokio::spawn(async move {
            let frames = vec![talk.say(Body::TitleChanged, None, &format!("writer {number}"), None)];
            let nonce = Uuid::from_u128(0x7100 + u128::from(number));
            journal.append(talk.batch(frames), mark, nonce).await
        })
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => assert!(matches!(error, LogError::Fenced { .. }), "{error}"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(seqs(&all(&*log.journal, talk.session, 10, WithRaw::No).await), [1, 2]);
}

pub(super) async fn whoever_watches_sees_what_is_appended(log: &Stores) {
    let (mut talk, mut other) = (Talk::new(72), Talk::new(73));
    let mut watch = log.journal.watch(talk.session);
    let frames = talk.turn_of(72, &["seen"]);
    let unseen = other.turn_of(73, &["not this"]);
    append(&*log.journal, other.batch(unseen)).await.unwrap();
    append(&*log.journal, talk.batch(frames.clone())).await.unwrap();
    assert_eq!(parts(&watch.next().await.unwrap().frames), parts(&frames));
}

pub(super) async fn whoever_follows_misses_nothing(log: &Stores) {
    let everything = follow(log, FeedCursor::default()).await;
    assert!(everything.len() > 5);
    // From any cursor the rest follows, and nothing from before it.
    for (at, (cursor, _)) in everything.iter().enumerate() {
        let rest = follow(log, cursor.clone()).await;
        let expected: Vec<_> = everything[at + 1..].iter().map(|(_, events)| events.clone()).collect();
        assert_eq!(rest.into_iter().map(|(_, events)| events).collect::<Vec<_>>(), expected);
    }
    // The events of each session come in order: all of them, up to the session's last event that is no delta.
    let mut sessions: Vec<_> = everything.iter().map(|(_, (session, _))| *session).collect();
    sessions.sort();
    sessions.dedup();
    for session in sessions {
        let told =
            everything.iter().filter(|(_, (of, _))| *of == session).flat_map(|(_, (_, seqs))| seqs.clone());
        let told: Vec<u64> = told.collect();
        let frames = all(&*log.journal, session, 1_000, WithRaw::No).await;
        let is_said = |frame: &&_| {
            let frame: &longshore_model::frame::Frame = frame;
            frame.event().unwrap().body.growth() != Growth::Delta
        };
        let last = frames.iter().rfind(is_said).map(|frame| frame.seq()).unwrap_or_default();
        let mut kept = seqs(&frames);
        kept.retain(|seq| Seq(*seq) <= last || told.contains(seq));
        assert_eq!(told, kept);
    }
    // The next entry wakes a reader that waits.
    let end = everything.last().map(|(cursor, _)| cursor.clone()).unwrap();
    let mut feed = log.journal.follow(end, WithRaw::No).unwrap();
    assert!(feed.next().await.unwrap().is_none());
    let mut talk = Talk::new(74);
    let frames = talk.turn_of(74, &["more"]);
    let (woken, appended) = tokio::join!(feed.ready(), append(&*log.journal, talk.batch(frames.clone())));
    woken.unwrap();
    appended.unwrap();
    let Some(JournalChange::Block(block)) = feed.next().await.unwrap().map(|entry| entry.change) else {
        panic!("nothing came")
    };
    assert_eq!(seqs(&block.frames), seqs(&frames));
    assert!(log.journal.follow(FeedCursor::new("no cursor".into()), WithRaw::No).is_err());
}

/// All entries after a cursor.
async fn follow(
    log: &Stores,
    from: FeedCursor,
) -> Vec<(FeedCursor, (longshore_model::id::SessionId, Vec<u64>))> {
    let mut feed = log.journal.follow(from, WithRaw::No).unwrap();
    let mut told = Vec::new();
    while let Some(entry) = feed.next().await.unwrap() {
        match entry.change {
            JournalChange::Block(block) => told.push((entry.cursor, (block.session, seqs(&block.frames)))),
            JournalChange::Gone { session, .. } => told.push((entry.cursor, (session, Vec::new()))),
        }
    }
    told
}
