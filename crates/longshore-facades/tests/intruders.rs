//! Nobody gets in who may not, and nobody stays: callers that were put out while they were asking, strangers that hold on
//! to connections, and those who want more room than is theirs.

use std::sync::Arc;
use std::time::Duration;

use longshore_facades::berth::{OF_ONE_DEVICE, STRANGERS};
use longshore_facades::intake::{LARGE, PACE, SMALL, STRANGER_WITHIN};
use longshore_facades::ledger::HELD_OF_ONE;
use longshore_log::MemoryLog;
use longshore_model::device::{PushKeys, PushSubscription, StoredPush};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::http::{Reply, Stream};
use crate::rig::{Rig, TOKEN, soon};

/// A request of which the head was sent, and not all of the body.
struct Unfinished(TcpStream);

impl Unfinished {
    async fn begin(rig: &Rig, call: &str, token: Option<&str>, length: usize, sent: &[u8]) -> Self {
        let mut tcp = TcpStream::connect(rig.at).await.unwrap();
        let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "{call} HTTP/1.1\r\nhost: {}\r\n{token}content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            rig.at
        );
        tcp.write_all(head.as_bytes()).await.unwrap();
        // The hub may have refused it already.
        let _ = tcp.write_all(sent).await;
        Self(tcp)
    }

    async fn answer(self) -> Reply {
        soon("an answer to what is not finished", Stream::read(self.0)).await.whole().await
    }
}

/// Both ends of all sockets are in this process.
fn many_files() {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = rustix::process::Rlimit { current: files.maximum, ..files };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, most).unwrap();
}

#[tokio::test]
async fn a_revoked_device_is_asked_again_after_its_body_was_read() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (token, id) = rig.device("full").await;
    let mut begun = Vec::new();
    for call in [
        "POST /api/v1/sessions".to_owned(),
        format!("POST /api/v1/sessions/{session}/prompts"),
        "POST /admin/pair/new".to_owned(),
        "POST /api/v1/push/subscribe".to_owned(),
    ] {
        begun.push((Unfinished::begin(&rig, &call, Some(&token), 100, b"{").await, call));
    }
    // The hub has heard all of them by the time that it hears this one.
    rig.get("/api/v1/me").await.ok(200);
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    for (begun, call) in begun {
        assert_eq!(begun.answer().await.problem(), (401, "revoked_token".to_owned()), "{call}");
    }
    assert!(rig.left().is_empty(), "no agent was told anything");
    assert_eq!(rig.get("/api/v1/sessions").await.ok(200)["sessions"].as_array().unwrap().len(), 1);
}

/// All of its body was read, and then it waits for what an agent's machine says.
#[tokio::test]
async fn a_device_that_is_revoked_while_its_session_is_being_opened_opens_none() {
    let mut rig = Rig::new().await;
    let (token, id) = rig.device("full").await;
    rig.answering.send_replace(false);
    let body = json!({ "agent": "codex", "cwd": "/w" }).to_string();
    let call = "POST /api/v1/sessions";
    let begun = Unfinished::begin(&rig, call, Some(&token), body.len(), body.as_bytes()).await;
    rig.get("/api/v1/me").await.ok(200);
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    rig.answering.send_replace(true);
    assert_eq!(begun.answer().await.problem(), (401, "revoked_token".to_owned()));
    assert_eq!(rig.get("/api/v1/sessions").await.ok(200)["sessions"], json!([]));
    assert!(rig.left().is_empty(), "no agent was told anything");
}

/// Whatever agent it is for: some put variables into such texts by themselves.
#[tokio::test]
async fn a_session_gives_no_variable_to_a_server_that_is_not_listed() {
    let rig = Rig::new().await;
    rig.hub.allow_variables(vec!["DOCS_KEY".to_owned()]);
    let (token, _) = rig.device("full").await;
    let open = async |server: Value| {
        let open = json!({ "agent": "codex", "cwd": "/w", "mcpServers": [server] });
        let call = rig.bare("POST", "/api/v1/sessions").json(&open);
        call.header("authorization", format!("Bearer {token}")).send().await
    };
    let url = "https://thief.example";
    for server in [
        json!({ "name": "t", "url": url, "headers": { "x": "${LONGSHORE_TOKEN}" } }),
        json!({ "name": "t", "url": url, "headers": { "x": "${OTHER_KEY}" } }),
        json!({ "name": "t", "url": url, "headers": { "x": "Bearer ${DOCS_KEY}" } }),
        json!({ "name": "t", "url": format!("{url}/${{OTHER_KEY}}") }),
        json!({ "name": "t", "command": "x", "args": ["${OTHER_KEY}"] }),
        json!({ "name": "t", "command": "x", "env": { "A": "x${OTHER_KEY}" } }),
    ] {
        let refused = open(server.clone()).await.problem();
        assert_eq!(refused, (400, "invalid_request".to_owned()), "{server}");
    }
    let listed = open(json!({ "name": "t", "url": url, "headers": { "x": "${DOCS_KEY}" } })).await;
    assert_eq!(listed.status, 201);
}

#[tokio::test]
async fn a_request_with_the_old_token_of_the_owner_ends_when_it_is_rotated() {
    let mut rig = Rig::new().await;
    rig.ready().await;
    let (phone, _) = rig.device("full").await;
    let body = json!({ "agent": "codex", "cwd": "/w" }).to_string();
    let (first, rest) = body.split_at(1);
    let old =
        Unfinished::begin(&rig, "POST /api/v1/sessions", Some(TOKEN), body.len(), first.as_bytes()).await;
    let mut device =
        Unfinished::begin(&rig, "POST /api/v1/sessions", Some(&phone), body.len(), first.as_bytes()).await;
    rig.get("/api/v1/me").await.ok(200);
    rig.call("POST", "/admin/token/rotate").send().await.ok(200);
    assert_eq!(old.answer().await.problem(), (401, "wrong_token".to_owned()));
    device.0.write_all(rest.as_bytes()).await.unwrap();
    assert_eq!(device.answer().await.status, 201, "a device keeps its own token");
}

/// The end of its own connection comes before the answer; what it asked for is done all the same.
#[tokio::test]
async fn a_device_that_revokes_itself_over_its_socket_is_out_for_good() {
    let log = Arc::new(MemoryLog::default());
    let first = Rig::over(Arc::clone(&log), None).await;
    for _ in 0..5 {
        let (token, id) = first.device("full").await;
        let device = Some(id.parse().unwrap());
        let keys = PushKeys { p256dh: String::new(), auth: String::new() };
        let subscription = PushSubscription { endpoint: format!("http://127.0.0.1/{id}"), keys };
        first.hub.put_push(StoredPush { device, subscription }).await.unwrap();
        let mut socket = first.socket_of(&token).await.unwrap();
        socket.send("revoke", json!({ "device": id })).await;
        assert_eq!(socket.ended().await, Some(4401));
        let refused = Some((401, "revoked_token".to_owned()));
        assert_eq!(first.socket_of(&token).await.err(), refused);
        soon("it is written down", async {
            while !first.hub.pushes().await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let second = Rig::over(Arc::clone(&log), None).await;
        assert_eq!(second.socket_of(&token).await.err(), refused, "the next hub knows it too");
        // Six codes a minute are made; this is about something else.
        drop(second);
    }
}

/// A call that waits for an agent is answered to nobody who was put out meanwhile.
#[tokio::test]
async fn who_is_revoked_while_it_waits_for_an_answer_gets_none() {
    let rig = Rig::new().await;
    let (token, id) = rig.device("read_only").await;
    rig.answering.send_replace(false);
    let waits = rig
        .bare("GET", "/api/v1/agents/codex/models")
        .header("authorization", format!("Bearer {token}"))
        .send();
    let waits = tokio::spawn(waits);
    // Its request is heard before the next one is.
    tokio::task::yield_now().await;
    rig.get("/api/v1/me").await.ok(200);
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    rig.answering.send_replace(true);
    assert_eq!(waits.await.unwrap().problem(), (401, "revoked_token".to_owned()));
}

#[tokio::test]
async fn six_hundred_strangers_keep_nobody_out() {
    many_files();
    let rig = Rig::new().await;
    let mut phone = {
        let (token, _) = rig.device("read_only").await;
        rig.socket_of(&token).await.unwrap()
    };
    let mut held = Vec::new();
    for at in 0..600 {
        held.push(match at % 3 {
            0 => Unfinished::begin(&rig, "POST /pair/consume", None, 16_000, b"{").await.0,
            1 => TcpStream::connect(rig.at).await.unwrap(),
            _ => {
                let mut slow = TcpStream::connect(rig.at).await.unwrap();
                slow.write_all(b"GET /health HTTP/1.1\r\nhost: local").await.unwrap();
                slow
            }
        });
        // One that holds on by dripping.
        let _ = held[at / 2].write_all(b" ").await;
    }
    let since = Instant::now();
    for _ in 0..20 {
        assert_eq!(rig.get("/api/v1/sessions").await.status, 200);
        assert_eq!(rig.socket().await.call("ping", json!({})).await, Ok(json!({})));
    }
    assert!(since.elapsed() < Duration::from_secs(20), "the owner waits for nobody: {:?}", since.elapsed());
    assert_eq!(phone.call("ping", json!({})).await, Ok(json!({})), "who is known stays");
    for mut tcp in held.into_iter().take(600 - STRANGERS) {
        let mut rest = Vec::new();
        // Reset or closed, it is over.
        let _ = soon("those that came first make room", tcp.read_to_end(&mut rest)).await;
    }
}

#[tokio::test]
async fn a_device_has_so_many_connections_and_no_more() {
    many_files();
    let rig = Rig::new().await;
    let (token, _) = rig.device("read_only").await;
    let mut owner = rig.socket().await;
    let mut sockets = Vec::new();
    for _ in 0..OF_ONE_DEVICE + 10 {
        sockets.push(rig.socket_of(&token).await.unwrap());
    }
    for socket in &mut sockets[..10] {
        assert_eq!(socket.ended().await, None, "the oldest made room");
    }
    for socket in &mut sockets[10..] {
        assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})));
    }
    assert_eq!(owner.call("ping", json!({})).await, Ok(json!({})));
}

/// However much it drips.
#[tokio::test(start_paused = true)]
async fn a_body_of_a_stranger_is_not_waited_for() {
    let rig = Rig::new().await;
    for call in ["POST /pair/consume", "POST /pair/token"] {
        let since = Instant::now();
        let silent = Unfinished::begin(&rig, call, None, 16_000, b"{").await;
        assert_eq!(silent.answer().await.problem(), (408, "too_slow".to_owned()), "{call}");
        assert!(since.elapsed() >= STRANGER_WITHIN && since.elapsed() < STRANGER_WITHIN * 3);

        let mut drips = Unfinished::begin(&rig, call, None, 16_000, b"{").await;
        for _ in 0..12 {
            tokio::time::sleep(STRANGER_WITHIN / 10).await;
            let _ = drips.0.write_all(b" ").await;
        }
        assert_eq!(drips.answer().await.problem(), (408, "too_slow".to_owned()), "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_brings_its_body_at_a_pace_or_ends() {
    let rig = Rig::new().await;
    let silent = Unfinished::begin(&rig, "POST /api/v1/sessions", Some(TOKEN), 1_000, b"{").await;
    assert_eq!(silent.answer().await.problem(), (408, "too_slow".to_owned()));

    let (bytes, within) = PACE;
    let open = json!({ "agent": "codex", "cwd": "/w" }).to_string();
    let body = format!("{}{open}", " ".repeat(bytes * 4));
    let mut steady = Unfinished::begin(&rig, "POST /api/v1/sessions", Some(TOKEN), body.len(), b"").await;
    for piece in body.as_bytes().chunks(bytes) {
        tokio::time::sleep(within * 2 / 3).await;
        steady.0.write_all(piece).await.unwrap();
    }
    assert_eq!(steady.answer().await.status, 201, "it took longer, and came on");

    let mut socket = rig.socket().await;
    let mut slow = rig.raw_socket(TOKEN).await;
    // The head of a frame of a thousand bytes, and one of them.
    slow.write_all(&[0x81, 0xfe, 0x03, 0xe8, 0, 0, 0, 0, b'{']).await.unwrap();
    let mut rest = Vec::new();
    let _ = soon("the slow socket ends", slow.read_to_end(&mut rest)).await;
    assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})), "the others stay");
}

#[tokio::test]
async fn who_may_not_send_content_is_not_listened_to_for_long() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let thirty = 30 << 20;
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        for call in ["POST /api/v1/sessions".to_owned(), format!("POST /api/v1/sessions/{session}/prompts")] {
            let begun = Unfinished::begin(&rig, &call, Some(&token), thirty, b"{").await;
            let answer = begun.answer().await.problem();
            assert_eq!(answer, (403, "not_allowed".to_owned()), "before the body: {mode} {call}");
        }
        let own = Unfinished::begin(&rig, "POST /api/v1/presence", Some(&token), thirty, b"{").await;
        assert_eq!(own.answer().await.problem(), (413, "too_large".to_owned()), "{mode}");
        let mut own = TcpStream::connect(rig.at).await.unwrap();
        let head = format!(
            "POST /api/v1/presence HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
            rig.at
        );
        own.write_all(head.as_bytes()).await.unwrap();
        let piece = format!("{:x}\r\n{}\r\n", SMALL, " ".repeat(SMALL));
        own.write_all(piece.as_bytes()).await.unwrap();
        let _ = own.write_all(piece.as_bytes()).await;
        assert_eq!(Unfinished(own).answer().await.problem(), (413, "too_large".to_owned()), "in pieces");

        let mut frame = rig.raw_socket(&token).await;
        let mut head = vec![0x81, 0xff];
        head.extend(u64::try_from(thirty).unwrap().to_be_bytes());
        head.extend([0, 0, 0, 0, b'{']);
        frame.write_all(&head).await.unwrap();
        let mut rest = Vec::new();
        let _ = soon("the socket ends at the head of the frame", frame.read_to_end(&mut rest)).await;
        assert!(rest.len() < 1_000);
    }
    let (approve, _) = rig.device("approve").await;
    let body = json!({ "decision": "deny", "message": "do something else" });
    let call = |body: &Value| {
        let decide = rig.bare("POST", format!("/api/v1/approvals/{approval}"));
        decide.header("authorization", format!("Bearer {approve}")).json(body).send()
    };
    assert_eq!(call(&body).await.problem(), (403, "not_allowed".to_owned()), "words are a prompt");
    assert_eq!(call(&json!({ "decision": "deny" })).await.status, 200);
}

#[tokio::test]
async fn what_is_unfinished_has_a_bound_for_one_and_for_all() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("full").await;
    let much = vec![b' '; LARGE - 1];
    let (bytes, within) = PACE;
    let (morsel, morsels) = (vec![b' '; bytes], 60);
    let mut held = Vec::new();
    for _ in 0..HELD_OF_ONE / LARGE {
        let most = &much[..LARGE - 1 - bytes * morsels];
        held.push(Unfinished::begin(&rig, "POST /api/v1/sessions", Some(&token), LARGE, most).await);
    }
    // They come at the pace that is asked for, however long the rest takes.
    let coming = tokio::spawn(async move {
        for _ in 0..morsels {
            for begun in &mut held {
                let _ = begun.0.write_all(&morsel).await;
            }
            tokio::time::sleep(within / 5).await;
        }
    });
    // Those before may still be on their way through the system's buffers: until they are here, there is room.
    let refused = async {
        loop {
            let more = Unfinished::begin(&rig, "POST /api/v1/sessions", Some(&token), LARGE, &much).await;
            if let Ok(answer) = tokio::time::timeout(Duration::from_secs(2), more.answer()).await {
                return answer;
            }
        }
    };
    assert_eq!(soon("one too many is refused", refused).await.problem(), (503, "busy".to_owned()));
    let mut frame = rig.raw_socket(&token).await;
    let mut head = vec![0x81, 0xff];
    head.extend(u64::try_from(LARGE - 1).unwrap().to_be_bytes());
    head.extend([0; 4]);
    frame.write_all(&head).await.unwrap();
    let sent = async {
        let _ = frame.write_all(&much[..LARGE / 2]).await;
        let mut rest = Vec::new();
        let _ = frame.read_to_end(&mut rest).await;
    };
    // Well before it would be ended for having come to a halt.
    let ended = tokio::time::timeout(Duration::from_secs(25), sent).await;
    assert!(ended.is_ok(), "frames share the room of bodies");
    let small = rig.bare("GET", "/api/v1/me").header("authorization", format!("Bearer {token}"));
    small.send().await.ok(200);
    let mut owner = rig.socket().await;
    let large = json!({ "q": "x".repeat(LARGE - 1_000) });
    assert!(owner.call("search", large).await.is_ok(), "the owner has room of his own");
    assert!(!coming.is_finished(), "what was held was still coming");
    coming.abort();
    let again = async {
        loop {
            let begun = Unfinished::begin(&rig, "POST /api/v1/sessions", Some(&token), LARGE, &much).await;
            let mut begun = begun.0;
            let _ = begun.write_all(b" ").await;
            if Unfinished(begun).answer().await.status == 400 {
                return;
            }
        }
    };
    soon("what was given up is room again", again).await;
}

#[tokio::test]
async fn a_head_is_as_long_as_documented_and_no_longer() {
    let rig = Rig::new().await;
    let with = |bytes: usize| rig.bare("GET", "/health").header("x", "y".repeat(bytes)).send();
    assert_eq!(with((64 << 10) - 500).await.status, 200);
    for longer in [(64 << 10) + 1, 100 << 10] {
        assert_eq!(with(longer).await.problem(), (431, "head_too_large".to_owned()), "{longer}");
    }
}

#[tokio::test]
async fn a_request_that_names_two_hosts_is_refused() {
    let rig = Rig::new().await;
    for request in [
        format!("GET /health HTTP/1.1\r\nhost: {0}\r\nhost: evil.example\r\n", rig.at),
        format!("GET http://evil.example/health HTTP/1.1\r\nhost: {0}\r\n", rig.at),
        "GET /health HTTP/1.1\r\nhost: localhost:1@evil.example\r\n".to_owned(),
        "GET /health HTTP/1.1\r\nhost: 127.0.0.1:8790.evil.example\r\n".to_owned(),
    ] {
        let mut tcp = TcpStream::connect(rig.at).await.unwrap();
        tcp.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
        let reply = Unfinished(tcp).answer().await;
        assert_eq!(reply.problem(), (403, "foreign_host".to_owned()), "{request}");
    }
}

#[tokio::test]
async fn another_page_of_this_machine_logs_no_browser_out() {
    let rig = Rig::new().await;
    let gone = |origin: Option<&str>| {
        let call = rig.bare("DELETE", "/pair/token");
        match origin {
            Some(origin) => call.header("origin", origin).send(),
            None => call.send(),
        }
    };
    assert_eq!(gone(None).await.problem(), (403, "no_origin".to_owned()));
    let other = gone(Some("http://localhost:3000")).await;
    assert_eq!((other.problem(), other.header("set-cookie")), ((403, "foreign_origin".to_owned()), None));
    assert_eq!(gone(Some(&format!("http://{}", rig.at))).await.status, 204);
}

#[tokio::test]
async fn a_hub_proves_that_it_knows_a_token_to_who_knows_it() {
    use longshore_facades::auth::{Challenge, Token};
    let rig = Rig::new().await;
    let (token, _) = rig.device("read_only").await;
    let challenge = Challenge::of(&Token::new(token.as_str())).unwrap();
    let proven = rig.bare("GET", challenge.path()).send().await.ok(200);
    assert!(challenge.is_met(proven["proof"].as_str().unwrap()));
    let again = Challenge::of(&Token::new(token.as_str())).unwrap();
    assert!(!again.is_met(proven["proof"].as_str().unwrap()), "each time anew");
    let stranger = Challenge::of(&Token::new("x".repeat(64))).unwrap();
    let unknown = rig.bare("GET", stranger.path()).send().await;
    assert_eq!(unknown.problem(), (404, "unknown_key".to_owned()));
    let short = rig.bare("GET", "/prove?key=x&nonce=y").send().await;
    assert_eq!(short.problem(), (400, "invalid_request".to_owned()));
}
