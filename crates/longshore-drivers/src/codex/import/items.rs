//! Items of rollouts: the items of the app-server in another spelling (see [`crate::codex::wire::snake`]).

use std::collections::BTreeMap;

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::SessionId;
use longshore_model::item::FileDiff;
use longshore_model::lifecycle::{Delegation, DelegationEnd};
use serde_json::{Map, Value};

use super::reader::Rollout;
use crate::codex::translate::delegations::end_of;
use crate::codex::translate::diffs;
use crate::codex::translate::items::{COMPACTED, phase_of, review, thought, user_message};
use crate::codex::translate::tools::{call_of, outcome_of, status_of, title_of};
use crate::codex::wire::snake::item_of;
use crate::codex::wire::{Item, OldChange};
use crate::codex::{NAME, name};
use crate::import::Reading;
use crate::kit::WireError;

impl Rollout {
    /// Reads a complete item.
    pub(super) fn item(
        &mut self,
        turn: Option<String>,
        mut item: Map<String, Value>,
        line: &Raw,
        reading: &mut Reading,
    ) -> Result<(), WireError> {
        let changes = item.remove("changes");
        let item = item_of(item)?;
        let key = if item.id.is_empty() { self.line_name() } else { item.id.clone() };
        let (turn_id, id) = self.place(turn.as_deref(), &key);
        let known = self.calls.told(&item.id);
        let draft = match item.kind.as_str() {
            "userMessage" => user_message(&item),
            "agentMessage" => {
                let words = |part: &Value| part["text"].as_str().map(str::to_owned);
                let text: String = item.content.iter().filter_map(words).collect();
                let text = if text.is_empty() { item.text } else { text };
                let body = Body::MessageDone { phase: phase_of(item.phase.as_deref()), partial: false };
                Draft::new(body).text(text)
            }
            "exitedReviewMode" => review(item),
            "plan" => Draft::new(Body::PlanUpdated { steps: Vec::new() }).text(item.text),
            "reasoning" => thought(&item),
            "fileChange" => {
                let changes: BTreeMap<String, OldChange> =
                    serde_json::from_value(changes.unwrap_or_default())?;
                let changes = diffs::old_changes(&changes, &self.cwd);
                Draft::new(Body::FileDiff(FileDiff { status: status_of(&item, false), changes }))
            }
            "contextCompaction" => {
                self.notice(COMPACTED, turn_id, line, reading);
                return Ok(());
            }
            _ => {
                let Some(call) = call_of(&item) else { return Ok(()) };
                if !known {
                    let title = title_of(&item, &call);
                    reading.say(Draft::new(Body::ToolStarted(call)).turn(turn_id).item(id).text(title));
                }
                if item.kind == "collabAgentToolCall" {
                    self.collaborated(&item, |draft| reading.say(draft.turn(turn_id).item(id)));
                }
                let (outcome, text) = outcome_of(item);
                let mut draft = Draft::new(Body::ToolFinished(outcome));
                draft.text = text;
                draft
            }
        };
        let answers = matches!(draft.body, Body::MessageDone { .. });
        if let Some(turn) = &mut self.turn {
            turn.answered = answers;
        }
        reading.say(draft.turn(turn_id).item(id).raw(line.clone()));
        Ok(())
    }

    /// Reads a call that concerns other threads. Each of these threads has its own rollout.
    fn collaborated(&mut self, call: &Item, mut say: impl FnMut(Draft)) {
        let gives_work = matches!(
            call.tool.as_str(),
            "spawnAgent" | "sendInput" | "resumeAgent" | "followupTask" | "sendMessage"
        );
        let of = |child: &str| SessionId::of_past(NAME, child);
        for child in call.receiver_thread_ids.iter().filter(|_| gives_work) {
            if self.children.insert(child.clone()) {
                let delegation = Delegation { child: of(child), agent: name() };
                let task = call.prompt.clone().unwrap_or_default();
                say(Draft::new(Body::DelegationStarted(delegation)).text(task));
            }
        }
        for (child, state) in &call.agents_states {
            let Some(outcome) = end_of(&state.status) else { continue };
            if self.children.remove(child) {
                let end = DelegationEnd { child: of(child), outcome };
                let mut draft = Draft::new(Body::DelegationFinished(end));
                draft.text.clone_from(&state.message);
                say(draft);
            }
        }
    }
}

/// An image of a message.
pub(super) fn image(url: String) -> Attachment {
    Attachment { name: None, media_type: "image/*".to_owned(), source: AttachmentSource::Url(url) }
}
