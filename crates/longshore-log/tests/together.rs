//! Many at once: sessions that append together, readers beside them, compaction under way.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use longshore_log::{Batch, Catalog, Journal, LogSettings, SqliteLog, WithRaw};
use longshore_model::frame::Frame;
use longshore_model::id::Seq;

use longshore_log::story::sample::{Talk, all, append, at, end, parts, session};

const SESSIONS: u128 = 40;
const TURNS: u128 = 15;

/// A connection that writes to its client polls none of its reads meanwhile.
#[tokio::test]
async fn reads_that_nobody_polls_keep_nobody_from_reading() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path(), &LogSettings::default()).unwrap();
    let mut talk = Talk::new(1);
    let frames = talk.turn_of(1, &["some ", "words"]);
    append(&log, talk.batch(frames)).await.unwrap();
    let read = || log.read(talk.session, Seq(0), 10, WithRaw::No);
    let mut unpolled: Vec<_> = (0..20).map(|_| read()).collect();
    for read in &mut unpolled {
        assert!(read.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    for _ in 0..20 {
        tokio::time::timeout(Duration::from_secs(30), read()).await.unwrap().unwrap();
    }
    for read in unpolled {
        assert!(!read.await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_sessions_append_while_others_read_and_compact() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(SqliteLog::open(folder.path(), &LogSettings::default()).unwrap());
    let writers = (0..SESSIONS).map(|number| {
        let log = log.clone();
        tokio::spawn(async move {
            let mut talk = Talk::new(number);
            let mut said = Vec::new();
            for turn in 0..TURNS {
                let frames = talk.turn_of(turn, &["some ", "words"]);
                let info = Some(talk.info(|info| info.title = format!("turn {turn}")));
                append(&*log, Batch { info, ..talk.batch(frames.clone()) }).await.unwrap();
                // What was acknowledged can be read at once, by anyone.
                assert_eq!(end(&*log, talk.session).await, talk.seq);
                said.extend(frames);
            }
            said
        })
    });
    let tidying = {
        let log = log.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                log.compact(at(i64::MAX / 2_000_000)).await.unwrap();
            }
        })
    };
    let writers: Vec<_> = writers.collect();
    let mut said = Vec::new();
    for writer in writers {
        said.push(writer.await.unwrap());
    }
    tidying.await.unwrap();
    log.compact(at(1_000)).await.unwrap();

    for (number, said) in said.iter().enumerate() {
        let kept: Vec<Frame> = said.iter().filter(|frame| !is_delta(frame)).cloned().collect();
        let read = all(&*log, session(number as u128), 7, WithRaw::Yes).await;
        assert_eq!(parts(&read), parts(&kept), "session {number}");
        let info = log.session(session(number as u128)).await.unwrap().unwrap();
        assert_eq!(info.title, format!("turn {}", TURNS - 1));
    }
    let stats = log.stats().await.unwrap();
    let events = (SESSIONS * TURNS * 6) as u64;
    assert_eq!((stats.sessions, stats.appended, stats.batches), (40, events, (SESSIONS * TURNS) as u64));
    assert_eq!(stats.events, events / 6 * 4, "two of six were deltas");
    assert!(stats.commits <= stats.batches);
}

fn is_delta(frame: &Frame) -> bool {
    frame.event().unwrap().body.growth() == longshore_model::event::Growth::Delta
}

#[tokio::test]
async fn raw_frames_of_any_size_come_back_and_shrink() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path(), &LogSettings::default()).unwrap();
    let mut talk = Talk::new(1);
    let mut frames = Vec::new();
    let large = format!("{{\"output\":\"{}\"}}", "0123456789abcdef".repeat(200_000));
    for (number, raw) in
        [Some(large.as_str()), None, Some(""), Some("no json \u{0}\u{fffd}")].into_iter().enumerate()
    {
        frames.push(talk.say(longshore_model::event::Body::SessionHandedOff, None, &number.to_string(), raw));
        frames.push(talk.say(longshore_model::event::Body::SessionHandedOff, None, "", raw));
    }
    append(&log, talk.batch(frames.clone())).await.unwrap();
    for after in 0..frames.len() {
        let read = log.read(talk.session, Seq(after as u64), 3, WithRaw::Yes).await.unwrap();
        assert_eq!(parts(&read), parts(&frames[after..(after + 3).min(frames.len())]), "after {after}");
    }
    let stats = log.stats().await.unwrap();
    assert!(stats.wal_bytes < large.len() as u64 / 4, "6.4 MB of raw frames took {} bytes", stats.wal_bytes);
}

#[tokio::test]
async fn compaction_merges_small_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path(), &LogSettings::default()).unwrap();
    let mut talk = Talk::new(1);
    let mut kept = Vec::new();
    for number in 0..100 {
        for frame in talk.turn_of(number, &["a ", "b"]) {
            kept.extend((!is_delta(&frame)).then(|| frame.clone()));
            append(&log, talk.batch(vec![frame])).await.unwrap();
        }
    }
    let compacted = log.compact(at(10_000)).await.unwrap();
    assert_eq!((compacted.events, compacted.blocks), (200, 599), "600 blocks of one frame became one");
    assert_eq!(parts(&all(&log, talk.session, 10, WithRaw::Yes).await), parts(&kept));
    assert_eq!(log.compact(at(10_000)).await.unwrap(), Default::default());
}
