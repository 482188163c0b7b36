//! What the app makes of the messages: its rows, its cards, what it asks. It refuses what would leave the real app in a
//! state that it cannot show.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An agent, as the app holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AppAgent {
    pub(crate) snapshot: Value,
    pub(crate) rows: Vec<Value>,
    /// The bubble that is being streamed.
    pub(crate) bubble: String,
    pub(crate) asked: Vec<Value>,
}

impl AppAgent {
    /// The texts of the rows, with their authors; a card is named by its tool.
    pub(crate) fn said(&self) -> Vec<String> {
        self.rows.iter().flat_map(words).collect()
    }

    /// The cards without a result.
    pub(crate) fn running(&self) -> usize {
        let blocks = || self.rows.iter().filter_map(|row| row["content"].as_array()).flatten();
        let has_result = |id: &Value| blocks().any(|block| block["toolUseId"] == *id);
        blocks().filter(|block| block["type"] == "tool_use" && !has_result(&block["id"])).count()
    }

    fn card(&mut self, id: &Value) -> &mut Vec<Value> {
        let holds = |row: &&mut Value| {
            let blocks = row["content"].as_array();
            blocks.is_some_and(|blocks| blocks.iter().any(|block| block["id"] == *id))
        };
        let row = self.rows.iter_mut().find(holds).unwrap_or_else(|| panic!("no card {id}"));
        row["content"].as_array_mut().unwrap()
    }
}

fn words(row: &Value) -> Vec<String> {
    let who = row["type"].as_str().unwrap();
    match &row["content"] {
        Value::String(text) => vec![format!("{who}: {text}")],
        Value::Array(blocks) => {
            assert_eq!(who, "assistant", "a message of a user must be a text: {row}");
            blocks.iter().map(word).collect()
        }
        other => panic!("a row of {other}"),
    }
}

fn word(block: &Value) -> String {
    let text = |key: &str| block[key].as_str().unwrap_or_else(|| panic!("no {key} in {block}")).to_owned();
    match block["type"].as_str().unwrap() {
        "text" => format!("assistant: {}", text("text")),
        "thinking" => format!("thinking: {}", text("text")),
        "tool_use" => {
            assert!(block["input"].is_object() && !text("id").is_empty(), "{block}");
            format!("tool: {}", text("name"))
        }
        "tool_result" => {
            assert!(!text("content").is_empty(), "an empty result is none: {block}");
            format!("result: {}", text("content"))
        }
        other => panic!("a block of {other}"),
    }
}

/// The app.
#[derive(Clone, Debug, Default)]
pub(crate) struct App {
    pub(crate) connected: bool,
    pub(crate) agents: BTreeMap<String, AppAgent>,
}

impl App {
    pub(crate) fn agent(&self, id: &str) -> &AppAgent {
        self.agents.get(id).unwrap_or_else(|| panic!("the app has no agent {id}"))
    }

    /// Takes a message, as the app does.
    pub(crate) fn take(&mut self, frame: &Value) {
        let kind = frame["type"].as_str().expect("every message has a type");
        assert!(frame["ts"].is_i64(), "every message has a time: {frame}");
        if kind == "connected" {
            self.connected = true;
        }
        if !self.connected {
            // The app drops it.
            return;
        }
        if matches!(kind, "connected" | "agentList") {
            let mut known = std::mem::take(&mut self.agents);
            for snapshot in frame["agents"].as_array().unwrap() {
                let id = snapshot["id"].as_str().unwrap().to_owned();
                let mut agent = known.remove(&id).unwrap_or_default();
                let asked = snapshot["pendingPermissions"].as_array().unwrap();
                // An empty list is ignored.
                if !asked.is_empty() {
                    agent.asked.clone_from(asked);
                }
                agent.snapshot = snapshot.clone();
                self.agents.insert(id, agent);
            }
            return;
        }
        if kind == "agentCreated" {
            let id = frame["agent"]["id"].as_str().unwrap().to_owned();
            let agent = AppAgent { snapshot: frame["agent"].clone(), ..AppAgent::default() };
            assert!(self.agents.insert(id, agent).is_none(), "it was there already: {frame}");
            return;
        }
        let Some(id) = frame["agentId"].as_str() else { return };
        if kind == "agentDestroyed" {
            self.agents.remove(id);
            return;
        }
        let Some(agent) = self.agents.get_mut(id) else {
            panic!("a message for an agent that the app does not have: {frame}");
        };
        agent.take(kind, frame);
    }
}

impl AppAgent {
    fn take(&mut self, kind: &str, frame: &Value) {
        match kind {
            "userMessage" => {
                assert!(frame["content"].is_string(), "{frame}");
                self.rows.push(
                    json!({ "type": "user", "content": frame["content"], "imageData": frame["imageData"] }),
                );
            }
            "streamChunk" => self.bubble.push_str(frame["text"].as_str().unwrap()),
            "assistantMessage" => {
                // It takes the place of the bubble.
                self.bubble.clear();
                let row = json!({ "type": "assistant", "content": frame["content"] });
                words(&row);
                self.rows.push(row);
            }
            "toolResults" => {
                for result in frame["results"].as_array().unwrap() {
                    word(result);
                    let blocks = self.card(&result["toolUseId"]);
                    blocks.retain(|block| block["toolUseId"] != result["toolUseId"]);
                    blocks.push(result.clone());
                }
            }
            "toolUseUpdated" => {
                let id = &frame["toolCallId"];
                let blocks = self.card(id);
                let block = blocks.iter_mut().find(|block| block["id"] == *id).unwrap();
                block["input"] = frame["input"].clone();
            }
            "permissionRequest" => {
                assert!(!self.asked.iter().any(|asked| asked["requestId"] == frame["requestId"]), "{frame}");
                self.asked.push(frame.clone());
            }
            "agentHistory" => {
                if self.rows.is_empty() && self.bubble.is_empty() {
                    self.rows = frame["messages"].as_array().unwrap().clone();
                    self.rows.iter().for_each(|row| drop(words(row)));
                }
                self.asked = frame["pendingPermissions"].as_array().unwrap().clone();
            }
            "agentUpdated" => {
                for (key, value) in frame.as_object().unwrap() {
                    assert!(!value.is_null() && *value != "", "what is empty is not said: {frame}");
                    self.snapshot[key] = value.clone();
                }
            }
            "agentResult" => self.snapshot["status"] = "idle".into(),
            "toolProgress" | "gitStatus" | "gitDiff" => {}
            other => panic!("the app knows no {other}"),
        }
    }
}
