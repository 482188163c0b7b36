//! A flood: whoever joins whenever misses nothing, and whoever does not read harms nobody.

use longshore_facades::ledger::HELD;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::timeline::{Content, Timeline};
use serde_json::json;

use crate::rig::{Rig, soon};

/// Says `text` `each` times per message of the agent.
async fn flood(
    rig: &Rig,
    (session, turn, item): (SessionId, TurnId, ItemId),
    messages: usize,
    each: usize,
    text: &str,
) {
    for _ in 0..messages {
        let delta = |_| Draft::new(Body::MessageDelta).turn(turn).item(item).text(text);
        rig.say(session, (0..each).map(delta).collect()).await;
    }
}

fn is_over(timeline: &Timeline) -> bool {
    timeline.items.iter().any(|item| matches!(item.content, Content::TurnEnd(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_and_live_join_without_gap_or_double_while_a_flood_runs() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let of = (session, turn, rig.item());
    let mut readers = Vec::new();
    for round in 0..10u64 {
        flood(&rig, of, 10, 50, "word ").await;
        let head = rig.hub.session(session).await.unwrap().head.0;
        let after = [0, head / 2, head][round as usize % 3];
        let path = format!("/api/v1/sessions/{session}/events?after={after}");
        let call = rig.call("GET", path).header("accept", "text/event-stream");
        readers.push(tokio::spawn(async move {
            let mut stream = call.stream().await;
            let mut next = after + 1;
            loop {
                let (id, event) = stream.event().await.expect("the stream ended");
                assert_eq!(id, next, "no gap, no double");
                next += 1;
                if event["type"] == "turn_finished" {
                    return id;
                }
            }
        }));
        let mut socket = rig.socket().await;
        readers.push(tokio::spawn(async move {
            socket.subscribe(session, after).await;
            socket.until(session, is_over).await;
            socket.cursor(session)
        }));
    }
    rig.finish(session, turn).await;
    let head = rig.hub.session(session).await.unwrap().head.0;
    assert!(head > 5_000, "{head}");
    for reader in readers {
        let end = reader.await.unwrap();
        assert!(end <= head && end > 5_000, "{end} of {head}");
    }
}

/// Some 50 MB for a client that has room for a few KB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_slows_nobody_and_loses_nothing() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let of = (session, turn, rig.item());
    let mut asleep = rig.narrow_socket().await;
    asleep.subscribe(session, 0).await;

    let mut awake = rig.socket().await;
    awake.subscribe(session, 0).await;
    let reader = tokio::spawn(async move {
        awake.until(session, is_over).await;
        awake.cursor(session)
    });
    let text = "x".repeat(10_000);
    flood(&rig, of, 250, 20, &text).await;
    rig.finish(session, turn).await;
    let seen = soon("the one who reads is done", reader).await.unwrap();
    assert!(seen >= 5_000, "{seen}");

    // The sleeper wakes: it reads on where it was, unless it slept so long that it was cut off ...
    while asleep.cursor(session) < 100 && asleep.read().await.is_some() {}
    let cursor = asleep.cursor(session);
    drop(asleep);
    // ... and on another connection it misses nothing.
    let mut again = rig.socket().await;
    again.subscribe(session, cursor).await;
    again.until(session, is_over).await;
    assert_eq!(again.cursor(session), seen);
}

/// How many bytes are on their way to clients, as the hub tells it.
async fn outgoing(rig: &Rig) -> usize {
    let metrics = rig.get("/metrics").await;
    let line = metrics.text().lines().find_map(|line| line.strip_prefix("longshore_outgoing_bytes "));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn what_many_clients_ask_for_and_do_not_read_has_a_bound() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (large, page) = (4 << 20, 8 << 20);
    for _ in 0..2 {
        rig.message(session, turn, &"x".repeat(large)).await;
    }
    rig.finish(session, turn).await;
    let mut asleep = Vec::new();
    for _ in 0..40 {
        let mut socket = rig.narrow_socket().await;
        socket.subscribe(session, 0).await;
        asleep.push(socket);
    }
    soon("the room is taken", async { while outgoing(&rig).await < HELD - page {} }).await;
    for _ in 0..20 {
        let bytes = outgoing(&rig).await;
        assert!(bytes <= HELD, "{bytes}");
    }
    // Short answers never wait. A long one waits for others to read, and then comes whole.
    let sessions = rig.get("/api/v1/sessions").await.ok(200);
    assert_eq!(sessions["sessions"][0]["sessionId"], json!(session));
    asleep.clear();
    let items = rig.get(format!("/api/v1/sessions/{session}/timeline")).await.ok(200);
    assert!(
        items["items"].as_array().unwrap().iter().any(|item| item["text"].as_str().unwrap().len() == large)
    );
    soon("all room is free", async { while outgoing(&rig).await > 0 {} }).await;
}
