//! How many delta events per second the log takes, durable, from one session and from several at once.
//!
//! `cargo run --release -p longshore-log --example append_rate [FOLDER] [SECONDS]`. The folder decides which disk
//! is measured; without one it is the system's folder for temporary files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_log::{Batch, Catalog, Durability, Journal, LogSettings, Mark, SqliteLog, WithRaw};
use longshore_model::event::{Body, Event};
use longshore_model::frame::Frame;
use longshore_model::id::{ItemId, Seq, SessionId, TurnId};
use longshore_model::time::Timestamp;
use uuid::Uuid;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let parent = args.next().map_or_else(std::env::temp_dir, Into::into);
    let time = Duration::from_secs_f64(args.next().map_or(2.0, |seconds| seconds.parse().expect("seconds")));
    println!(
        "durability sessions batch    events/s  ack p50 ms  ack p99 ms  max ms  commits/s   bytes/event"
    );
    for durability in [Durability::Full, Durability::Normal] {
        for (sessions, batch) in [(1, 1), (1, 250), (4, 250), (16, 25), (50, 1)] {
            let folder = tempfile::tempdir_in(&parent).unwrap();
            measure(folder.path(), time, durability, sessions, batch).await;
        }
    }
}

async fn measure(folder: &Path, time: Duration, durability: Durability, sessions: u128, batch: usize) {
    let log =
        Arc::new(SqliteLog::open(folder, &LogSettings { durability, ..LogSettings::default() }).unwrap());
    let start = Instant::now();
    let tasks: Vec<_> = (0..sessions)
        .map(|session| tokio::spawn(append(log.clone(), SessionId(Uuid::from_u128(session)), time, batch)))
        .collect();
    let mut waits = Vec::new();
    for task in tasks {
        waits.extend(task.await.unwrap());
    }
    let seconds = start.elapsed().as_secs_f64();
    waits.sort();
    let wait = |part: f64| waits[((waits.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    let stats = log.stats().await.unwrap();
    println!(
        "{:<10} {sessions:>8} {batch:>5} {:>11.0} {:>11.3} {:>11.3} {:>7.1} {:>10.0} {:>13}",
        format!("{durability:?}"),
        stats.appended as f64 / seconds,
        wait(0.5),
        wait(0.99),
        wait(1.0),
        stats.commits as f64 / seconds,
        stats.file_bytes / stats.appended.max(1),
    );
    let start = Instant::now();
    let (mut after, mut read) = (Seq::ZERO, 0);
    loop {
        let page = log.read(SessionId(Uuid::from_u128(0)), after, 1_000, WithRaw::No).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq();
        read += page.len();
    }
    println!("{:>66.0} events/s replayed", read as f64 / start.elapsed().as_secs_f64());
}

/// Appends batches one after the other; says how long each acknowledgement took.
async fn append(log: Arc<SqliteLog>, session: SessionId, time: Duration, batch: usize) -> Vec<Duration> {
    let start = Instant::now();
    let (mut seq, mut mark, mut waits) = (Seq::ZERO, Mark::default(), Vec::new());
    while start.elapsed() < time {
        let frames = (0..batch).map(|_| {
            seq = seq.next();
            delta(session, seq)
        });
        let batch = Batch { session, frames: frames.collect(), info: None };
        let asked = Instant::now();
        mark = log.append(batch, mark, Uuid::from_u64_pair(session.0.as_u64_pair().1, seq.0)).await.unwrap();
        waits.push(asked.elapsed());
    }
    waits
}

/// A delta as codex says it.
fn delta(session: SessionId, seq: Seq) -> Frame {
    let text = format!("word{} ", seq.0 % 1_000);
    let raw = format!(
        "{{\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"019a3f0c-77aa-7c11-9c44-0f6f5f2d1c9e\",\
         \"turnId\":\"019a3f0c-7b1e-7d02-8a35-5a6c1e0d2b4f\",\"itemId\":\"msg_0{seq:08}\",\"delta\":\"{text}\"}}}}"
    );
    let event = Event {
        seq,
        session,
        agent: "codex".into(),
        at: Timestamp::from_micros(1_800_000_000_000_000 + seq.0 as i64 * 100),
        turn: Some(TurnId(Uuid::from_u128(1))),
        item: Some(ItemId(Uuid::from_u128(2))),
        parent: None,
        text: Some(text),
        body: Body::MessageDelta,
    };
    Frame::encode(event, Some(raw.into())).unwrap()
}
