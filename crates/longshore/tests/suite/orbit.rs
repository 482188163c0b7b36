//! The web UI of Codex Pocket, as far as it speaks to its server, against a whole hub with real agents.

use futures_util::{SinkExt, StreamExt};
use longshore_model::id::Seq;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::rig::{Rig, TOKEN, WITHIN};

#[path = "../../../longshore-facades/tests/orbit/screen.rs"]
mod screen;

use screen::Screen;

/// The UI, with one thread open.
struct Ui {
    wire: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next_id: u64,
    screen: Screen,
    heard: Vec<Value>,
}

impl Ui {
    async fn connect(rig: &Rig, token: &str, screen: Screen) -> Self {
        let address = format!("{}/ws?token={token}&clientId=tab", rig.url.replacen("http", "ws", 1));
        let (wire, _) = connect_async(address).await.unwrap();
        let mut ui = Self { wire, next_id: 0, screen, heard: Vec::new() };
        assert_eq!(ui.read().await["type"], "orbit.hello");
        if !ui.screen.thread.is_empty() {
            ui.subscribe().await;
        }
        ui
    }

    /// Pairs as a phone does, and comes in with the token that it got.
    async fn paired(rig: &Rig) -> (Self, String) {
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::new();
        let made =
            http.post(format!("{}/admin/pair/new", rig.url)).bearer_auth(TOKEN).json(&json!({})).send();
        let made: Value = made.await.unwrap().json().await.unwrap();
        let consume = json!({ "code": made["code"] });
        let paired = http.post(format!("{}/pair/consume", rig.url)).json(&consume).send().await.unwrap();
        let paired: Value = paired.json().await.unwrap();
        let token = paired["token"].as_str().unwrap().to_owned();
        (Self::connect(rig, &token, Screen::default()).await, token)
    }

    async fn say(&mut self, message: Value) {
        self.wire.send(Message::text(message.to_string())).await.unwrap();
    }

    async fn subscribe(&mut self) {
        let thread = self.screen.thread.clone();
        self.say(json!({ "type": "orbit.subscribe", "threadId": thread })).await;
    }

    async fn read(&mut self) -> Value {
        let reading = async {
            loop {
                match self.wire.next().await.expect("the hub hung up").unwrap() {
                    Message::Text(text) => return serde_json::from_str::<Value>(&text).unwrap(),
                    _ => continue,
                }
            }
        };
        let shown = format!("{:#?}", self.screen);
        let frame =
            tokio::time::timeout(WITHIN, reading).await.unwrap_or_else(|_| panic!("silence after {shown}"));
        if !self.screen.thread.is_empty() {
            self.screen.hear(&frame);
        }
        self.heard.push(frame.clone());
        frame
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let key = format!("{method} {id} {}", self.heard.len());
        self.say(json!({ "method": method, "id": id, "params": params, "clientRequestId": key })).await;
        loop {
            let frame = self.read().await;
            if frame["id"] == id {
                assert!(frame.get("error").is_none(), "{method}: {frame}");
                return frame["result"].clone();
            }
        }
    }

    async fn start(&mut self, rig: &Rig, provider: Option<&str>) {
        let start = json!({
            "cwd": rig.work(), "approvalPolicy": "on-request", "sandbox": "read-only", "provider": provider,
        });
        let started = self.call("thread/start", start).await;
        self.screen = Screen::new(started["thread"]["id"].as_str().unwrap());
        self.subscribe().await;
    }

    async fn prompt(&mut self, text: &str) -> String {
        let params = json!({ "threadId": self.screen.thread, "input": [{ "type": "text", "text": text }] });
        let result = self.call("turn/start", params).await;
        result["turn"]["id"].as_str().unwrap().to_owned()
    }

    async fn reload(&mut self) {
        let params = json!({ "threadId": self.screen.thread, "includeTurns": true });
        let read = self.call("thread/read", params).await;
        self.screen.load(&read["thread"]["turns"]);
    }

    async fn see(&mut self, fits: impl Fn(&Screen) -> bool) {
        while !fits(&self.screen) {
            self.read().await;
        }
    }

    async fn asked(&mut self) -> String {
        self.see(|screen| !screen.asked.is_empty()).await;
        self.screen.asked.values().next().unwrap().clone()
    }

    /// Until this turn is over.
    async fn ends(&mut self, turn: &str) -> String {
        let over =
            |frame: &&Value| frame["method"] == "turn/completed" && frame["params"]["turn"]["id"] == turn;
        loop {
            if let Some(frame) = self.heard.iter().find(over) {
                return frame["params"]["turn"]["status"].as_str().unwrap().to_owned();
            }
            self.read().await;
        }
    }

    /// Compares the screen with the session as our own protocol tells it.
    async fn compare(&self, rig: &Rig) {
        let mut talk = rig.follow(self.screen.thread.parse().unwrap(), Seq::ZERO).await;
        let head = talk.info().await.head;
        talk.until("the whole session", |talk| talk.timeline.head >= head).await;
        self.screen.check(&talk.timeline, false);
    }

    fn shows(&self, kind: &str, text: &str) -> bool {
        self.screen.cards.iter().any(|card| card.kind == kind && card.text.contains(text))
    }
}

fn long_talk() -> Value {
    json!({ "say": "word ".repeat(400), "chunks": "words", "delay_ms": 20 })
}

fn touch(file: &str) -> Value {
    json!({ "call": "exec_command", "args": { "cmd": format!("touch {file}") } })
}

fn bash(command: &str) -> Value {
    json!({ "call": "Bash", "args": { "command": command, "description": "make it" } })
}

#[tokio::test]
async fn a_phone_works_with_codex_through_its_own_ui() {
    let mut rig = Rig::with(json!([
        { "do": [touch("allowed")] },
        { "do": [touch("denied")] },
        { "do": [{ "say": "One of two.", "chunks": 3 }] },
        { "do": [long_talk()] },
        { "do": [long_talk()] },
        { "do": [{ "say": "Still here." }] },
    ]))
    .await;
    let (mut ui, token) = Ui::paired(&rig).await;
    ui.start(&rig, None).await;
    let turn = ui.prompt("make two files").await;
    let first = ui.asked().await;
    ui.say(json!({ "id": first, "result": { "decision": "accept" } })).await;
    ui.see(|screen| screen.asked.values().any(|asked| *asked != first)).await;
    let second = ui.screen.asked.values().find(|asked| **asked != first).unwrap().clone();
    ui.say(json!({ "id": second, "result": { "decision": "decline" } })).await;
    assert_eq!(ui.ends(&turn).await, "completed");
    assert!(rig.work().join("allowed").exists() && !rig.work().join("denied").exists());
    assert!(ui.shows("assistant", "One of two.") && ui.shows("user", "make two files"), "{:#?}", ui.screen);

    // Another connection in mid-turn: the text so far, and the Stop button.
    let turn = ui.prompt("talk").await;
    ui.see(|screen| screen.cards.iter().any(|card| card.text.starts_with("word word"))).await;
    let mut ui = Ui::connect(&rig, &token, ui.screen).await;
    ui.reload().await;
    ui.see(|screen| screen.works && screen.cards.iter().any(|card| card.text.starts_with("word word"))).await;
    ui.call("turn/interrupt", json!({ "threadId": ui.screen.thread, "turnId": turn })).await;
    assert_eq!(ui.ends(&turn).await, "interrupted");
    let spoken = ui.screen.cards.last().unwrap().text.clone();
    assert!(spoken.split(' ').all(|word| word == "word"), "each word once: {spoken}");

    // The hub is killed in mid-turn and comes back; nobody resumes the thread.
    ui.prompt("talk again").await;
    ui.see(|screen| {
        screen.cards.last().is_some_and(|card| {
            card.kind == "assistant"
                && card.text.len() < spoken.len() + 2_000
                && screen.works
                && card.text.starts_with("word word")
        })
    })
    .await;
    rig.kill().await;
    rig.start().await;
    let mut ui = Ui::connect(&rig, &token, ui.screen).await;
    ui.see(|screen| !screen.works).await;
    let turn = ui.prompt("are you there").await;
    assert_eq!(ui.ends(&turn).await, "completed");
    assert!(ui.shows("assistant", "Still here."), "{:#?}", ui.screen);
    ui.reload().await;
    ui.compare(&rig).await;
}

#[tokio::test]
async fn claude_works_behind_the_same_ui() {
    let rig = Rig::with(json!([
        { "when": { "contains": "make it", "tools": true }, "do": [bash("touch made")] },
        { "do": [{ "say": "It is made." }] },
    ]))
    .await;
    let (mut ui, _) = Ui::paired(&rig).await;
    ui.start(&rig, Some("claude")).await;
    let turn = ui.prompt("make it").await;
    let asked = ui.asked().await;
    ui.say(json!({ "id": asked, "result": { "decision": "accept" } })).await;
    assert_eq!(ui.ends(&turn).await, "completed");
    assert!(rig.work().join("made").exists());
    assert!(ui.shows("assistant", "It is made.") && ui.shows("command", "$ touch made"), "{:#?}", ui.screen);
    ui.reload().await;
    ui.compare(&rig).await;
}
