//! What the web UI of Codex Pocket makes of what it hears, and what it refuses to understand.

use std::collections::{BTreeMap, HashMap};

use longshore_model::timeline::{Content, Timeline};
use serde_json::Value;

/// A message on the screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Card {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) text: String,
}

/// One thread on the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screen {
    pub(crate) thread: String,
    pub(crate) cards: Vec<Card>,
    /// The texts that grow, by item. They outlive the cards that they fill.
    growing: HashMap<String, String>,
    thought: String,
    pub(crate) turn: Option<String>,
    /// Whether there is a Stop button.
    pub(crate) works: bool,
    pub(crate) plan: Vec<(String, String)>,
    /// The ids of the open requests, by their cards.
    pub(crate) asked: BTreeMap<String, String>,
    pub(crate) diff: String,
}

fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no text `{name}` in {value}"))
}

impl Screen {
    pub(crate) fn new(thread: impl ToString) -> Self {
        Self { thread: thread.to_string(), ..Self::default() }
    }

    pub(crate) fn card(&self, id: impl ToString) -> Option<&Card> {
        let id = id.to_string();
        self.cards.iter().find(|card| card.id == id)
    }

    fn upsert(&mut self, id: &str, kind: &str, text: &str) {
        let card = Card { id: id.to_owned(), kind: kind.to_owned(), text: text.to_owned() };
        match self.cards.iter_mut().find(|card| card.id == id) {
            Some(known) => *known = card,
            None => self.cards.push(card),
        }
        self.growing.remove(id);
    }

    fn grow(&mut self, id: &str, kind: &str, delta: &str) {
        let text = self.growing.entry(id.to_owned()).or_default();
        text.push_str(delta);
        let text = text.clone();
        match self.cards.iter_mut().find(|card| card.id == id) {
            Some(known) => known.text = text,
            None => self.cards.push(Card { id: id.to_owned(), kind: kind.to_owned(), text }),
        }
    }

    /// The history of the thread, which replaces what was on the screen.
    pub(crate) fn load(&mut self, turns: &Value) {
        let turns = turns.as_array().expect("turns are a list");
        assert!(!turns.is_empty(), "with no turns the thread would stay blank");
        self.cards.clear();
        self.growing.clear();
        for item in turns.iter().flat_map(|turn| turn["items"].as_array().expect("items are a list")) {
            self.item(item);
        }
    }

    /// A message of the server, whatever it is about.
    pub(crate) fn hear(&mut self, frame: &Value) {
        let Some(method) = frame["method"].as_str() else { return };
        let params = &frame["params"];
        if text_of(params, "threadId") != self.thread {
            return;
        }
        match method {
            "turn/started" => {
                self.turn = Some(text_of(&params["turn"], "id").to_owned());
                self.works = text_of(&params["turn"], "status").eq_ignore_ascii_case("inprogress");
                self.plan.clear();
                self.thought.clear();
                assert!(self.works, "{frame}");
            }
            "turn/completed" => {
                text_of(&params["turn"], "id");
                self.works = text_of(&params["turn"], "status").eq_ignore_ascii_case("inprogress");
                assert!(!self.works, "{frame}");
            }
            "turn/plan/updated" => {
                let steps = params["plan"].as_array().unwrap();
                let step = |step: &Value| {
                    let status = text_of(step, "status");
                    assert!(["Pending", "InProgress", "Completed"].contains(&status), "{frame}");
                    (text_of(step, "step").to_owned(), status.to_owned())
                };
                self.plan = steps.iter().map(step).collect();
            }
            "turn/diff/updated" => {
                text_of(params, "turnId");
                text_of(params, "diff").clone_into(&mut self.diff);
                assert!(!self.diff.is_empty(), "{frame}");
            }
            "item/started" => {
                let item = &params["item"];
                if item["type"] == "userMessage" && self.card(text_of(item, "id")).is_none() {
                    self.item(item);
                }
            }
            "item/completed" => self.item(&params["item"]),
            "item/agentMessage/delta" => {
                self.grow(text_of(params, "itemId"), "assistant", text_of(params, "delta"))
            }
            "item/reasoning/summaryTextDelta" => self.thought.push_str(text_of(params, "delta")),
            "item/commandExecution/outputDelta" => {
                self.grow(text_of(params, "itemId"), "command", text_of(params, "delta"))
            }
            "item/fileChange/outputDelta" => {
                self.grow(text_of(params, "itemId"), "file", text_of(params, "delta"))
            }
            "item/plan/delta" => self.grow(text_of(params, "itemId"), "plan", text_of(params, "delta")),
            "item/mcpToolCall/progress" => {
                let line = format!("{}\n", text_of(params, "message"));
                self.grow(text_of(params, "itemId"), "mcp", &line);
            }
            "item/tool/requestUserInput" => {
                let questions = params["questions"].as_array().unwrap();
                assert!(
                    questions
                        .iter()
                        .all(|question| question["id"].is_string() && question["question"].is_string())
                );
                self.ask(format!("user-input-{}", text_of(params, "itemId")), "question", frame);
            }
            approval if approval.ends_with("/requestApproval") => {
                assert!(!text_of(params, "reason").is_empty(), "the card would be empty: {frame}");
                self.ask(format!("approval-{}", text_of(params, "itemId")), "approval", frame);
            }
            other => panic!("the UI has never heard of {other}: {frame}"),
        }
    }

    fn ask(&mut self, card: String, kind: &str, frame: &Value) {
        self.works = true;
        if self.card(&card).is_none() {
            self.upsert(&card, kind, frame["params"]["reason"].as_str().unwrap_or_default());
        }
        self.asked.insert(card, text_of(frame, "id").to_owned());
    }

    fn item(&mut self, item: &Value) {
        let id = text_of(item, "id");
        match text_of(item, "type") {
            "userMessage" => {
                let parts = item["content"].as_array().unwrap();
                let text =
                    parts.iter().find(|part| part["type"] == "text").map_or("", |part| text_of(part, "text"));
                self.upsert(id, "user", text);
            }
            "agentMessage" => {
                let text = text_of(item, "text").trim();
                if !text.is_empty() {
                    self.upsert(id, "assistant", text);
                }
            }
            "reasoning" => {
                let whole =
                    item["summary"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<String>();
                let text =
                    if self.thought.trim().is_empty() { whole } else { std::mem::take(&mut self.thought) };
                self.thought.clear();
                if !text.trim().is_empty() {
                    self.upsert(id, "reasoning", text.trim());
                }
            }
            "commandExecution" => {
                let (command, output) =
                    (text_of(item, "command"), item["aggregatedOutput"].as_str().unwrap_or_default());
                self.asked.remove(id);
                self.upsert(id, "command", &format!("$ {command}\n{output}"));
            }
            "fileChange" => {
                let files = item["changes"].as_array().unwrap().iter();
                let files = files.map(|file| format!("{}\n{}", text_of(file, "path"), text_of(file, "diff")));
                self.upsert(id, "file", &files.collect::<Vec<_>>().join("\n\n"));
            }
            "mcpToolCall" => self.upsert(
                id,
                "mcp",
                &format!("Tool: {}\n{}{}", text_of(item, "tool"), item["result"], item["error"]),
            ),
            "webSearch" => self.upsert(id, "web", text_of(item, "query")),
            "imageView" => self.upsert(id, "image", text_of(item, "path")),
            "plan" => self.upsert(id, "plan", text_of(item, "text")),
            "collabAgentToolCall" => {
                assert!(item["receiverThreadIds"][0].is_string(), "{item}");
                self.upsert(
                    id,
                    "collab",
                    &format!("{} {}", text_of(item, "prompt"), text_of(item, "status")),
                );
            }
            other => panic!("the UI draws no {other}: {item}"),
        }
    }

    /// Everything of a timeline that the protocol has a place for is on the screen, and nothing that is over waits.
    pub(crate) fn check(&self, timeline: &Timeline, works: bool) {
        assert_eq!(self.works, works, "the Stop button of {self:#?}");
        for item in &timeline.items {
            let id = item.id.map(|id| id.to_string()).unwrap_or_else(|| format!("item-{}", item.seq));
            let text = || {
                self.card(&id)
                    .unwrap_or_else(|| panic!("{item:?} is missing in {:#?}", self.cards))
                    .text
                    .clone()
            };
            match &item.content {
                Content::UserMessage { .. } => assert_eq!(text(), item.text),
                Content::Message { .. } if item.text.trim().is_empty() => {}
                Content::Message { .. } => assert_eq!(text().trim(), item.text.trim()),
                Content::Reasoning { .. } if item.ended_at.is_some() && !item.text.trim().is_empty() => {
                    // The pieces that came may be fewer than the whole, but never those of another thought.
                    let shown = text();
                    assert!(
                        !shown.is_empty() && item.text.contains(&shown),
                        "{shown} instead of {}",
                        item.text
                    );
                }
                Content::Reasoning { .. } => {}
                Content::Plan { steps } if !steps.is_empty() => {}
                Content::Plan { .. } if item.ended_at.is_none() => {}
                Content::Plan { .. } => assert_eq!(text(), item.text),
                Content::Tool { call, outcome: Some(_), .. } if call.command.is_some() => {
                    let expected = format!("$ {}\n{}", call.command.as_deref().unwrap(), item.text);
                    assert_eq!(text(), expected);
                }
                Content::Tool { outcome: Some(_), .. } => assert!(!text().is_empty()),
                Content::Tool { outcome: None, .. } => {}
                Content::Diff { changes, .. } if item.ended_at.is_some() => {
                    assert!(changes.iter().all(|change| text().contains(&change.path)));
                }
                Content::Diff { .. } | Content::TurnDiff | Content::TurnEnd(_) | Content::Notice { .. } => {}
                Content::Approval { request, decision, expired } => {
                    let open = decision.is_none() && expired.is_none();
                    let card = format!("approval-{}", request.approval);
                    assert_eq!(self.asked.contains_key(&card), open, "{item:?}");
                }
                Content::Question { request, answer, expired } => {
                    let open = answer.is_none() && expired.is_none();
                    let card = format!("user-input-{}", request.question);
                    assert_eq!(self.asked.contains_key(&card), open, "{item:?}");
                }
                Content::Delegation { end, .. } if end.is_some() => assert!(!text().is_empty()),
                Content::Delegation { .. } => {}
            }
        }
    }
}
