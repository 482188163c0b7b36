//! `session/update`: the agent's messages, thoughts and plans, and its reports about itself.

use longshore_model::capability::SlashCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::ItemId;
use longshore_model::item::{PlanStatus, PlanStep};
use serde_json::value::RawValue;

use super::conversation::AcpConversation;
use super::tools::Source;
use super::{Acp, WireError};
use crate::acp::wire::{Chunk, Commands, Facts, Plan, PlanEntry, Tag, ToolPart, Updated};
use crate::kit::Scribe;

impl Acp {
    pub(super) fn updated(&mut self, params: &RawValue, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let updated: Updated<'_> = serde_json::from_str(params.get())?;
        let Some(conversation) = self.conversations.get_mut(updated.session_id.as_ref()) else {
            return Ok(());
        };
        let update = updated.update.get();
        let tag: Tag<'_> = serde_json::from_str(update)?;
        if conversation.replaying {
            self.calls.still_loading(&updated.session_id, scribe.cx.now);
        }
        match tag.kind.as_ref() {
            // Our log has the prompts, also the prompts of a loaded session's past.
            "user_message_chunk" => Ok(()),
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan"
                if conversation.replaying =>
            {
                Ok(())
            }
            "agent_message_chunk" => {
                let chunk: Chunk<'_> = serde_json::from_str(update)?;
                // There is no prompt yet that the agent could answer, or the driver is changing settings.
                let speaks = conversation.settling == 0
                    && conversation.turn.as_ref().is_some_and(|turn| turn.call.is_some());
                let echo = self.row.quirks.echo.filter(|_| !speaks);
                if let Some(usage) = chunk.usage() {
                    conversation.answer_used(usage, scribe);
                }
                if echo.is_none_or(|echo| !chunk.content.text.starts_with(echo)) {
                    conversation.heard(false, &chunk, scribe);
                }
                Ok(())
            }
            "agent_thought_chunk" => {
                conversation.heard(true, &serde_json::from_str(update)?, scribe);
                Ok(())
            }
            "tool_call" => {
                let part: ToolPart = serde_json::from_str(update)?;
                conversation.tool_told(part, Source::Call, self.row.quirks.names, scribe);
                Ok(())
            }
            "tool_call_update" => {
                let part: ToolPart = serde_json::from_str(update)?;
                conversation.tool_told(part, Source::Update, self.row.quirks.names, scribe);
                // A request to a person may wait for this call.
                self.ask_held(scribe);
                Ok(())
            }
            "plan" => {
                let plan: Plan = serde_json::from_str(update)?;
                // The call that wrote the plan is not reported otherwise. It ends the message, as any call does.
                conversation.fall_silent(scribe);
                conversation.planned(plan.entries, scribe);
                Ok(())
            }
            "available_commands_update" => {
                let commands: Commands = serde_json::from_str(update)?;
                conversation.listed(commands, scribe);
                self.past_told(&updated.session_id, scribe);
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
                Self::settings_changed(&self.row, conversation, scribe);
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
                    scribe.say(conversation.session, Draft::new(Body::TitleChanged).turn(turn).text(title));
                }
                Ok(())
            }
            "usage_update" => {
                let facts: Facts = serde_json::from_str(update)?;
                conversation.tokens_used(&facts, scribe);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl AcpConversation {
    fn heard(&mut self, thought: bool, chunk: &Chunk<'_>, scribe: &mut Scribe<'_>) {
        let text = chunk.content.words();
        // Some agents begin every message with an empty chunk.
        if !text.is_empty() {
            self.speak(thought, chunk.message_id.map(RawValue::get), text, scribe);
        }
    }

    /// Emits the present plan.
    pub(super) fn planned(&mut self, entries: Vec<PlanEntry>, scribe: &mut Scribe<'_>) {
        let item = *self.plan.get_or_insert_with(|| ItemId::mint(&mut scribe.cx));
        let steps = entries.into_iter().map(|entry| PlanStep {
            status: match entry.status.as_str() {
                "completed" => PlanStatus::Completed,
                "in_progress" => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            },
            text: entry.content,
        });
        let body = Body::PlanUpdated { steps: steps.collect() };
        scribe.say(self.session, Draft::new(body).turn(self.turn_id()).item(item));
    }

    fn listed(&mut self, told: Commands, scribe: &mut Scribe<'_>) {
        let commands: Vec<SlashCommand> = told
            .available_commands
            .into_iter()
            .map(|command| SlashCommand { name: command.name, description: command.description })
            .collect();
        if self.commands.as_ref() != Some(&commands) {
            self.commands = Some(commands.clone());
            scribe.say(self.session, Draft::new(Body::CommandsListed { commands }));
        }
    }
}
