//! Clients that mean harm, or are just broken. The clock is stopped, so that it jumps to the next deadline whenever
//! nobody has anything to do.

use std::time::Duration;

use longshore_facades::serve::{HEAD_WITHIN, READ_WITHIN};
use longshore_model::event::{Body, Draft};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::http::Stream;
use crate::rig::{Rig, soon};

/// Reads until the hub ends the connection: what it said, and after how long.
async fn end_of(tcp: &mut TcpStream) -> (Vec<u8>, Duration) {
    let since = Instant::now();
    let mut said = Vec::new();
    // Reset or closed, it is over.
    let _ = soon("the hub ends the connection", tcp.read_to_end(&mut said)).await;
    (said, since.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_not_waited_for() {
    let rig = Rig::new().await;
    for head in ["", "GET /health HTTP/1.1\r\nhost: local", "G"] {
        let mut tcp = TcpStream::connect(rig.at).await.unwrap();
        tcp.write_all(head.as_bytes()).await.unwrap();
        let (_, after) = end_of(&mut tcp).await;
        assert!(after >= HEAD_WITHIN / 2 && after <= HEAD_WITHIN * 2, "{head:?} {after:?}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let rig = Rig::new().await;
    for head in [
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(200 << 10)),
        format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(5_000)),
    ] {
        let tcp = TcpStream::connect(rig.at).await.unwrap();
        let (read, mut write) = tcp.into_split();
        // The hub may have hung up before all of it is sent.
        let sending = tokio::spawn(async move {
            let _ = write.write_all(head.as_bytes()).await;
            write
        });
        let mut answer = [0; 12];
        let mut read = read;
        soon("an answer", read.read_exact(&mut answer)).await.unwrap();
        assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 431");
        drop(sending.await);
    }
    assert_eq!(rig.bare("GET", "/health").send().await.status, 200);
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let rig = Rig::new().await;
    for nonsense in [
        "\x16\x03\x01\r\n\r\n",
        "hello\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut tcp = TcpStream::connect(rig.at).await.unwrap();
        tcp.write_all(nonsense.as_bytes()).await.unwrap();
        let (said, _) = end_of(&mut tcp).await;
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 400"), "{nonsense:?}: {said:?}");
    }
    assert_eq!(rig.bare("GET", "/health").send().await.status, 200);
}

/// The same for both ways to follow a session: nobody waits for ever for one who takes nothing.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_cut_off_and_can_come_back() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut socket = rig.narrow_socket().await;
    socket.subscribe(session, 0).await;
    let mut sse = rig.narrow().await;
    let request = format!(
        "GET /api/v1/sessions/{session}/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         accept: text/event-stream\r\n\r\n",
        crate::rig::TOKEN
    );
    sse.write_all(request.as_bytes()).await.unwrap();
    let mut sse = Stream::read(sse).await;
    assert_eq!(sse.reply.status, 200);

    let item = rig.item();
    let text = "x".repeat(100_000);
    for _ in 0..20 {
        let delta = |_| Draft::new(Body::MessageDelta).turn(turn).item(item).text(text.as_str());
        rig.say(session, (0..10).map(delta).collect()).await;
    }
    rig.finish(session, turn).await;
    let head = rig.hub.session(session).await.unwrap().head.0;
    // Nobody reads; the clock jumps.
    tokio::time::advance(Duration::from_millis(1)).await;
    tokio::time::timeout(READ_WITHIN * 3, std::future::pending::<()>()).await.unwrap_err();
    // From here on real sockets set the pace. A clock that jumps whenever nobody is ready would end every wait for them.
    tokio::time::resume();

    // Whoever speaks to a connection that is no more learns so at once.
    socket.knock().await;
    soon("the socket ends", async { while socket.read().await.is_some() {} }).await;
    let cursor = socket.cursor(session);
    assert!(cursor < head, "it was cut off in the middle: {cursor} of {head}");
    let last = soon("the stream ends", sse.knock()).await;
    assert!(last < head, "{last} of {head}");

    let mut again = rig.socket().await;
    again.subscribe(session, cursor).await;
    again.until(session, |timeline| timeline.head.0 == head).await;
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_its_socket_only() {
    let rig = Rig::new().await;
    let (mut hostile, mut other) = (rig.socket().await, rig.socket().await);
    let large = json!({ "id": 1, "method": "search", "params": { "q": "x".repeat(33 << 20) } }).to_string();
    hostile.shout(large).await;
    assert_eq!(other.call("ping", json!({})).await, Ok(json!({})));
}

#[tokio::test]
async fn a_client_that_vanishes_leaves_nothing_behind() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    for _ in 0..20 {
        let mut socket = rig.socket().await;
        socket.subscribe(session, 0).await;
        socket.send("agents", json!({})).await;
        drop(socket);
    }
    let mut socket = rig.socket().await;
    assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})));
    assert_eq!(rig.hub.awake_sessions(), 1);
}
