//! Complete messages: one frame for each block of a message, and the results of tools.

use longshore_model::event::{Body, Draft};
use longshore_model::id::ItemId;
use longshore_model::item::{FileDiff, ToolKind, ToolStatus};
use serde_json::Value;

use super::conversation::{BlockKind, ClaudeToolCall, MAIN};
use super::tools::{self, call_of, title_of};
use super::{Claude, WireError, diffs};
use crate::claude::wire::{Block, Line, Message};
use crate::kit::Scribe;

/// Claude's text for a command without output.
const NOTHING: &str = "(no content)";
/// Claude's text for a turn that a person stopped, in the form of a person's message.
const INTERRUPTED: &str = "[Request interrupted by user";

impl Claude {
    pub(super) fn assistant(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let Some(message) = line.message else { return Ok(()) };
        let message: Message = serde_json::from_str(message.get())?;
        let at = self.conversation_of(line);
        let Some(conversation) = self.conversations.get(at) else { return Ok(()) };
        if conversation.stream.message != message.id {
            self.leave_behind(at, scribe);
        }
        if let Some(error) = line.error {
            // The model did not write this. The end of the turn reports the same error, with the reason.
            let word = serde_json::from_str::<Value>(error.get())?;
            if let Some(running) = self.running.as_mut().filter(|_| at == MAIN) {
                running.trouble = word.as_str().map(str::to_owned);
                return Ok(());
            }
        }
        for block in message.content.blocks() {
            match block.kind.as_str() {
                "text" if block.text == NOTHING => {}
                "text" => self.said(at, &message.id, BlockKind::Text, block.text, scribe),
                "thinking" => self.said(at, &message.id, BlockKind::Thought, block.thinking, scribe),
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    self.tool_announced(at, &block, scribe);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A complete block of text or reasoning.
    fn said(&mut self, at: usize, message: &str, kind: BlockKind, text: String, scribe: &mut Scribe<'_>) {
        let partial = at == MAIN && self.running.as_ref().is_some_and(|running| running.stopping);
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        let item = conversation.stream.settle(message, kind).unwrap_or_else(|| ItemId::mint(&mut scribe.cx));
        let body = match kind {
            BlockKind::Text => {
                conversation.last_message.clone_from(&text);
                Body::MessageDone { phase: None, partial }
            }
            BlockKind::Thought => Body::ReasoningDone { partial },
        };
        scribe
            .quote_once(conversation.session, Draft::new(body).turn(conversation.turn).item(item).text(text));
    }

    /// A tool call. The driver may know a sub-agent's call already from the request for permission.
    pub(super) fn tool_began(
        &mut self,
        at: usize,
        id: &str,
        name: &str,
        input: &Value,
        scribe: &mut Scribe<'_>,
    ) -> Option<ItemId> {
        let cwd = self.home.as_ref().map(|home| home.cwd.as_str());
        let call = call_of(name, input, cwd);
        let title = title_of(name, &call);
        let conversation = self.conversations.get(at)?;
        if let Some(known) = self.tools.get_mut(id) {
            if known.call != call {
                known.call = call.clone();
                let draft = Draft::new(Body::ToolUpdated(call)).turn(known.turn).item(known.item);
                scribe.quote_once(conversation.session, draft.text(title));
            }
            return Some(known.item);
        }
        let item = ItemId::mint(&mut scribe.cx);
        let (session, turn) = (conversation.session, conversation.turn);
        if call.kind == ToolKind::Edit {
            self.plan_written(input);
        }
        let tool = ClaudeToolCall {
            conversation: at,
            turn,
            item,
            name: name.to_owned(),
            call: call.clone(),
            denied: false,
        };
        self.tools.insert(id.to_owned(), tool);
        let draft = Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text(title);
        scribe.quote_once(session, draft);
        if let (tools::EXIT_PLAN, Some(plan)) = (name, input["plan"].as_str()) {
            let written = Body::PlanUpdated { steps: Vec::new() };
            let draft = Draft::new(written).turn(turn).item(ItemId::mint(&mut scribe.cx));
            scribe.say(session, draft.text(plan));
        }
        Some(item)
    }

    /// Messages of the role `user`: our own prompts, results of tools, and the task of a sub-agent.
    pub(super) fn user(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        if line.is_replay {
            self.taken(&line.uuid);
            return Ok(());
        }
        let Some(message) = line.message else { return Ok(()) };
        let message: Message = serde_json::from_str(message.get())?;
        let at = self.conversation_of(line);
        let data = match line.tool_use_result {
            Some(data) => serde_json::from_str::<Value>(data.get())?,
            None => Value::Null,
        };
        for block in message.content.blocks() {
            match block.kind.as_str() {
                "tool_result" => self.tool_ended(block, &data, scribe),
                "text" if at != MAIN && !block.text.starts_with(INTERRUPTED) => {
                    self.child_was_told(at, &block.text, scribe);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tool_ended(&mut self, block: Block, data: &Value, scribe: &mut Scribe<'_>) {
        // A call whose beginning Claude never reported may still end: with other calls, or with the turn.
        self.begin_lined(&block.tool_use_id, scribe);
        let Some(tool) = self.tools.remove(&block.tool_use_id) else { return };
        let stopping =
            tool.conversation == MAIN && self.running.as_ref().is_some_and(|running| running.stopping);
        let Some(conversation) = self.conversations.get(tool.conversation) else { return };
        let session = conversation.session;
        let (outcome, text) = tools::outcome_of(&tool, &block, data, stopping);
        if tool.call.kind == ToolKind::Edit && outcome.status == ToolStatus::Completed {
            let cwd = self.home.as_ref().map_or("", |home| home.cwd.as_str());
            let changes = diffs::made(&tool.call.input, data, cwd);
            if !changes.is_empty() {
                let diff = FileDiff { status: ToolStatus::Completed, changes };
                scribe.say(session, Draft::new(Body::FileDiff(diff)).turn(tool.turn).item(tool.item));
            }
        }
        let status = outcome.status;
        if matches!(tool.call.kind, ToolKind::Read | ToolKind::Edit) && status == ToolStatus::Completed {
            self.file_known(&tool.call.input);
        }
        let mut draft = Draft::new(Body::ToolFinished(outcome)).turn(tool.turn).item(tool.item);
        draft.text = Some(text);
        scribe.quote_once(session, draft);
        if status == ToolStatus::Completed {
            self.plan_moved(&tool, data, scribe);
        }
        if tool.call.kind == ToolKind::Delegate {
            self.delegating_call_ended(&block.tool_use_id, status, data, scribe);
        }
        if !stopping {
            self.begin_next(tool.conversation, scribe);
        }
    }
}
