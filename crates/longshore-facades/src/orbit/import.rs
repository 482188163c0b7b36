//! A thread from a file: messages of a thread as events of a new session.

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::{Body, Event};
use longshore_model::id::{Context, Ids, ItemId, Seq, SessionId, TurnId};
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, ToolCall, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::lifecycle::{Opened, TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_session::ImportRequest;
use serde_json::Value;

use super::calls::usual;
use crate::gate::Gate;
use crate::problem::Problem;

/// What was imported.
pub(super) struct ImportedThread {
    pub(super) thread: SessionId,
    pub(super) events: usize,
}

/// Imports the messages of an export, of this hub or of another server.
pub(super) async fn import(
    gate: &Gate,
    messages: &[Value],
    now: Timestamp,
) -> Result<ImportedThread, Problem> {
    let agents = gate.agents().await?;
    let agent = usual(&agents)
        .ok_or_else(|| Problem::invalid("no agent is installed that could continue the thread"))?;
    let cwd = match gate.recent_folders().await?.into_iter().next() {
        Some(recent) => recent,
        None => gate.folders(None).await?.path,
    };
    let seed = getrandom::u64().map_err(|_| Problem::our_fault())?;
    let thread = SessionId::mint(&mut Context { now, ids: &mut Ids::seeded(seed) });
    let opened = Opened {
        agent: agent.name.clone(),
        cwd: cwd.clone(),
        mode: Mode::Ask,
        model: None,
        effort: None,
        title: None,
        mcp_servers: Vec::new(),
        capabilities: Capabilities::default(),
        parent: None,
        forked_from: None,
        from_file: true,
    };
    let events = events_of(thread, opened, messages, now);
    if events.len() == 1 {
        return Err(Problem::invalid("the file holds no messages of a thread"));
    }
    let events: Vec<_> = events.into_iter().map(|event| (event, None)).collect();
    let count = events.len();
    gate.import(ImportRequest { events, cwd: Some(cwd), done: true }).await?;
    Ok(ImportedThread { thread, events: count })
}

/// The events of a session that holds these messages.
fn events_of(thread: SessionId, opened: Opened, messages: &[Value], now: Timestamp) -> Vec<Event> {
    let mut reader = MessageReader {
        thread,
        opened: opened.clone(),
        turn: None,
        at: now,
        prompt: None,
        events: Vec::new(),
    };
    if let Some(first) = messages.iter().find_map(|message| FileMessage::read(message, now)) {
        reader.at = first.at;
    }
    reader.push(None, None, Body::SessionOpened(Box::new(opened)));
    for message in messages.iter().filter_map(|message| FileMessage::read(message, now)) {
        reader.at = message.at;
        reader.message(&message.rpc);
    }
    reader.end_turn(TurnOutcome::Completed);
    reader.events
}

/// A message of a file with its time.
struct FileMessage {
    at: Timestamp,
    rpc: Value,
}

impl FileMessage {
    /// A row of an export has the message as a text in `payload`; a line of the events has it as it is.
    fn read(row: &Value, now: Timestamp) -> Option<Self> {
        let inner = row["payload"].as_str().map(serde_json::from_str::<Value>);
        let entry = match inner {
            Some(entry) => entry.ok()?,
            None => row.clone(),
        };
        let at = entry["ts"].as_str().and_then(|ts| ts.parse().ok()).unwrap_or(now);
        entry["message"].is_object().then(|| Self { at, rpc: entry["message"].clone() })
    }
}

struct MessageReader {
    thread: SessionId,
    opened: Opened,
    turn: Option<TurnId>,
    at: Timestamp,
    /// The prompt of the turn. Servers report it once more as an item.
    prompt: Option<String>,
    events: Vec<Event>,
}

impl MessageReader {
    fn push(&mut self, item: Option<ItemId>, text: Option<&str>, body: Body) {
        let seq = Seq(self.events.len() as u64 + 1);
        self.events.push(Event {
            seq,
            session: self.thread,
            agent: self.opened.agent.clone(),
            at: self.at,
            turn: self.turn,
            item,
            parent: None,
            text: text.map(str::to_owned),
            body,
        });
    }

    fn message(&mut self, rpc: &Value) {
        let params = &rpc["params"];
        match rpc["method"].as_str().unwrap_or_default() {
            "turn/start" => {
                let text = params["input"]
                    .as_array()
                    .and_then(|input| input.iter().find_map(|part| part["text"].as_str()));
                self.begin_turn(text);
            }
            "sendPrompt" => self.begin_turn(params["message"].as_str()),
            "turn/started" if self.turn.is_none() => self.begin_turn(None),
            "turn/completed" => {
                self.end_turn(match params["turn"]["status"].as_str().unwrap_or_default() {
                    "failed" => TurnOutcome::Failed,
                    "interrupted" => TurnOutcome::Interrupted,
                    _ => TurnOutcome::Completed,
                });
            }
            "turn/diff/updated" if self.turn.is_some() => {
                self.push(None, params["diff"].as_str(), Body::TurnDiff);
            }
            "item/started" if params["item"]["type"] == "userMessage" => self.prompt_item(&params["item"]),
            "item/completed" => self.item(&params["item"]),
            _ => {}
        }
    }

    fn begin_turn(&mut self, prompt: Option<&str>) {
        self.end_turn(TurnOutcome::Completed);
        let name = format!("{} {}", self.thread, self.events.len());
        self.turn = Some(TurnId::of_words(&["imported turn", &name]));
        self.push(None, None, Body::TurnStarted { prompt: None });
        if let Some(text) = prompt.filter(|text| !text.is_empty()) {
            self.said(text, &name);
        }
    }

    fn end_turn(&mut self, outcome: TurnOutcome) {
        if self.turn.is_some() {
            self.push(None, None, Body::TurnFinished(TurnEnd::of(outcome)));
            (self.turn, self.prompt) = (None, None);
        }
    }

    fn said(&mut self, text: &str, name: &str) {
        let item = ItemId::of_words(&["imported prompt", name]);
        self.prompt = Some(text.to_owned());
        self.push(
            Some(item),
            Some(text),
            Body::UserMessage { prompt: None, attachments: Vec::new(), by: None },
        );
    }

    fn prompt_item(&mut self, item: &Value) {
        let text = item["content"]
            .as_array()
            .and_then(|content| content.iter().find_map(|part| part["text"].as_str()));
        if let Some(text) = text.filter(|text| self.prompt.as_deref() != Some(*text)) {
            if self.turn.is_none() {
                self.begin_turn(None);
            }
            let name = format!("{} {}", self.thread, item["id"]);
            self.said(text, &name);
        }
    }

    fn item(&mut self, item: &Value) {
        let text = |name: &str| item[name].as_str();
        let name = format!("{} {}", self.thread, item["id"]);
        let id = Some(ItemId::of_words(&["imported item", &name]));
        match item["type"].as_str().unwrap_or_default() {
            "userMessage" => self.prompt_item(item),
            "agentMessage" => self.push(id, text("text"), Body::MessageDone { phase: None, partial: false }),
            "reasoning" => {
                let parts =
                    ["summary", "content"].into_iter().filter_map(|list| item[list].as_array()).flatten();
                let thought = parts.filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
                self.push(id, Some(&thought), Body::ReasoningDone { partial: false });
            }
            "plan" => self.push(id, text("text"), Body::PlanUpdated { steps: Vec::new() }),
            "commandExecution" => {
                let command = text("command").map(str::to_owned);
                let call = ToolCall {
                    name: "command".to_owned(),
                    kind: ToolKind::Execute,
                    command,
                    ..ToolCall::unknown()
                };
                let outcome =
                    ToolOutcome { exit_code: item["exitCode"].as_i64(), ..ToolOutcome::of(status_of(item)) };
                self.call(id, call, outcome, text("aggregatedOutput"));
            }
            "mcpToolCall" => {
                let call = ToolCall {
                    name: text("tool").unwrap_or("tool").to_owned(),
                    input: item["arguments"].clone(),
                    ..ToolCall::unknown()
                };
                let content = item["result"]["content"].as_array();
                let output =
                    content.and_then(|content| content.iter().find_map(|part| part["text"].as_str()));
                let output = output.or_else(|| item["error"]["message"].as_str());
                self.call(id, call, ToolOutcome::of(status_of(item)), output);
            }
            "webSearch" => {
                let input = serde_json::json!({ "query": text("query") });
                let call = ToolCall {
                    name: "web_search".to_owned(),
                    kind: ToolKind::Search,
                    input,
                    ..ToolCall::unknown()
                };
                self.call(id, call, ToolOutcome::of(ToolStatus::Completed), None);
            }
            "fileChange" => {
                let files = item["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let changes = files.iter().filter_map(change_of).collect();
                self.push(id, None, Body::FileDiff(FileDiff { status: status_of(item), changes }));
            }
            _ => {}
        }
    }

    fn call(&mut self, id: Option<ItemId>, call: ToolCall, outcome: ToolOutcome, output: Option<&str>) {
        self.push(id, None, Body::ToolStarted(call));
        self.push(id, output, Body::ToolFinished(outcome));
    }
}

fn status_of(item: &Value) -> ToolStatus {
    match item["status"].as_str().unwrap_or_default() {
        "failed" => ToolStatus::Failed,
        "declined" => ToolStatus::Declined,
        _ => ToolStatus::Completed,
    }
}

fn change_of(file: &Value) -> Option<FileChange> {
    let kind = file["kind"].as_str().or_else(|| file["kind"]["type"].as_str()).unwrap_or_default();
    Some(FileChange {
        path: file["path"].as_str()?.to_owned(),
        kind: match kind {
            "add" => FileChangeKind::Add,
            "delete" => FileChangeKind::Delete,
            _ => FileChangeKind::Update,
        },
        moved_to: None,
        diff: file["diff"].as_str().unwrap_or_default().to_owned(),
    })
}
