//! Who comes in: with which token, by which name, from which page.

use longshore_facades::native::calls;
use longshore_model::id::SessionId;
use serde_json::{Value, json};

use crate::rig::{Rig, TOKEN};
use crate::socket::{allowed, open, request};
use crate::walk::{NOBODY, is_unreadable, over_http, params_of};

/// Everything that the description lists: method and path, with ids that belong to nothing.
fn described(document: &Value) -> Vec<(&'static str, String)> {
    let mut calls = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let method = ["GET", "POST", "PATCH", "DELETE"]
                .into_iter()
                .find(|known| known.eq_ignore_ascii_case(method));
            let filled = path.split('/').map(|part| if part.starts_with('{') { NOBODY } else { part });
            let path = filled.collect::<Vec<_>>().join("/");
            calls.push((method.expect("a method that the walk does not know"), path));
        }
    }
    calls
}

#[tokio::test]
async fn health_says_that_the_hub_is_there_and_nothing_else() {
    let rig = Rig::new().await;
    let reply = rig.bare("GET", "/health").send().await;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(reply.ok(200), json!({ "status": "ok", "version": { "appCommit": version } }));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    assert_eq!(reply.header("server"), None);
}

#[tokio::test]
async fn every_described_call_is_there_and_needs_the_token() {
    let rig = Rig::new().await;
    let document = longshore_facades::native::openapi();
    for call in calls() {
        let operation = &document["paths"][call.path][call.verb.name().to_ascii_lowercase()];
        assert_eq!(operation["summary"], call.summary, "{}", call.name);
        assert!(operation["responses"][call.status.as_str()].is_object(), "{}", call.name);
    }
    let described = described(&document);
    assert_eq!(described.len(), calls().len() + 10, "{described:?}");
    let open = ["/health", "/prove", "/pair/consume", "/pair/token", "/ca.pem"];
    // The last call of the walk takes the token away.
    let (last, others): (Vec<_>, Vec<_>) = described.iter().partition(|(_, path)| path.ends_with("/rotate"));
    for (method, path) in others.into_iter().chain(last).filter(|(_, path)| !open.contains(&path.as_str())) {
        let refused = rig.bare(method, path).send().await;
        assert_eq!(refused.problem(), (401, "no_token".to_owned()), "{method} {path}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        let reply = rig.call(method, path).send().await;
        let missing = reply.status == 405 || (reply.status == 404 && reply.problem().1 == "no_route");
        assert!(!missing, "{method} {path} is described and not there: {}", reply.text());
        assert!(reply.status < 500, "{method} {path}: {}", reply.text());
    }
}

#[tokio::test]
async fn every_call_that_is_done_has_its_status() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut done = 0;
    for call in calls().iter().filter(|call| call.name != "rotateToken") {
        let params = params_of(call.name, &session.to_string());
        let request = over_http(&rig, call, &params).header("authorization", format!("Bearer {TOKEN}"));
        let reply = request.send().await;
        if reply.status < 400 {
            reply.ok(call.status.as_u16());
            let is_made = call.status.as_u16() == 201;
            assert_eq!(reply.header("location").is_some(), is_made, "{}", call.name);
            done += 1;
        } else {
            assert!(!is_unreadable(call, &reply.json()), "{}", reply.text());
        }
    }
    assert!(done >= 20, "{done}");
}

#[tokio::test]
async fn what_is_not_there_says_so() {
    let rig = Rig::new().await;
    assert_eq!(rig.get("/api/v2/sessions").await.problem(), (404, "no_route".to_owned()));
    for (method, path) in [("GET", "/api/v2"), ("GET", "/x.js"), ("POST", "/x"), ("GET", "/ca.pem")] {
        assert_eq!(rig.bare(method, path).send().await.problem(), (404, "no_route".to_owned()), "{path}");
    }
    let page = rig.bare("GET", "/sessions/x").send().await;
    assert_eq!((page.status, page.header("x-frame-options")), (200, Some("DENY")));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'self'"));
    for path in ["/api/v1/agents", "/api/v1/sessions/x/fork", "/metrics"] {
        assert_eq!(
            rig.call("PUT", path).send().await.problem(),
            (405, "method_not_allowed".to_owned()),
            "{path}"
        );
        assert_eq!(rig.bare("PUT", path).send().await.problem(), (401, "no_token".to_owned()), "{path}");
    }
    assert_eq!(rig.bare("POST", "/health").send().await.problem(), (405, "method_not_allowed".to_owned()));
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_many_have_to_wait() {
    let rig = Rig::new().await;
    let wrong = |scheme: &str| rig.bare("GET", "/api/v1/sessions").header("authorization", scheme.to_owned());
    for nothing in ["", "Bearer", "Basic b3duZXI6", "s3cret"] {
        assert_eq!(wrong(nothing).send().await.problem().1, "no_token", "{nothing}");
    }
    for guess in 0..30 {
        let refused = wrong(&format!("Bearer guess-{guess}")).send().await;
        assert_eq!(refused.problem(), (401, "wrong_token".to_owned()));
    }
    let waits = wrong("Bearer one-more").send().await;
    assert_eq!(waits.problem(), (429, "too_many_attempts".to_owned()));
    let seconds: u64 = waits.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert_eq!(waits.json()["retry"], true);
    assert_eq!(rig.bare("GET", "/health").send().await.status, 200, "health is for everyone");
    assert_eq!(rig.get("/api/v1/sessions").await.status, 200, "nobody can lock the owner out");
    assert!(open(rig.at, allowed(rig.at)).await.is_ok());
}

#[tokio::test]
async fn a_token_in_the_address_is_for_sockets_only() {
    let rig = Rig::new().await;
    let token = "token=s3cret%2B%2F%3D%26%25";
    let reply = rig.bare("GET", format!("/api/v1/sessions?{token}")).send().await;
    assert_eq!(reply.problem(), (401, "no_token".to_owned()));

    let with = |query: &str| {
        let mut request = request(rig.at);
        *request.uri_mut() = format!("ws://{}/api/v1/socket?{query}", rig.at).parse().unwrap();
        request
    };
    let mut socket = open(rig.at, with(&format!("a=b&{token}"))).await.unwrap();
    assert_eq!(socket.call("ping", json!({})).await, Ok(json!({})));
    assert_eq!(open(rig.at, with("token=guess")).await.err(), Some((401, "wrong_token".to_owned())));
    assert_eq!(open(rig.at, with("tokens=x")).await.err(), Some((401, "no_token".to_owned())));
    assert_eq!(open(rig.at, request(rig.at)).await.err(), Some((401, "no_token".to_owned())));
}

#[tokio::test]
async fn a_foreign_name_and_a_foreign_page_are_refused() {
    let rig = Rig::new().await;
    for path in ["/health", "/api/v1/sessions", "/nowhere"] {
        let named = |host: &str| rig.call("GET", path).header("host", host);
        for host in
            ["evil.example", "evil.example:8790", "localhost.evil.example", "127.0.0.1.nip.example", ""]
        {
            assert_eq!(named(host).send().await.problem(), (403, "foreign_host".to_owned()), "{host}");
        }
        for host in ["localhost", "LOCALHOST:1", "[::1]:8790", "hub.example", "Hub.Example:443"] {
            assert_ne!(named(host).send().await.status, 403, "{host}");
        }
        let of = |origin: &str| rig.call("GET", path).header("origin", origin);
        for origin in ["https://evil.example", "null", "", "https://localhost.evil.example", "file://"] {
            assert_eq!(of(origin).send().await.problem(), (403, "foreign_origin".to_owned()), "{origin}");
        }
        for origin in ["http://localhost:5173", "https://hub.example", "http://127.0.0.1:9"] {
            assert_ne!(of(origin).send().await.status, 403, "{origin}");
        }
    }
}

#[tokio::test]
async fn a_foreign_page_opens_no_socket_even_with_the_token() {
    let rig = Rig::new().await;
    let from = |origin: &str| {
        let mut request = allowed(rig.at);
        request.headers_mut().insert("origin", origin.parse().unwrap());
        request
    };
    assert_eq!(
        open(rig.at, from("https://evil.example")).await.err(),
        Some((403, "foreign_origin".to_owned()))
    );
    assert_eq!(open(rig.at, from("null")).await.err(), Some((403, "foreign_origin".to_owned())));
    assert!(open(rig.at, from("https://hub.example")).await.is_ok());
    let mut renamed = allowed(rig.at);
    renamed.headers_mut().insert("host", "evil.example".parse().unwrap());
    assert_eq!(open(rig.at, renamed).await.err(), Some((403, "foreign_host".to_owned())));
}

#[tokio::test]
async fn an_address_that_speaks_websocket_tells_others_so() {
    let rig = Rig::new().await;
    let reply = rig.get("/api/v1/socket").await;
    assert_eq!(reply.problem(), (400, "invalid_request".to_owned()));
    assert!(reply.text().contains("WebSocket"), "{}", reply.text());
}

#[tokio::test]
async fn an_id_that_is_none_is_said_to_be_none() {
    let mut rig = Rig::new().await;
    assert_eq!(rig.get("/api/v1/sessions/1").await.problem(), (400, "invalid_request".to_owned()));
    let nobody = SessionId::mint(&mut rig.context());
    for path in ["", "/events", "/timeline"] {
        let reply = rig.get(format!("/api/v1/sessions/{nobody}{path}")).await;
        assert_eq!(reply.problem(), (404, "unknown_session".to_owned()), "{path}");
    }
    for (method, path) in [("DELETE", ""), ("POST", "/interrupt"), ("POST", "/fork"), ("POST", "/revive")] {
        let reply = rig.call(method, format!("/api/v1/sessions/{nobody}{path}")).send().await;
        assert_eq!(reply.problem(), (404, "unknown_session".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn what_the_path_names_is_no_member_of_the_body_or_the_query() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let place = format!("/api/v1/sessions/{session}");
    let twice = json!({ "session": session, "content": "go" });
    let said = rig.call("POST", format!("{place}/prompts")).json(&twice).send().await;
    assert_eq!(said.problem(), (400, "invalid_request".to_owned()));
    assert!(said.text().contains("duplicate field `session`"), "{}", said.text());
    let looked = rig.get(format!("{place}/timeline?session={session}")).await;
    assert_eq!(looked.problem(), (400, "invalid_request".to_owned()));
    let plain = rig.call("POST", format!("{place}/prompts")).body("text/plain", "{}").send().await;
    assert_eq!(plain.problem(), (400, "invalid_request".to_owned()));
    assert!(plain.text().contains("application/json"), "{}", plain.text());
    // A call that takes nothing else leaves a body alone, whatever it is.
    rig.call("DELETE", &place).body("text/plain", "[").send().await.ok(200);
}
