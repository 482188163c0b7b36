//! The OpenAgents app on the whole program: through its own port, without a token, to real agents.

use futures_util::{SinkExt, StreamExt};
use longshore_model::id::Seq;
use longshore_model::lifecycle::TurnOutcome;
use longshore_models::script::Script;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::rig::{Rig, Talk, WITHIN};
use super::scripted::steps;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_version":"0.2.2","client_capabilities":{"fs":{"read_text_file":false,"write_text_file":false},"terminal":false},"client_info":{"name":"openagents-ios","title":"OpenAgents iOS","version":"0.1.0"}}}"#;

/// The app: all that it heard, in order.
struct Phone {
    wire: WebSocketStream<MaybeTlsStream<TcpStream>>,
    heard: Vec<Value>,
    next_id: u64,
}

impl Phone {
    async fn connect(rig: &Rig) -> Self {
        let note = std::fs::read(rig.folder.path().join("longshore/data/hub.json")).unwrap();
        let note: Value = serde_json::from_slice(&note).unwrap();
        let (wire, _) = connect_async(note["openagents"]["url"].as_str().unwrap()).await.unwrap();
        let mut phone = Self { wire, heard: Vec::new(), next_id: 1 };
        phone.wire.send(Message::text(HELLO)).await.unwrap();
        let hello = phone.answer(&json!(1)).await;
        assert_eq!(hello["agent_capabilities"]["load_session"], false);
        phone
    }

    async fn frame(&mut self) -> Value {
        let next = async {
            loop {
                if let Message::Text(text) = self.wire.next().await.expect("the hub hung up").unwrap() {
                    assert!(text.contains(r#""jsonrpc":"2.0""#), "{text:.200}");
                    return serde_json::from_str(&text).unwrap();
                }
            }
        };
        match tokio::time::timeout(WITHIN, next).await {
            Ok(frame) => frame,
            Err(_) => panic!("nothing came; so far: {:#?}", self.heard),
        }
    }

    async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["id"] == *id {
                assert!(frame.get("error").is_none(), "{frame}");
                return frame["result"].clone();
            }
            self.heard.push(frame["params"]["update"].clone());
        }
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.wire.send(Message::text(request.to_string())).await.unwrap();
        self.answer(&id).await
    }

    async fn prompt(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.call("session/prompt", json!({ "session_id": session, "prompt": prompt })).await["status"]
            .clone()
    }

    /// Hears until an update has these words in it, and gives that one.
    async fn until(&mut self, words: &str) -> Value {
        loop {
            if let Some(at) = self.heard.iter().position(|update| update.to_string().contains(words)) {
                return self.heard.drain(..=at).next_back().unwrap();
            }
            let frame = self.frame().await;
            self.heard.push(frame["params"]["update"].clone());
        }
    }
}

/// A hub with a port for the app.
async fn rig(story: Value) -> Rig {
    let mut rig = Rig::with(json!([])).await;
    rig.model.replace(Script::from_value(story).unwrap());
    let config = rig.folder.path().join("longshore/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, format!("openagents = \"full\"\nopenagents_port = 0\n{text}")).unwrap();
    rig.kill().await;
    rig.start().await;
    rig
}

async fn follow(rig: &Rig, session: &str) -> Talk {
    rig.follow(session.parse().unwrap(), Seq::ZERO).await
}

fn run(command: &str) -> Value {
    json!({ "call": "exec_command", "args": { "cmd": command, "yield_time_ms": 30_000 } })
}

#[tokio::test]
async fn codex_from_the_app_through_a_turn_an_approval_a_stop_and_a_killed_hub() {
    let mut rig = rig(json!([
        { "do": [{ "reason": "A file." }, run("echo x > made")] },
        { "do": [{ "say": "Made it.", "chunks": 3 }] },
        { "do": [run("touch denied")] },
        { "do": [{ "say": "Left it." }] },
        { "do": [run("sleep 600")] },
        { "do": [{ "say": "Back again." }] },
    ]))
    .await;
    let mut phone = Phone::connect(&rig).await;
    let new = phone.call("session/new", json!({ "cwd": rig.work() })).await["session_id"].clone();
    let named = new.as_str().unwrap();
    phone.call("session/set_mode", json!({ "session_id": named, "mode_id": "codex" })).await;
    assert_eq!(phone.until("current_mode_update").await["current_mode_id"], "codex");
    assert_eq!(phone.prompt(named, "make it").await, "started");
    let mut talk = follow(&rig, named).await;
    let asked = talk.until_asked(1).await;
    assert!(phone.until("waits for permission").await.to_string().contains("echo x > made"));
    talk.decide(&asked[0], "allow_once").await.unwrap();
    phone.until("owner allowed this once").await;
    let said = phone.until("Made it.").await;
    assert_eq!(said["content"]["content"]["text"], "Made it.", "one chunk for one message");
    talk.until_turn_ends_somehow().await;
    assert!(rig.work().join("made").exists());

    assert_eq!(phone.prompt(named, "and another").await, "resumed");
    let asked = talk.until_asked(2).await;
    talk.decide(&asked[0], "deny").await.unwrap();
    phone.until("owner denied this").await;
    phone.until("Left it.").await;
    assert!(!rig.work().join("denied").exists());
    talk.until_turn_ends(talk.last_turn()).await;

    assert_eq!(phone.prompt(named, "sleep").await, "resumed");
    let asked = talk.until_asked(3).await;
    talk.decide(&asked[0], "allow_once").await.unwrap();
    phone.until("owner allowed this once").await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "session_id": named } });
    phone.wire.send(Message::text(cancel.to_string())).await.unwrap();
    phone.until("The turn was interrupted").await;
    assert_eq!(talk.until_turn_ends(talk.last_turn()).await, TurnOutcome::Interrupted);

    rig.kill().await;
    rig.start().await;
    let mut phone = Phone::connect(&rig).await;
    assert_eq!(phone.prompt(named, "are you there?").await, "resumed", "it goes on with the old session");
    phone.until("Back again.").await;
    let timeline = phone.call("tinyvex/history.sessionTimeline", json!({ "session_id": named })).await;
    let told = timeline.to_string();
    for words in ["make it", "Made it.", "A file.", "are you there?", "Back again.", "\"Left it.\""] {
        assert!(told.contains(words), "{words}: {timeline:#}");
    }
    assert_eq!(phone.call("threads/list", json!({})).await["items"][0]["id"], *named);
    let mut client = rig.client().await;
    let known: Value = client.call("devices", json!({})).await.unwrap();
    let labels: Vec<&Value> =
        known["devices"].as_array().unwrap().iter().map(|known| &known["label"]).collect();
    assert_eq!(labels, ["OpenAgents app"], "one device, over all starts");
    let log = std::fs::read_to_string(rig.hub_log()).unwrap();
    assert!(log.contains("every program and every user of this machine can do everything"), "{log}");
    assert!(!log.contains("announced"), "nothing is announced on loopback: {log}");
}

#[tokio::test]
async fn claude_from_the_app_and_commands_where_nobody_is_asked() {
    let rig = rig(steps(json!([{ "do": [{ "say": "Hello from Claude." }] }]))).await;
    let mut phone = Phone::connect(&rig).await;
    let new = json!({ "cwd": rig.work(), "mode_id": "claude-code" });
    let new = phone.call("session/new", new).await["session_id"].clone();
    let named = new.as_str().unwrap();
    assert_eq!(phone.prompt(named, "hi").await, "started");
    let said = phone.until("Hello from Claude.").await;
    assert_eq!(said["sessionUpdate"], "agent_message_chunk");
    assert_eq!(phone.call("threads/list", json!({})).await["items"][0]["source"], "claude_code");

    let write = json!({ "session_id": named, "path": "boat.txt", "content": "oars\n" });
    assert_eq!(phone.call("fs/write_text_file", write).await, json!({}));
    let read = json!({ "session_id": named, "path": rig.work().join("boat.txt") });
    assert_eq!(phone.call("fs/read_text_file", read).await, json!({ "content": "oars\n" }));
    let mut talk = follow(&rig, named).await;
    talk.call("update", json!({ "mode": "full" })).await.unwrap();
    let command = json!({ "session_id": named, "command": ["cat", "boat.txt"] });
    let ran = phone.call("terminal/run", command).await;
    assert_eq!(ran, json!({ "output": "oars\n", "truncated": false, "exit_status": 0 }));
}
