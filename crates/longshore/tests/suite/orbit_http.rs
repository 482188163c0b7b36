//! The whole program with the web app of somebody else: its files, its devices, and what is left of them after a kill.

use std::process::Output;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::rig::{Rig, TOKEN, WITHIN};

/// The smallest picture that there is: one red dot.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\
    \x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99\x3d\x1d\x00\x00\x00\x00IEND\xaeB\x60\x82";

impl Rig {
    async fn ask(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Vec<u8>,
        kind: &str,
    ) -> (StatusCode, Vec<u8>) {
        let request = longshore_models::http::client(WITHIN)
            .no_proxy()
            .build()
            .unwrap()
            .request(method, format!("{}{path}", self.url))
            .header("content-type", kind)
            .bearer_auth(token)
            .body(body);
        let answer = async {
            let answer = request.send().await.unwrap();
            (answer.status(), answer.bytes().await.unwrap().to_vec())
        };
        tokio::time::timeout(WITHIN, answer).await.expect("the hub does not answer")
    }

    async fn get(&self, token: &str, path: &str) -> Value {
        let (status, body) = self.ask(token, Method::GET, path, Vec::new(), "text/plain").await;
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    async fn post(&self, token: &str, path: &str, body: Value) -> Value {
        let (status, body) =
            self.ask(token, Method::POST, path, body.to_string().into(), "application/json").await;
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

#[tokio::test]
async fn another_app_sends_a_picture_to_codex_and_finds_all_after_a_kill() {
    let mut rig = Rig::with(json!([{ "do": [{ "say": "A dot." }] }])).await;
    let dist = rig.folder.path().join("dist");
    std::fs::create_dir(&dist).unwrap();
    std::fs::write(dist.join("index.html"), "<p>another app").unwrap();
    let config = rig.folder.path().join("longshore/config.toml");
    let known = std::fs::read_to_string(&config).unwrap();
    rig.kill().await;
    // In front of the sections.
    std::fs::write(config, format!("web_dir = {:?}\n{known}", dist.display().to_string())).unwrap();
    rig.start().await;
    let (_, page) = rig.ask("", Method::GET, "/thread/x", Vec::new(), "text/plain").await;
    assert_eq!(page, b"<p>another app");

    let made = rig.post(TOKEN, "/admin/token/sessions/new", json!({ "label": "tablet" })).await;
    let token = made["token"].as_str().unwrap();
    let announce = json!({ "filename": "dot.png", "mime": "image/png", "bytes": PNG.len() });
    let place = rig.post(token, "/uploads/new", announce).await;
    let sent =
        rig.ask(token, Method::PUT, place["uploadUrl"].as_str().unwrap(), PNG.to_vec(), "image/png").await;
    assert_eq!(sent.0, 200);

    let mut talk = rig.open("full").await;
    let attachment = json!({ "type": "attachment", "mediaType": "image/png", "path": place["localPath"] });
    let prompt = json!({ "session": talk.session, "content": [{ "type": "text", "text": "what is it?" }, attachment] });
    let _: Value = talk.client.call("prompt", prompt).await.unwrap();
    talk.until_turn_ends_somehow().await;
    assert!(
        rig.last_heard_by_model().contains("data:image/png;base64,"),
        "codex read it where the hub put it"
    );
    let title = json!({ "threadId": talk.session, "title": "The dot" });
    rig.post(token, "/admin/thread/title", title).await;
    rig.post(token, "/api/agents/import", json!({ "id": "critic", "name": "Critic" })).await;
    rig.post(token, "/admin/uploads/retention", json!({ "retentionDays": 9 })).await;
    let log = rig.ask(token, Method::GET, "/admin/logs?service=anchor", Vec::new(), "text/plain").await;
    assert!(String::from_utf8(log.1).unwrap().contains("a device was paired"), "the log of the hub itself");

    rig.kill().await;
    rig.start().await;
    let (status, seen) =
        rig.ask("", Method::GET, place["viewUrl"].as_str().unwrap(), Vec::new(), "text/plain").await;
    assert_eq!((status.as_u16(), seen.as_slice()), (200, PNG));
    assert_eq!(rig.get(token, "/api/agents").await[0]["name"], "Critic");
    let status = rig.get(token, "/admin/status").await;
    assert_eq!(
        (&status["db"]["uploadRetentionDays"], &status["anchor"]["running"]),
        (&json!(9), &json!(true))
    );
    assert_eq!(status["providers"]["codex"]["status"], "healthy", "{status}");
    assert!(status["db"]["path"].as_str().unwrap().ends_with("longshore/data"), "{status}");
    let used = rig.get(token, "/api/metrics?range=24h").await;
    assert_eq!(
        (&used["totals"]["threads"], &used["byProvider"][0]["provider"]),
        (&json!(1), &json!("codex"))
    );
    let events = rig.get(token, "/admin/debug/events?limit=200").await.to_string();
    assert!(events.contains("The dot") && !events.contains(token), "{events}");

    let open = rig.longshore().args(["open", "--print"]).output();
    let Output { stdout, .. } = tokio::time::timeout(WITHIN, open).await.expect("it does not end").unwrap();
    let link = String::from_utf8(stdout).unwrap();
    let code = link.trim().split_once("/pair?code=").expect("the other app reads the code there").1;
    let paired = rig.post("", "/pair/consume", json!({ "code": code })).await;
    rig.get(paired["token"].as_str().unwrap(), "/admin/validate").await;
}
