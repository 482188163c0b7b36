//! Pushes: a push service on loopback reads what was sent, as only the browser could.

use std::net::SocketAddr;

use data_encoding::BASE64URL_NOPAD;
use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::event::{Body, Draft};
use longshore_model::id::ApprovalId;
use longshore_model::item::{FileChange, FileChangeKind};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as Signer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::rig::{Rig, TOKEN, soon};

/// What a push service was sent.
struct Sent {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Sent {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// A push service. It answers with these words in turn, then with 201.
struct Service {
    at: SocketAddr,
    sent: mpsc::UnboundedReceiver<Sent>,
}

impl Service {
    async fn start(answers: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (tell, sent) = mpsc::unbounded_channel();
        let mut answers: Vec<&str> = answers.iter().rev().copied().collect();
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let mut reader = BufReader::new(tcp);
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).await.unwrap();
                    match line.trim_end() {
                        "" => break,
                        line => lines.push(line.to_owned()),
                    }
                }
                let headers: Vec<(String, String)> = lines[1..]
                    .iter()
                    .map(|line| line.split_once(": ").unwrap())
                    .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                    .collect();
                let path = lines[0].split(' ').nth(1).unwrap().to_owned();
                let mut sent = Sent { path, headers, body: Vec::new() };
                sent.body.resize(sent.header("content-length").parse().unwrap(), 0);
                reader.read_exact(&mut sent.body).await.unwrap();
                let answer = answers.pop().unwrap_or("201 Created");
                let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n");
                reader.get_mut().write_all(answer.as_bytes()).await.unwrap();
                tell.send(sent).unwrap();
            }
        });
        Self { at, sent }
    }

    async fn next(&mut self) -> Sent {
        soon("a push", self.sent.recv()).await.unwrap()
    }
}

/// A browser: the one that can read what is sent to it. A key of this kind is used once, so it reads one message.
struct Browser {
    key: EphemeralPrivateKey,
    public: Vec<u8>,
    secret: [u8; 16],
}

impl Browser {
    fn new() -> Self {
        let random = SystemRandom::new();
        let key = EphemeralPrivateKey::generate(&ECDH_P256, &random).unwrap();
        let public = key.compute_public_key().unwrap().as_ref().to_vec();
        let mut secret = [0; 16];
        random.fill(&mut secret).unwrap();
        Self { key, public, secret }
    }

    fn subscription(&self, endpoint: &str) -> Value {
        let keys = json!({
            "p256dh": BASE64URL_NOPAD.encode(&self.public), "auth": BASE64URL_NOPAD.encode(&self.secret),
        });
        json!({ "subscription": { "endpoint": endpoint, "expirationTime": null, "keys": keys } })
    }

    /// Decrypts as RFC 8291 says.
    fn read(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (size, rest) = rest.split_at(4);
        assert_eq!(size, 4096u32.to_be_bytes());
        let (theirs, sealed) = rest[1..].split_at(usize::from(rest[0]));
        let info = [b"WebPush: info\0".as_slice(), &self.public, theirs];
        let shared: [u8; 32] =
            agree_ephemeral(self.key, &UnparsedPublicKey::new(&ECDH_P256, theirs), |secret| {
                expand(&Salt::new(HKDF_SHA256, &self.secret).extract(secret), &info)
            })
            .unwrap();
        let prk = Salt::new(HKDF_SHA256, salt).extract(&shared);
        let key: [u8; 16] = expand(&prk, &[b"Content-Encoding: aes128gcm\0"]);
        let nonce: [u8; 12] = expand(&prk, &[b"Content-Encoding: nonce\0"]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let plain = key.open_in_place(nonce, Aad::empty(), &mut sealed).unwrap();
        let (end, words) = plain.split_last().unwrap();
        assert_eq!(*end, 2, "the last record");
        serde_json::from_slice(words).unwrap()
    }
}

fn expand<const N: usize>(prk: &Prk, info: &[&[u8]]) -> [u8; N] {
    struct Bytes(usize);
    impl KeyType for Bytes {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut out = [0; N];
    prk.expand(info, Bytes(N)).unwrap().fill(&mut out).unwrap();
    out
}

impl Rig {
    async fn subscribes(&self, token: &str, service: &Service, path: &str) -> Browser {
        let browser = Browser::new();
        let body = browser.subscription(&format!("http://{}{path}", service.at));
        let call = self.bare("POST", "/api/v1/push/subscribe").json(&body);
        call.header("authorization", format!("Bearer {token}")).send().await.ok(200);
        browser
    }
}

/// The word that says who sends, which is what it should be in every respect.
fn check_vapid(sent: &Sent, service: &Service, public_key: &str) {
    let word = sent.header("authorization").strip_prefix("vapid t=").unwrap();
    let (token, key) = word.split_once(", k=").unwrap();
    assert_eq!(key, public_key);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
    let key = BASE64URL_NOPAD.decode(key.as_bytes()).unwrap();
    Signer::new(&ECDSA_P256_SHA256_FIXED, key).verify(signed.as_bytes(), &signature).unwrap();
    let (head, claims) = signed.split_once('.').unwrap();
    let read = |part: &str| -> Value {
        serde_json::from_slice(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
    };
    assert_eq!(read(head), json!({ "typ": "JWT", "alg": "ES256" }));
    let claims = read(claims);
    assert_eq!(claims["aud"], format!("http://{}", service.at));
    assert_eq!(claims["sub"], "mailto:owner@example.com");
    assert!(claims["exp"].as_i64().unwrap() > 1_700_000_000, "{claims}");
}

#[tokio::test]
async fn an_approval_wakes_every_device_with_the_actual_question() {
    let mut rig = Rig::new().await;
    let mut service = Service::start(&[]).await;
    let (look, _) = rig.device("read_only").await;
    let owner = rig.subscribes(TOKEN, &service, "/a-owner").await;
    let looker = rig.subscribes(&look, &service, "/b-looker").await;
    let public_key = rig.get("/api/v1/push/key").await.ok(200)["publicKey"].as_str().unwrap().to_owned();

    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let (mut first, mut second) = (service.next().await, service.next().await);
    if first.path > second.path {
        std::mem::swap(&mut first, &mut second);
    }
    assert_eq!((first.path.as_str(), second.path.as_str()), ("/a-owner", "/b-looker"));
    for sent in [&first, &second] {
        check_vapid(sent, &service, &public_key);
        assert_eq!(sent.header("content-encoding"), "aes128gcm");
        assert_eq!((sent.header("urgency"), sent.header("ttl")), ("high", "86400"));
        assert!(!String::from_utf8_lossy(&sent.body).contains("make"), "nobody on the way reads it");
    }
    let words = owner.read(&first.body);
    let expected = json!({
        "kind": "approval", "title": "w · go · codex", "body": "wants to run: make\nto build it",
        "session": session, "approval": approval, "url": format!("/sessions/{session}"),
        "actions": [{ "action": "allow_once", "title": "Allow" }, { "action": "deny", "title": "Deny" }],
        "type": "approval", "threadId": session, "actionUrl": format!("/thread/{session}"),
    });
    assert_eq!(words, expected);
    let words = looker.read(&second.body);
    assert_eq!((&words["body"], words.get("actions")), (&expected["body"], None), "it may not decide");
}

#[tokio::test]
async fn the_end_of_a_turn_tells_the_first_line_of_the_result_or_what_went_wrong() {
    let mut rig = Rig::new().await;
    let mut service = Service::start(&[]).await;
    let browser = rig.subscribes(TOKEN, &service, "/1").await;
    let (session, turn) = rig.working().await;
    rig.message(session, turn, "\n  All **tests** pass.  \nMore of it.").await;
    rig.finish(session, turn).await;
    let sent = service.next().await;
    assert_eq!(sent.header("urgency"), "normal");
    let words = browser.read(&sent.body);
    assert_eq!((&words["kind"], &words["body"]), (&json!("finished"), &json!("All **tests** pass.")));

    let browser = rig.subscribes(TOKEN, &service, "/1").await;
    let (session, turn) = rig.working().await;
    let question = json!([{ "id": "q", "label": "Q", "text": "Which port?", "kind": "text" }]);
    rig.question(session, turn, question).await;
    let words = browser.read(&service.next().await.body);
    assert_eq!((&words["kind"], &words["body"]), (&json!("question"), &json!("which one?")));

    let browser = rig.subscribes(TOKEN, &service, "/1").await;
    let message = "the model is overloaded".to_owned();
    let error = TurnError { code: TurnErrorCode::Overloaded, message, details: Value::Null };
    let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
    rig.say(session, vec![Draft::new(Body::TurnFinished(end)).turn(turn)]).await;
    let words = browser.read(&service.next().await.body);
    assert_eq!((&words["kind"], &words["body"]), (&json!("failed"), &json!("the model is overloaded")));
}

#[tokio::test]
async fn a_device_that_looks_at_the_session_is_left_alone_and_a_stopped_turn_wakes_nobody() {
    let mut rig = Rig::new().await;
    let mut service = Service::start(&[]).await;
    let (token, id) = rig.device("full").await;
    let browser = rig.subscribes(&token, &service, "/phone").await;
    let (session, turn) = rig.working().await;
    let mut socket = rig.socket_of(&token).await.unwrap();
    let seen = json!({ "session": session, "visible": true });
    assert_eq!(socket.call("presence", seen).await, Ok(json!({})));
    rig.approval(session, turn).await;
    let stopped = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
    rig.say(session, vec![Draft::new(stopped).turn(turn)]).await;
    rig.hub.settle().await;
    let dark = json!({ "session": session, "visible": false });
    assert_eq!(socket.call("presence", dark).await, Ok(json!({})));
    let (other, turn) = rig.working().await;
    rig.finish(other, turn).await;
    let words = browser.read(&service.next().await.body);
    assert_eq!(
        (&words["kind"], &words["session"]),
        (&json!("finished"), &json!(other)),
        "the first that came"
    );

    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    assert!(rig.hub.pushes().await.unwrap().is_empty(), "a revoked device is woken no more");
}

#[tokio::test]
async fn a_service_that_cannot_now_is_tried_again_and_a_browser_that_is_gone_is_forgotten() {
    let rig = Rig::new().await;
    let (busy, slow) = ("503 Busy\r\nretry-after: 0", "429 Slow\r\nretry-after: 0");
    let mut service = Service::start(&[busy, slow, "201 Created", "410 Gone"]).await;
    let browser = rig.subscribes(TOKEN, &service, "/1").await;
    assert_eq!(rig.call("POST", "/api/v1/push/test").send().await.ok(200), json!({ "sent": 1 }));
    let (_, _, third) = (service.next().await, service.next().await, service.next().await);
    assert_eq!(browser.read(&third.body)["kind"], "test");

    rig.call("POST", "/api/v1/push/test").send().await.ok(200);
    service.next().await;
    soon("the subscription goes", async {
        while !rig.hub.pushes().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let more = rig.call("POST", "/api/v1/push/test").send().await;
    assert_eq!(more.problem(), (409, "no_push".to_owned()));
}

#[tokio::test]
async fn a_subscription_that_is_none_is_refused_and_one_can_be_taken_back() {
    let rig = Rig::new().await;
    let service = Service::start(&[]).await;
    let good = Browser::new().subscription(&format!("http://{}/1", service.at));
    let subscribe = async |body: &Value| rig.call("POST", "/api/v1/push/subscribe").json(body).send().await;
    for (place, bad) in [
        ("/subscription/endpoint", json!("https://push.example/elsewhere")),
        ("/subscription/endpoint", json!("x".repeat(5_000))),
        ("/subscription/keys/p256dh", json!("AAAA")),
        ("/subscription/keys/auth", json!("not base64!")),
    ] {
        let mut body = good.clone();
        *body.pointer_mut(place).unwrap() = bad;
        assert_eq!(subscribe(&body).await.problem(), (400, "invalid_request".to_owned()), "{place}");
    }
    for browser in 0..16 {
        let body = Browser::new().subscription(&format!("http://{}/{browser}", service.at));
        assert_eq!(subscribe(&body).await.status, 200);
    }
    let more = Browser::new().subscription(&format!("http://{}/more", service.at));
    assert_eq!(subscribe(&more).await.problem().1, "invalid_request", "that is enough for one");
    let one = json!({ "endpoint": format!("http://{}/1", service.at) });
    rig.call("DELETE", "/api/v1/push/subscribe").json(&one).send().await.ok(200);
    assert_eq!(rig.hub.pushes().await.unwrap().len(), 15);
    rig.call("DELETE", "/api/v1/push/subscribe").send().await.ok(200);
    assert!(rig.hub.pushes().await.unwrap().is_empty());
}

#[tokio::test]
async fn nobody_takes_a_browser_over_by_knowing_where_it_is_woken() {
    let rig = Rig::new().await;
    let service = Service::start(&[]).await;
    let endpoint = format!("http://{}/1", service.at);
    let own = Browser::new();
    let subscribe = async |token: &str, body: &Value| {
        let call = rig.bare("POST", "/api/v1/push/subscribe");
        call.header("authorization", format!("Bearer {token}")).json(body).send().await
    };
    assert_eq!(subscribe(TOKEN, &own.subscription(&endpoint)).await.status, 200);
    let (thief, _) = rig.device("full").await;
    let taken = subscribe(&thief, &Browser::new().subscription(&endpoint)).await;
    assert_eq!(taken.problem(), (409, "push_taken".to_owned()));
    assert_eq!(rig.hub.pushes().await.unwrap()[0].device, None, "it is woken for whom it was");
    assert_eq!(
        subscribe(TOKEN, &Browser::new().subscription(&endpoint)).await.status,
        200,
        "its own may change"
    );
    let (paired_anew, id) = rig.device("full").await;
    let renewed = Browser::new();
    assert_eq!(subscribe(TOKEN, &renewed.subscription(&endpoint)).await.status, 200);
    assert_eq!(
        subscribe(&paired_anew, &renewed.subscription(&endpoint)).await.status,
        200,
        "the same browser"
    );
    assert_eq!(rig.hub.pushes().await.unwrap()[0].device, Some(id.parse().unwrap()));
}

/// The body and the buttons of a push for an approval that offers to allow once and to deny.
async fn pushed(subject: Subject) -> (String, Vec<String>) {
    let mut rig = Rig::new().await;
    let mut service = Service::start(&[]).await;
    let browser = rig.subscribes(TOKEN, &service, "/1").await;
    let (session, turn) = rig.working().await;
    let approval = ApprovalId::mint(&mut rig.context());
    let options = vec![Decision::AllowOnce, Decision::Deny];
    let request = ApprovalRequest { approval, subject, options };
    rig.say(session, vec![Draft::new(Body::ApprovalRequested(request)).turn(turn).text("because")]).await;
    let words = browser.read(&service.next().await.body);
    let offered = words["actions"].as_array().unwrap().iter();
    let offered = offered.map(|action| action["title"].as_str().unwrap().to_owned()).collect();
    (words["body"].as_str().unwrap().to_owned(), offered)
}

fn command(command: impl Into<String>) -> Subject {
    Subject::Command { command: command.into(), cwd: None, always: Vec::new() }
}

#[tokio::test]
async fn a_request_that_no_lock_screen_shows_whole_is_not_allowed_from_there() {
    let edit = |lines: usize| {
        let diff = "+b\n".repeat(lines);
        let change = FileChange { path: "/w/a".into(), kind: FileChangeKind::Update, diff, moved_to: None };
        Subject::Edit { changes: vec![change], grant_root: None }
    };
    let tool = |path: String| Subject::Tool { name: "write".into(), input: json!({ "path": path }) };
    for (subject, ends) in [
        (command(format!("echo {}; rm -rf ~", "a".repeat(450))), "; rm -rf ~"),
        (command(format!("echo{}; rm -rf ~", "\n".repeat(80))), "; rm -rf ~"),
        (command(format!("echo {}; rm -rf ~", "\u{3164}".repeat(60))), "; rm -rf ~"),
        (edit(50), "+b"),
        // The agent does not say which lines.
        (edit(0), "/w/a"),
        (tool("a".repeat(500)), "\"}"),
        (Subject::Plan { plan: "think ".repeat(100) + "and delete" }, "and delete"),
    ] {
        let (body, offered) = pushed(subject).await;
        assert!(body.ends_with(ends) && body.chars().count() < 500, "{body}");
        assert_eq!(offered, ["Deny"], "{body}");
    }
    for (subject, said) in [
        (command("make"), "wants to run: make\nbecause"),
        (command("echo \u{202e}x"), "wants to run: echo \\u{202e}x\nbecause"),
        (
            Subject::Command { command: "make".into(), cwd: Some("/etc".into()), always: Vec::new() },
            "wants to run: make\nin /etc\nbecause",
        ),
        (edit(1), "wants to change /w/a\n+b\nbecause"),
        (tool("a".into()), "wants to use write: {\"path\":\"a\"}\nbecause"),
    ] {
        let (body, offered) = pushed(subject).await;
        assert_eq!(body, said);
        assert_eq!(offered, ["Allow", "Deny"], "{body}");
    }
}

#[tokio::test]
async fn the_largest_words_arrive() {
    let (body, offered) = pushed(command("\u{1}\u{1f6a2}".repeat(5_000))).await;
    assert!(body.contains("characters left out"), "{body}");
    assert_eq!(offered, ["Deny"]);
}
