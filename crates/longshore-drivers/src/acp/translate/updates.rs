//! `session/update`: what the agent says, thinks and plans, and what it tells of itself.

use longshore_model::capability::SlashCommand;
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, ItemId};
use longshore_model::item::{PlanStatus, PlanStep};
use serde_json::value::RawValue;

use super::conversation::AcpConversation;
use super::tools::Source;
use super::{Acp, WireError};
use crate::acp::wire::{Chunk, Commands, Facts, Plan, PlanEntry, Tag, ToolPart, Updated};

impl Acp {
    pub(super) fn updated(
        &mut self,
        params: &RawValue,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let updated: Updated<'_> = serde_json::from_str(params.get())?;
        let Some(conversation) = self.conversations.get_mut(updated.session_id.as_ref()) else {
            return Ok(());
        };
        let update = updated.update.get();
        let tag: Tag<'_> = serde_json::from_str(update)?;
        if conversation.replaying {
            self.calls.still_loading(&updated.session_id, cx.now);
        }
        match tag.kind.as_ref() {
            // Our log holds what a loaded session tells of its past, and what we said ourselves.
            "user_message_chunk" => Ok(()),
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan"
                if conversation.replaying =>
            {
                Ok(())
            }
            "agent_message_chunk" => {
                let chunk: Chunk<'_> = serde_json::from_str(update)?;
                // Nothing was said to it yet that it could answer, or it is being told how to work.
                let speaks = conversation.settling == 0
                    && conversation.turn.as_ref().is_some_and(|turn| turn.call.is_some());
                let echo = self.row.quirks.echo.filter(|_| !speaks);
                if let Some(usage) = chunk.usage() {
                    conversation.answer_used(usage, out);
                }
                if echo.is_none_or(|echo| !chunk.content.text.starts_with(echo)) {
                    conversation.heard(false, &chunk, cx, out);
                }
                Ok(())
            }
            "agent_thought_chunk" => {
                conversation.heard(true, &serde_json::from_str(update)?, cx, out);
                Ok(())
            }
            "tool_call" => {
                let part: ToolPart = serde_json::from_str(update)?;
                conversation.tool_told(part, Source::Call, self.row.quirks.names, cx, out);
                Ok(())
            }
            "tool_call_update" => {
                let part: ToolPart = serde_json::from_str(update)?;
                conversation.tool_told(part, Source::Update, self.row.quirks.names, cx, out);
                // Somebody may wait for what it told.
                self.ask_held(out);
                Ok(())
            }
            "plan" => {
                let plan: Plan = serde_json::from_str(update)?;
                // It was written down by a call that is not told otherwise.
                conversation.fall_silent(out);
                conversation.planned(plan.entries, cx, out);
                Ok(())
            }
            "available_commands_update" => {
                let commands: Commands = serde_json::from_str(update)?;
                conversation.listed(commands, out);
                self.past_told(&updated.session_id, cx, out);
                Ok(())
            }
            "current_mode_update" | "config_option_update" => {
                let facts: Facts = serde_json::from_str(update)?;
                if let Some(mode) = facts.current_mode_id {
                    conversation.settings.set_mode(mode);
                }
                if let Some(options) = facts.config_options {
                    conversation.settings.set_options(options);
                }
                Self::settings_changed(&self.row, conversation, out);
                Ok(())
            }
            "session_info_update" => {
                let facts: Facts = serde_json::from_str(update)?;
                let title = facts.title.map(|title| title.lines().next().unwrap_or_default().to_owned());
                if let Some(title) = title.filter(|title| !title.is_empty())
                    && !conversation.renamed
                    && conversation.title.as_ref() != Some(&title)
                {
                    conversation.title = Some(title.clone());
                    let turn = conversation.turn_id();
                    out.say(conversation.session, Draft::new(Body::TitleChanged).turn(turn).text(title));
                }
                Ok(())
            }
            "usage_update" => {
                let facts: Facts = serde_json::from_str(update)?;
                conversation.tokens_used(&facts, out);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl AcpConversation {
    fn heard(&mut self, thought: bool, chunk: &Chunk<'_>, cx: &mut Context<'_>, out: &mut Output) {
        let text = chunk.content.words();
        // Some begin every message with nothing.
        if !text.is_empty() {
            self.speak(thought, chunk.message_id.map(RawValue::get), text, cx, out);
        }
    }

    /// The plan as it now stands.
    pub(super) fn planned(&mut self, entries: Vec<PlanEntry>, cx: &mut Context<'_>, out: &mut Output) {
        let item = *self.plan.get_or_insert_with(|| ItemId::mint(cx));
        let steps = entries.into_iter().map(|entry| PlanStep {
            status: match entry.status.as_str() {
                "completed" => PlanStatus::Completed,
                "in_progress" => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            },
            text: entry.content,
        });
        let body = Body::PlanUpdated { steps: steps.collect() };
        out.say(self.session, Draft::new(body).turn(self.turn_id()).item(item));
    }

    fn listed(&mut self, told: Commands, out: &mut Output) {
        let commands: Vec<SlashCommand> = told
            .available_commands
            .into_iter()
            .map(|command| SlashCommand { name: command.name, description: command.description })
            .collect();
        if self.commands.as_ref() != Some(&commands) {
            self.commands = Some(commands.clone());
            out.say(self.session, Draft::new(Body::CommandsListed { commands }));
        }
    }
}
