//! Devices: how they are paired, what a browser's cookie opens, and how they leave.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::device::{PushKeys, PushSubscription, StoredPush};
use serde_json::{Value, json};

use crate::http::Reply;
use crate::rig::{Rig, TOKEN, soon};
use crate::socket::{Socket, open, request};

/// The code with which a socket ends whose token is no longer valid.
const DISMISSED: u16 = 4401;

impl Rig {
    /// A new device of a mode: its token and its id.
    pub(crate) async fn device(&self, mode: &str) -> (String, String) {
        let made = self.call("POST", "/admin/pair/new").json(&json!({ "mode": mode })).send().await.ok(200);
        let consume = json!({ "code": made["code"], "label": format!("my {mode} phone") });
        let paired = self.bare("POST", "/pair/consume").json(&consume).send().await.ok(200);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&paired["token"]), text(&paired["device"]["id"]))
    }

    pub(crate) async fn socket_of(&self, token: &str) -> Result<Socket, (u16, String)> {
        let mut request = request(self.at);
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        open(self.at, request).await
    }
}

fn cookie_of(reply: &Reply) -> String {
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_code_comes_with_the_addresses_at_which_a_phone_reaches_the_hub() {
    let alone = Rig::new().await.call("POST", "/admin/pair/new").send().await.ok(200);
    assert_eq!(alone["addresses"], json!([]), "on loopback there are none");

    let addresses = ["https://192.168.1.5:8790", "https://100.64.0.7:8790"];
    let rig = Rig::with(|app| app.reached_at(addresses.map(str::to_owned).to_vec())).await;
    let made = rig.call("POST", "/admin/pair/new").send().await.ok(200);
    assert_eq!(made["addresses"], json!(addresses));
    assert!(made["pairUrl"].as_str().unwrap().starts_with("https://192.168.1.5:8790/pair#"), "{made}");

    let code = made["code"].as_str().unwrap();
    let drawn = |more: &str| rig.get(format!("/admin/pair/qr.svg?code={code}{more}"));
    let usual = drawn("").await;
    assert_eq!(drawn("&address=https://192.168.1.5:8790").await.text(), usual.text());
    let other = drawn("&address=https://100.64.0.7:8790").await;
    assert!(other.status == 200 && other.text() != usual.text());
    let foreign = drawn("&address=https://elsewhere.example").await;
    assert_eq!(foreign.problem().0, 400, "a picture leads to this hub and nowhere else");
}

#[tokio::test]
async fn a_phone_is_paired_and_comes_in_with_its_token_and_with_its_cookie() {
    let rig = Rig::new().await;
    let asked = json!({ "mode": "approve", "label": "Ada's phone" });
    let made =
        rig.call("POST", "/admin/pair/new").header("host", "hub.example").json(&asked).send().await.ok(200);
    let code = made["code"].as_str().unwrap();
    assert_eq!(code.len(), 8);
    let link = made["pairUrl"].as_str().unwrap();
    let long = link.strip_prefix("http://hub.example/pair#").unwrap();
    assert!(long.starts_with(code) && long.len() == 24, "nobody types it, so nobody can guess it: {long}");
    assert!(made["expiresAt"].as_str().unwrap().ends_with('Z'), "{made}");
    let drawn = rig.get(format!("/admin/pair/qr.svg?code={code}")).await;
    assert_eq!((drawn.status, drawn.header("content-type")), (200, Some("image/svg+xml")));
    assert!(drawn.text().contains("<svg"), "{}", drawn.text());
    assert_eq!(rig.get("/admin/pair/qr.svg?code=AAAAAAAA").await.problem(), (400, "bad_code".to_owned()));

    let typed = code.to_lowercase();
    let consume = json!({ "code": typed, "label": "owner" });
    let reply = rig.bare("POST", "/pair/consume").json(&consume).send().await;
    let paired = reply.ok(200);
    assert_eq!(paired["device"]["label"], "Ada's phone", "who made the code named it");
    assert_eq!((&paired["device"]["mode"], paired["device"].get("revokedAt")), (&json!("approve"), None));
    let token = paired["token"].as_str().unwrap();
    assert_eq!(token.len(), 64);
    let again = rig.bare("POST", "/pair/consume").json(&consume).send().await;
    assert_eq!(again.problem(), (400, "bad_code".to_owned()), "a code is used once");

    let me =
        rig.bare("GET", "/api/v1/me").header("authorization", format!("Bearer {token}")).send().await.ok(200);
    assert_eq!((&me["role"], &me["mode"]), (&json!("device"), &json!("approve")));
    assert_eq!(me["device"]["id"], paired["device"]["id"]);
    let cookie = cookie_of(&reply);
    assert_eq!(
        rig.bare("GET", "/api/v1/me").header("cookie", &cookie).send().await.ok(200)["device"],
        me["device"]
    );
    assert_eq!(rig.get("/api/v1/me").await.ok(200), json!({ "role": "owner", "mode": "full" }));
    let listed = rig.get("/api/v1/devices").await.ok(200);
    assert_eq!(listed["devices"].as_array().unwrap().len(), 1);
    assert!(!listed.to_string().contains(token), "nobody reads the token again");
}

#[tokio::test]
async fn a_cookie_counts_for_pages_of_the_same_origin_only() {
    let rig = Rig::new().await;
    let pasted = rig.bare("POST", "/pair/token").json(&json!({ "token": TOKEN })).send().await;
    assert_eq!(pasted.ok(200)["role"], "owner");
    assert!(!pasted.header("set-cookie").unwrap().contains("Secure"), "there is no TLS");
    let cookie = cookie_of(&pasted);
    let bearer = rig.call("POST", "/pair/token").header("origin", "https://hub.example").send().await;
    assert!(bearer.header("set-cookie").unwrap().ends_with("; Secure"), "a proxy brought TLS");
    let wrong = rig.bare("POST", "/pair/token").json(&json!({ "token": "guess" })).send().await;
    assert_eq!((wrong.problem(), wrong.header("set-cookie")), ((401, "wrong_token".to_owned()), None));

    let here = format!("http://{}", rig.at);
    let pair = |origin: Option<&str>| {
        let call = rig.bare("POST", "/admin/pair/new").header("cookie", &cookie);
        match origin {
            Some(origin) => call.header("origin", origin),
            None => call,
        }
    };
    assert_eq!(pair(None).send().await.problem(), (403, "no_origin".to_owned()));
    for foreign in ["http://localhost:3000", "http://127.0.0.1:1", "https://hub.example", "null"] {
        assert_eq!(
            pair(Some(foreign)).send().await.problem(),
            (403, "foreign_origin".to_owned()),
            "{foreign}"
        );
    }
    let made = pair(Some(&here)).send().await.ok(200);
    assert!(made["pairUrl"].as_str().unwrap().starts_with(&format!("{here}/pair#")), "{made}");

    let read =
        rig.bare("GET", "/api/v1/me").header("cookie", &cookie).header("origin", "http://localhost:3000");
    assert_eq!(read.send().await.problem(), (403, "foreign_origin".to_owned()), "not even to look");

    let with = |origin: Option<&str>| {
        let mut request = request(rig.at);
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
        origin.map(|origin| request.headers_mut().insert("origin", origin.parse().unwrap()));
        request
    };
    assert_eq!(open(rig.at, with(None)).await.err(), Some((403, "no_origin".to_owned())));
    let other = open(rig.at, with(Some("http://localhost:3000"))).await.err();
    assert_eq!(other, Some((403, "foreign_origin".to_owned())));
    let mut socket = open(rig.at, with(Some(&here))).await.unwrap();
    assert_eq!(socket.call("me", json!({})).await.unwrap()["role"], "owner");

    let gone = rig.bare("DELETE", "/pair/token").header("origin", &here).send().await;
    assert_eq!(gone.status, 204);
    assert!(gone.header("set-cookie").unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn a_revoked_device_leaves_at_once_and_does_not_come_back() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (token, id) = rig.device("full").await;
    let (other, _) = rig.device("full").await;
    let as_device =
        |method, path: String| rig.bare(method, path).header("authorization", format!("Bearer {token}"));
    let mut socket = rig.socket_of(&token).await.unwrap();
    socket.subscribe(session, 0).await;
    let mut stays = rig.socket_of(&other).await.unwrap();
    let events = format!("/api/v1/sessions/{session}/events");
    let mut stream = as_device("GET", events.clone()).header("accept", "text/event-stream").stream().await;
    assert_eq!(stream.reply.status, 200);
    assert!(stream.event().await.is_some());
    let code = as_device("POST", "/admin/pair/new".to_owned()).send().await.ok(200)["code"].clone();

    let revoked = rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    assert!(revoked["device"]["revokedAt"].is_string(), "{revoked}");
    assert_eq!(socket.ended().await, Some(DISMISSED));
    soon("the stream ends", stream.knock()).await;
    assert_eq!(as_device("GET", events).send().await.problem(), (401, "revoked_token".to_owned()));
    assert_eq!(rig.socket_of(&token).await.err(), Some((401, "revoked_token".to_owned())));
    assert_eq!(stays.call("ping", json!({})).await, Ok(json!({})), "the others stay");
    let consume = rig.bare("POST", "/pair/consume").json(&json!({ "code": code })).send().await;
    assert_eq!(consume.problem(), (400, "bad_code".to_owned()), "what it offered others is void");

    let nobody = "0190c0de-0000-7000-8000-000000000001";
    let unknown = rig.call("DELETE", format!("/api/v1/devices/{nobody}")).send().await;
    assert_eq!(unknown.problem(), (404, "unknown_device".to_owned()));
}

#[tokio::test]
async fn a_rotated_token_ends_every_socket_and_every_code() {
    let rig = Rig::new().await;
    let (device, _) = rig.device("full").await;
    let keys = PushKeys { p256dh: String::new(), auth: String::new() };
    let subscription = PushSubscription { endpoint: "http://127.0.0.1/".to_owned(), keys };
    rig.hub.put_push(StoredPush { device: None, subscription }).await.unwrap();
    let code = rig.call("POST", "/admin/pair/new").send().await.ok(200)["code"].clone();
    let (mut owner, mut phone) = (rig.socket().await, rig.socket_of(&device).await.unwrap());
    assert_eq!(phone.refused("rotateToken", json!({})).await, "not_allowed", "that is the owner's alone");
    let rotated = rig.call("POST", "/admin/token/rotate").send().await.ok(200);
    let token = rotated["token"].as_str().unwrap();
    for socket in [&mut owner, &mut phone] {
        assert_eq!(socket.ended().await, Some(DISMISSED));
    }
    assert!(rig.hub.pushes().await.unwrap().is_empty(), "whoever had the old token is not woken any more");
    assert_eq!(*rig.kept.lock().unwrap(), [token.to_owned()], "the next start finds it");
    assert_eq!(rig.get("/api/v1/me").await.problem(), (401, "wrong_token".to_owned()));
    assert!(rig.socket_of(token).await.is_ok());
    assert!(rig.socket_of(&device).await.is_ok(), "devices keep their own");
    let consume = rig.bare("POST", "/pair/consume").json(&json!({ "code": code })).send().await;
    assert_eq!(consume.problem(), (400, "bad_code".to_owned()));
}

#[tokio::test]
async fn devices_outlive_the_hub() {
    let log = Arc::new(MemoryLog::default());
    let first = Rig::over(Arc::clone(&log), None).await;
    let (kept, _) = first.device("read_only").await;
    let (gone, id) = first.device("full").await;
    first.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    drop(first);
    let second = Rig::over(log, None).await;
    assert!(second.socket_of(&kept).await.is_ok());
    assert_eq!(second.socket_of(&gone).await.err(), Some((401, "revoked_token".to_owned())));
}

#[tokio::test]
async fn a_stranger_is_not_listened_to_for_long() {
    let rig = Rig::new().await;
    let long = json!({ "code": "x".repeat(20 << 10) });
    for path in ["/pair/consume", "/pair/token"] {
        let reply = rig.bare("POST", path).json(&long).send().await;
        assert_eq!(reply.problem(), (413, "too_large".to_owned()), "{path}");
        let nothing = rig.bare("POST", path).send().await;
        assert_eq!(nothing.problem(), (400, "invalid_request".to_owned()), "{path}");
    }
    let empty = rig.bare("POST", "/pair/consume").json(&json!({ "code": "" })).send().await;
    assert_eq!(empty.problem(), (400, "bad_code".to_owned()));
}

/// The clock stands still, so that a minute passes when the test says so.
#[tokio::test(start_paused = true)]
async fn codes_grow_old_and_whoever_guesses_waits() {
    let rig = Rig::new().await;
    let consume =
        async |code: &str| rig.bare("POST", "/pair/consume").json(&json!({ "code": code })).send().await;
    let made = |made: &Value| made["code"].as_str().unwrap().to_owned();
    let old = made(&rig.call("POST", "/admin/pair/new").send().await.ok(200));
    tokio::time::advance(std::time::Duration::from_secs(301)).await;
    assert_eq!(consume(&old).await.problem(), (400, "bad_code".to_owned()), "it is too old");
    tokio::time::advance(std::time::Duration::from_secs(61)).await;

    let mut codes = Vec::new();
    for _ in 0..6 {
        codes.push(made(&rig.call("POST", "/admin/pair/new").send().await.ok(200)));
    }
    let more = rig.call("POST", "/admin/pair/new").send().await;
    assert_eq!(more.problem(), (429, "too_many_attempts".to_owned()));
    assert!((1..=60).contains(&more.header("retry-after").unwrap().parse::<u64>().unwrap()));

    let mut heard = 0;
    for guess in 0..100 {
        let reply = consume(&format!("AAAA{guess:04}")).await;
        heard += usize::from(reply.problem().1 == "bad_code");
    }
    assert_eq!(heard, 10, "the others were not even looked at");
    let right = consume(&codes[0]).await;
    assert_eq!(right.problem(), (429, "too_many_attempts".to_owned()), "not even the right one");
    assert!(right.header("retry-after").is_some());
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert_eq!(consume(&codes[0]).await.status, 200);
}
