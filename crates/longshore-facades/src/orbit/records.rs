//! A thread as the list of messages that went to and fro, for review, search and export.
//!
//! The hub keeps no such list. It is made of the timeline: each turn begins with the client's prompt and ends with its
//! diff, each request of the server is followed by its answer.

use longshore_model::id::TurnId;
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};

use super::dialect::{turn_ended, turns};
use super::items::{id_of, thread_item};
use super::threads::thread;
use super::wire::{Params, ServerFrame};
use super::{asks, diffs};
use crate::kernel::ask::Ask;

/// A message of a thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadRecord {
    /// The place of its item.
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) turn: Option<TurnId>,
    /// Whether the client sent it.
    pub(super) of_client: bool,
    pub(super) role: &'static str,
    pub(super) message: Value,
}

impl ThreadRecord {
    /// The message with its time and direction.
    pub(super) fn entry(&self) -> Value {
        json!({ "ts": self.at, "direction": self.direction(), "message": self.message })
    }

    pub(super) fn direction(&self) -> &'static str {
        if self.of_client { "client" } else { "server" }
    }

    pub(super) fn method(&self) -> Option<&str> {
        self.message["method"].as_str()
    }
}

/// The messages of a thread, oldest first.
pub(super) fn records(info: &SessionInfo, items: &[Item]) -> Vec<ThreadRecord> {
    let mut list = RecordList { info, items, turn: None, at: info.created_at, seq: 0, records: Vec::new() };
    for item in items {
        list.item(item);
    }
    list.end_turn();
    list.records
}

/// The whole thread in one message. The client rebuilds a thread from the newest message that has something to show, so
/// that this is the newest. None for a thread with nothing in it.
pub(super) fn snapshot(info: &SessionInfo, items: &[Item]) -> Option<ThreadRecord> {
    let turns = turns(items);
    let last = items.last().filter(|_| !turns.is_empty())?;
    let message = json!({ "id": "history", "result": { "thread": thread(info, turns) } });
    let at = last.ended_at.unwrap_or(last.started_at);
    Some(ThreadRecord { seq: last.seq.0, at, turn: None, of_client: false, role: "system", message })
}

struct RecordList<'a> {
    info: &'a SessionInfo,
    items: &'a [Item],
    /// The turn whose messages come now.
    turn: Option<TurnId>,
    at: Timestamp,
    seq: u64,
    records: Vec<ThreadRecord>,
}

impl RecordList<'_> {
    fn push(&mut self, of_client: bool, role: &'static str, message: Value) {
        let (seq, at, turn) = (self.seq, self.at, self.turn);
        self.records.push(ThreadRecord { seq, at, turn, of_client, role, message });
    }

    fn say(&mut self, role: &'static str, frame: &ServerFrame<'_>) {
        self.push(false, role, json!(frame));
    }

    fn item(&mut self, item: &Item) {
        if let Some(turn) = item.turn.filter(|turn| self.turn != Some(*turn)) {
            self.end_turn();
            (self.seq, self.at) = (item.seq.0, item.started_at);
            self.begin_turn(turn, item);
        }
        (self.seq, self.at) = (item.seq.0, item.ended_at.unwrap_or(item.started_at));
        let session = self.info.session_id;
        if let Some(request) = asks::request_once(session, &self.info.cwd, item) {
            self.at = item.started_at;
            self.say("approval", &request);
            self.at = item.ended_at.unwrap_or(item.started_at);
            return reply_of(item).into_iter().for_each(|reply| self.push(true, "user", reply));
        }
        let Some(shown) = thread_item(item).filter(|_| item.ended_at.is_some() || !item.text.is_empty())
        else {
            return;
        };
        let (role, method) = match &item.content {
            Content::UserMessage { .. } => ("user", "item/started"),
            Content::Message { .. } | Content::Reasoning { .. } | Content::Plan { .. } => {
                ("assistant", "item/completed")
            }
            Content::Tool { .. } | Content::Diff { .. } | Content::TurnDiff | Content::Delegation { .. } => {
                ("tool", "item/completed")
            }
            Content::Approval { .. }
            | Content::Question { .. }
            | Content::TurnEnd(_)
            | Content::Notice { .. } => ("system", "item/completed"),
        };
        let params = Params::Item { thread_id: session, turn_id: item.turn, item: shown };
        self.say(role, &ServerFrame::notification(method, params));
    }

    fn begin_turn(&mut self, turn: TurnId, first: &Item) {
        self.turn = Some(turn);
        let session = self.info.session_id;
        let prompts = matches!(first.content, Content::UserMessage { .. });
        let input = if prompts { json!([{ "type": "text", "text": first.text }]) } else { json!([]) };
        let prompt = json!({ "method": "turn/start", "params": { "threadId": session, "input": input } });
        self.push(true, "user", prompt);
        let shown =
            super::wire::Turn { id: turn.to_string(), status: "inProgress", error: None, items: Vec::new() };
        let params = Params::Turn { thread_id: session, turn_id: turn, status: "InProgress", turn: shown };
        self.say("system", &ServerFrame::notification("turn/started", params));
    }

    fn end_turn(&mut self) {
        let (Some(turn), session) = (self.turn, self.info.session_id) else { return };
        let items = self.items;
        let of_turn = || items.iter().filter(|item| item.turn == Some(turn));
        let diff = diffs::of_turn(of_turn(), &self.info.cwd);
        if !diff.is_empty() {
            let params = Params::Diff { thread_id: session, turn_id: turn, diff: diff.into() };
            self.say("tool", &ServerFrame::notification("turn/diff/updated", params));
        }
        for item in of_turn() {
            if let Content::TurnEnd(end) = &item.content {
                self.at = item.started_at;
                self.say(
                    "system",
                    &ServerFrame::notification("turn/completed", turn_ended(session, turn, end)),
                );
            }
        }
        self.turn = None;
    }
}

/// The client's answer to an approval or a question, if it was given.
fn reply_of(item: &Item) -> Option<Value> {
    if let Content::Approval { request, decision: Some(decision), .. } = &item.content {
        let word = match decision.decision.allows() {
            true => "accept",
            false => "decline",
        };
        let id = Ask::Approval(request.approval).foreign();
        Some(json!({ "id": id, "result": { "decision": word, "by": decision.by } }))
    } else if let Content::Approval { request, expired: Some(reason), .. } = &item.content {
        let id = Ask::Approval(request.approval).foreign();
        Some(json!({ "id": id, "result": { "decision": "cancel", "reason": reason } }))
    } else if let Content::Question { request, answer: Some(answer), .. } = &item.content {
        let texts = |value: &Value| match value {
            Value::Array(values) => json!({ "answers": values }),
            Value::String(text) => json!({ "answers": [text] }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                json!({ "answers": [value.to_string()] })
            }
        };
        let answers: serde_json::Map<String, Value> =
            answer.answers.iter().map(|(field, value)| (field.clone(), texts(value))).collect();
        Some(json!({ "id": Ask::Question(request.question).foreign(), "result": { "answers": answers } }))
    } else {
        None
    }
}

/// A thread as a text for people.
pub(super) fn markdown(info: &SessionInfo, items: &[Item]) -> String {
    let mut text = format!("# {}\n\nThread: {}\n", info.title, info.session_id);
    for item in items {
        let (role, body) = match &item.content {
            Content::UserMessage { .. } => ("User", item.text.clone()),
            Content::Message { .. } => ("Assistant", item.text.clone()),
            Content::Reasoning { .. } => ("Thought", item.text.clone()),
            Content::Plan { steps } => {
                let marks = steps.iter().map(|step| {
                    let done = step.status == longshore_model::item::PlanStatus::Completed;
                    format!("- [{}] {}", if done { "x" } else { " " }, step.text)
                });
                ("Plan", std::iter::once(item.text.clone()).chain(marks).collect::<Vec<_>>().join("\n"))
            }
            Content::Tool { call, outcome: Some(outcome), changes } => {
                ("Tool", longshore_model::describe::after(call, outcome, &item.text, changes))
            }
            Content::Tool { call, outcome: None, .. } => ("Tool", longshore_model::describe::before(call)),
            Content::Diff { changes, .. } => {
                let files = changes.iter().map(|change| {
                    format!(
                        "{}\n{}",
                        change.path,
                        longshore_model::describe::fenced("diff", change.diff.trim_end())
                    )
                });
                ("Changes", files.collect::<Vec<_>>().join("\n\n"))
            }
            Content::Delegation { task, .. } => ("Delegation", format!("{task}\n\n{}", item.text)),
            Content::Approval { .. } | Content::Question { .. } => match reply_of(item) {
                Some(reply) => ("Approval", format!("{}\n\n{}", item.text, reply["result"])),
                None => ("Approval", item.text.clone()),
            },
            Content::TurnEnd(_) | Content::Notice { .. } => ("Notice", item.text.clone()),
            Content::TurnDiff => continue,
        };
        if !body.trim().is_empty() {
            text.push_str(&format!("\n## {role}\n\n{}\n", body.trim()));
        }
    }
    text
}

/// Where the words of a search are in a thread.
pub(super) fn found(info: &SessionInfo, items: &[Item], words: &str) -> Vec<ThreadRecord> {
    let words = words.to_lowercase();
    let all = records(info, items);
    let holds = |item: &Item| {
        let command =
            if let Content::Tool { call, .. } = &item.content { call.command.as_deref() } else { None };
        [Some(item.text.as_str()), command]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(&words))
    };
    let mut found = Vec::new();
    for item in items.iter().filter(|item| holds(item)) {
        let id = id_of(item);
        let of_item = |record: &&ThreadRecord| {
            record.seq == item.seq.0 && record.message["params"]["item"]["id"] == id.as_str()
        };
        found.extend(all.iter().find(of_item).cloned());
    }
    found
}
