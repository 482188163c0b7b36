//! A client that never reads: it slows nobody, and the hub's memory stays as it was.

use longshore_model::event::Body;
use longshore_model::id::Seq;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::rig::{Rig, TOKEN};

/// What flows through the hub, against what it may grow by meanwhile.
const MESSAGES: usize = 24;
const MESSAGE_BYTES: usize = 1 << 20;
const GROWTH_LIMIT: usize = 24 << 20;

#[tokio::test]
async fn a_client_that_never_reads_slows_nobody_and_costs_no_memory() {
    let word = "x".repeat(1_000);
    let message: Vec<&str> = std::iter::repeat_n(word.as_str(), MESSAGE_BYTES / word.len()).collect();
    let say: Vec<_> = (0..MESSAGES).map(|_| json!({ "say": message })).collect();
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello." }] }, { "do": say }, { "do": say }])).await;
    let mut talk = rig.talk("full", "hello").await;
    talk.until_turn_ends_somehow().await;

    let (host, session) = (rig.url.strip_prefix("http://").unwrap().to_owned(), talk.session);
    let deaf = TcpSocket::new_v4().unwrap();
    deaf.set_recv_buffer_size(16 << 10).unwrap();
    let mut deaf = deaf.connect(host.parse().unwrap()).await.unwrap();
    let upgrade = format!(
        "GET /api/v1/socket?token={TOKEN} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    deaf.write_all(upgrade.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    deaf.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 101");
    let subscribe =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": { "session": session } });
    deaf.write_all(&text_frame(&subscribe.to_string())).await.unwrap();

    // The first flood fills what a hub fills once: its allocator, SQLite's caches. A queue would grow with every flood.
    let turn = talk.prompt("flood").await;
    talk.until_turn_ends(turn).await;
    talk.events.clear();
    let before = resident(rig.pid());
    let turn = talk.prompt("flood again").await;
    let (mut heard, mut peak) = (0, before);
    while !talk
        .events
        .iter()
        .any(|event| event.turn == Some(turn) && matches!(event.body, Body::TurnFinished(_)))
    {
        talk.hear().await.unwrap();
        heard += talk.events.last().unwrap().text().len();
        // The test's own memory is no concern here, but need not grow either.
        let last = talk.events.len() - 1;
        if matches!(talk.events[last].body, Body::MessageDelta) {
            talk.events[last].text = None;
        }
        peak = peak.max(if heard % 64 == 0 { resident(rig.pid()) } else { 0 });
    }
    assert!(heard > MESSAGES * MESSAGE_BYTES, "the flood was heard: {heard} bytes");
    peak = peak.max(resident(rig.pid()));
    let growth = peak.saturating_sub(before);
    println!("{heard} bytes flowed, the hub grew by {growth}");
    assert!(growth < GROWTH_LIMIT, "the hub grew by {growth} bytes while {heard} flowed");

    // The deaf client comes back, and finds everything.
    drop(deaf);
    let mut back = rig.follow(session, Seq::ZERO).await;
    assert_eq!(back.until_turn_ends(turn).await, TurnOutcome::Completed);
}

/// A client's text frame: masked, as the protocol wants it, with a mask of zeros.
fn text_frame(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend(length.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
