//! The parts of a turn: messages, thoughts and plans; also tool calls and changes, as far as they are items.
//!
//! The final text of an item is authoritative, because Codex loses pieces on the way, above all the first
//! output of a command.
//!
//! A steering prompt cuts the agent's growing message short, and Codex never ends this message. So the driver
//! ends it.
//!
//! A thought has two texts: a summary for people, and the raw content. The driver emits one of them. While
//! the thought grows, this is the text that came first; at the end, it is the summary if there is one.

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, MessagePhase, NoticeLevel};
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::item::{FileDiff, ToolStatus};
use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::{CodexItem, CodexTurn, ItemKind, ThoughtText};
use super::tools::{call_of, outcome_of, status_of, title_of};
use super::{Codex, WireError, diffs};
use crate::codex::wire;
use crate::kit::Scribe;

/// The notice that Codex has compacted the conversation.
pub(crate) const COMPACTED: &str = "Codex compacted the conversation to make room.";

impl Codex {
    /// Handles a delta of an item. These lines are very frequent, so this copies only the text itself.
    pub(super) fn item_delta(
        &mut self,
        body: Body,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let delta: wire::Delta<'_> = serde_json::from_str(params.get())?;
        if !self.threads.contains_key(delta.thread_id.as_ref()) {
            self.adopt_stranger("item/delta", params, scribe);
        }
        let Some(thread) = self.threads.get_mut(delta.thread_id.as_ref()) else { return Ok(()) };
        let session = thread.session;
        let turn = match thread.turns.contains_key(delta.turn_id.as_ref()) {
            true => thread.turns.get_mut(delta.turn_id.as_ref()),
            false => Some(thread.turn(&delta.turn_id)),
        };
        let Some(turn) = turn else { return Ok(()) };
        turn.network_due = None;
        let turn_id = turn.id;
        let item = match turn.items.contains_key(delta.item_id.as_ref()) {
            true => turn.items.get_mut(delta.item_id.as_ref()),
            false => Some(turn.item(&delta.item_id, &mut scribe.cx).0),
        };
        // The driver has already emitted the item's end.
        let Some(item) = item.filter(|item| item.open) else { return Ok(()) };
        match (&body, &item.what) {
            (Body::MessageDelta, ItemKind::Plain) => item.what = ItemKind::Message,
            (Body::PlanDelta, ItemKind::Plain) => item.what = ItemKind::Plan,
            _ => {}
        }
        if matches!(item.what, ItemKind::Message | ItemKind::Plan) {
            item.hold(&delta.delta);
        }
        let (item, text) = (Some(item.id), Some(delta.delta.into_owned()));
        scribe.quote(session, Draft { turn: turn_id, item, text, body, raw: None });
        Ok(())
    }

    pub(super) fn thought_delta(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let delta: wire::Delta<'_> = serde_json::from_str(params.get())?;
        let heard =
            if method.ends_with("summaryTextDelta") { ThoughtText::Summary } else { ThoughtText::Content };
        if let Some((session, turn, item)) = self.thinks(
            &delta.thread_id,
            &delta.turn_id,
            &delta.item_id,
            (heard, &delta.delta),
            &mut scribe.cx,
        ) {
            let draft = Draft::new(Body::ReasoningDelta).turn(turn).item(item);
            scribe.quote(session, draft.text(delta.delta));
        }
        Ok(())
    }

    /// A new part of a summary. An empty line separates the parts.
    pub(super) fn thought_part(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let part: wire::SummaryPart = serde_json::from_str(params.get())?;
        if part.summary_index == 0 {
            return Ok(());
        }
        const GAP: &str = "\n\n";
        if let Some((session, turn, item)) = self.thinks(
            &part.thread_id,
            &part.turn_id,
            &part.item_id,
            (ThoughtText::Summary, GAP),
            &mut scribe.cx,
        ) {
            let draft = Draft::new(Body::ReasoningDelta).turn(turn).item(item);
            scribe.quote(session, draft.text(GAP));
        }
        Ok(())
    }

    /// Adds a piece to a thought, if the piece belongs to the text that the driver emits: the first text that
    /// arrives.
    fn thinks(
        &mut self,
        thread: &str,
        turn: &str,
        item: &str,
        (heard, words): (ThoughtText, &str),
        cx: &mut Context<'_>,
    ) -> Option<(SessionId, Option<TurnId>, ItemId)> {
        let thread = self.threads.get_mut(thread)?;
        let session = thread.session;
        let turn = thread.turn(turn);
        turn.network_due = None;
        let id = turn.id;
        let (item, _) = turn.item(item, cx);
        let voice = match &mut item.what {
            ItemKind::Thought(voice) => *voice.get_or_insert(heard),
            what @ ItemKind::Plain => {
                *what = ItemKind::Thought(Some(heard));
                heard
            }
            ItemKind::Message
            | ItemKind::Plan
            | ItemKind::Tool(_)
            | ItemKind::Mcp { .. }
            | ItemKind::Edit(_) => return None,
        };
        if voice != heard || !item.open {
            return None;
        }
        item.hold(words);
        Some((session, id, item.id))
    }

    /// Handles input that Codex typed into a running command.
    pub(super) fn typed(&mut self, params: &RawValue, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let typed: wire::Delta<'_> = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(typed.thread_id.as_ref()) else { return Ok(()) };
        // Empty input is only a look at the command's output.
        if !typed.delta.is_empty() {
            let session = thread.session;
            let turn = thread.turn(&typed.turn_id);
            let id = turn.id;
            let item = turn.item(&typed.item_id, &mut scribe.cx).0.id;
            let text = format!("Codex typed {:?} into the command.", typed.delta);
            let draft = Draft::new(Body::Notice { level: NoticeLevel::Info }).turn(id).item(item).text(text);
            scribe.quote(session, draft);
        }
        Ok(())
    }

    pub(super) fn item_started(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let wire::ItemMoved { thread_id, turn_id, item } = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&thread_id) else { return Ok(()) };
        let (session, cwd) = (thread.session, thread.cwd.clone());
        let turn = thread.turn(&turn_id);
        turn.network_due = None;
        let (turn_name, prompted) = (turn.id, turn.prompted);
        if item.kind == "userMessage" {
            for draft in turn.cut_short() {
                scribe.say(session, draft);
            }
        }
        let (known, fresh) = turn.item(&item.id, &mut scribe.cx);
        let id = known.id;
        let unknown = fresh || matches!(known.what, ItemKind::Plain);
        let draft = match item.kind.as_str() {
            // The session recorded its own prompts when it sent them.
            "userMessage" if fresh && !prompted => user_message(&item),
            "agentMessage" if fresh => {
                known.what = ItemKind::Message;
                Draft::new(Body::MessageStarted)
            }
            "plan" if fresh => {
                known.what = ItemKind::Plan;
                Draft::new(Body::PlanStarted)
            }
            "reasoning" if fresh => {
                known.what = ItemKind::Thought(None);
                Draft::new(Body::ReasoningStarted)
            }
            "fileChange" if unknown => {
                let changes = diffs::changes(&item.changes, &cwd);
                known.what = ItemKind::Edit(changes.clone());
                Draft::new(Body::FileDiff(FileDiff { status: status_of(&item, true), changes }))
            }
            "subAgentActivity" => {
                self.sub_agent_moved(&thread_id, turn_name, id, &item, scribe);
                return Ok(());
            }
            _ => match call_of(&item) {
                Some(call) if unknown => {
                    known.what = match item.kind.as_str() {
                        "mcpToolCall" => ItemKind::Mcp {
                            server: item.server.clone(),
                            tool: item.tool.clone(),
                            arguments: item.arguments.clone(),
                        },
                        _ => ItemKind::Tool(call.clone()),
                    };
                    let title = title_of(&item, &call);
                    Draft::new(Body::ToolStarted(call)).text(title)
                }
                Some(_) | None => return Ok(()),
            },
        };
        scribe.quote(session, draft.turn(turn_name).item(id));
        if item.kind == "collabAgentToolCall" {
            self.collaboration_moved(&thread_id, turn_name, id, &item, scribe);
        }
        Ok(())
    }

    pub(super) fn item_completed(
        &mut self,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let wire::ItemMoved { thread_id, turn_id, item } = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&thread_id) else { return Ok(()) };
        let (session, cwd) = (thread.session, thread.cwd.clone());
        let turn = thread.turn(&turn_id);
        turn.network_due = None;
        let (turn_name, prompted, stopped) = (turn.id, turn.prompted, turn.farewell.is_some());
        let (known, fresh) = turn.item(&item.id, &mut scribe.cx);
        if !known.open {
            return Ok(());
        }
        let id = known.id;
        known.open = false;
        known.text = String::new();
        let draft = match item.kind.as_str() {
            "userMessage" if fresh && !prompted => user_message(&item),
            "agentMessage" => {
                turn.last_message.clone_from(&item.text);
                let body = Body::MessageDone { phase: phase_of(item.phase.as_deref()), partial: false };
                Draft::new(body).text(item.text)
            }
            "exitedReviewMode" => review(item),
            "plan" => Draft::new(Body::PlanUpdated { steps: Vec::new() }).text(item.text),
            "reasoning" => thought(&item),
            "fileChange" => {
                let diff = FileDiff {
                    status: status_of(&item, false),
                    changes: diffs::changes(&item.changes, &cwd),
                };
                Draft::new(Body::FileDiff(diff))
            }
            "contextCompaction" => {
                scribe.notice(session, turn_name, NoticeLevel::Info, COMPACTED);
                return Ok(());
            }
            "subAgentActivity" => {
                self.sub_agent_moved(&thread_id, turn_name, id, &item, scribe);
                return Ok(());
            }
            _ => {
                let Some(call) = call_of(&item) else { return Ok(()) };
                // Some tools report their input only when they are done.
                let late = match &known.what {
                    ItemKind::Plain => Some(Body::ToolStarted(call.clone())),
                    ItemKind::Tool(told) if *told != call => Some(Body::ToolUpdated(call.clone())),
                    ItemKind::Tool(_)
                    | ItemKind::Mcp { .. }
                    | ItemKind::Message
                    | ItemKind::Plan
                    | ItemKind::Thought(_)
                    | ItemKind::Edit(_) => None,
                };
                if let Some(body) = late {
                    let title = title_of(&item, &call);
                    scribe.say(session, Draft::new(body).turn(turn_name).item(id).text(title));
                }
                if item.kind == "collabAgentToolCall" {
                    self.collaboration_moved(&thread_id, turn_name, id, &item, scribe);
                }
                let (mut outcome, text) = outcome_of(item);
                if stopped {
                    outcome.status = ToolStatus::Cancelled;
                }
                let mut draft = Draft::new(Body::ToolFinished(outcome));
                draft.text = text;
                draft
            }
        };
        scribe.quote(session, draft.turn(turn_name).item(id));
        if stopped {
            self.farewell_if_alone(&thread_id, &turn_id, false, scribe);
        }
        Ok(())
    }
}

impl CodexTurn {
    /// The ends of all growing messages, which Codex will not report.
    pub(super) fn cut_short(&mut self) -> Vec<Draft> {
        let mut open: Vec<&mut CodexItem> = self.items.values_mut().filter(|item| item.open).collect();
        open.sort_by_key(|item| item.id);
        let turn = self.id;
        let end = |item: &mut CodexItem| {
            let body = match item.what {
                ItemKind::Message => Body::MessageDone { phase: None, partial: true },
                ItemKind::Plan => Body::PlanUpdated { steps: Vec::new() },
                ItemKind::Thought(_) => Body::ReasoningDone { partial: true },
                ItemKind::Plain | ItemKind::Tool(_) | ItemKind::Mcp { .. } | ItemKind::Edit(_) => {
                    return None;
                }
            };
            item.open = false;
            Some(Draft::new(body).turn(turn).item(item.id).text(std::mem::take(&mut item.text)))
        };
        open.into_iter().filter_map(end).collect()
    }
}

pub(crate) fn phase_of(phase: Option<&str>) -> Option<MessagePhase> {
    match phase {
        Some("commentary") => Some(MessagePhase::Commentary),
        Some("final_answer") => Some(MessagePhase::FinalAnswer),
        Some(_) | None => None,
    }
}

/// The result of a review.
pub(crate) fn review(item: wire::Item) -> Draft {
    let body = Body::MessageDone { phase: Some(MessagePhase::FinalAnswer), partial: false };
    Draft::new(body).text(item.review.unwrap_or_default())
}

/// A complete thought.
pub(crate) fn thought(item: &wire::Item) -> Draft {
    let content = item.content.iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let text = if item.summary.is_empty() { content.join("\n\n") } else { item.summary.join("\n\n") };
    Draft::new(Body::ReasoningDone { partial: false }).text(text)
}

/// A message to the agent from another sender than our session.
pub(crate) fn user_message(item: &wire::Item) -> Draft {
    let mut words = Vec::new();
    let mut attachments = Vec::new();
    for input in &item.content {
        let field = |name: &str| input[name].as_str().map(str::to_owned);
        let image = |source| Attachment { name: None, media_type: "image/*".to_owned(), source };
        match input["type"].as_str() {
            Some("text") => words.extend(field("text")),
            Some("image") => attachments.extend(field("url").map(|url| image(AttachmentSource::Url(url)))),
            Some("localImage") => {
                attachments.extend(field("path").map(|path| image(AttachmentSource::Path(path))));
            }
            Some(_) | None => {}
        }
    }
    Draft::new(Body::UserMessage { prompt: None, attachments, by: None }).text(words.join("\n"))
}
