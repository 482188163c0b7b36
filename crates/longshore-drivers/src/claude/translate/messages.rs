//! What is said when it is whole: one frame for each block of a message, and the results of tools.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, ItemId};
use longshore_model::item::{FileDiff, ToolKind, ToolStatus};
use serde_json::Value;

use super::conversation::{BlockKind, ClaudeToolCall, MAIN};
use super::tools::{self, call_of, title_of};
use super::{Claude, WireError, diffs};
use crate::claude::wire::{Block, Line, Message};

/// What it says when a command has nothing to say.
const NOTHING: &str = "(no content)";
/// What it says in the name of the person who stopped it.
const INTERRUPTED: &str = "[Request interrupted by user";

impl Claude {
    pub(super) fn assistant(
        &mut self,
        line: &Line<'_>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let Some(message) = line.message else { return Ok(()) };
        let message: Message = serde_json::from_str(message.get())?;
        let at = self.conversation_of(line);
        let Some(conversation) = self.conversations.get(at) else { return Ok(()) };
        if conversation.stream.message != message.id {
            self.leave_behind(at, out);
        }
        if let Some(error) = line.error {
            // Nothing that a model said: the end of the turn says the same, and why.
            let word = serde_json::from_str::<Value>(error.get())?;
            if let Some(running) = self.running.as_mut().filter(|_| at == MAIN) {
                running.trouble = word.as_str().map(str::to_owned);
                return Ok(());
            }
        }
        let mut raw = Some(raw.clone());
        for block in message.content.blocks() {
            match block.kind.as_str() {
                "text" if block.text == NOTHING => {}
                "text" => self.said(at, &message.id, BlockKind::Text, block.text, &mut raw, cx, out),
                "thinking" => {
                    self.said(at, &message.id, BlockKind::Thought, block.thinking, &mut raw, cx, out)
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                    self.tool_announced(at, &block, &mut raw, cx, out);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A block that was said or thought, whole.
    #[allow(clippy::too_many_arguments)]
    fn said(
        &mut self,
        at: usize,
        message: &str,
        kind: BlockKind,
        text: String,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let partial = at == MAIN && self.running.as_ref().is_some_and(|running| running.stopping);
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        let item = conversation.stream.settle(message, kind).unwrap_or_else(|| ItemId::mint(cx));
        let body = match kind {
            BlockKind::Text => {
                conversation.last_message.clone_from(&text);
                Body::MessageDone { phase: None, partial }
            }
            BlockKind::Thought => Body::ReasoningDone { partial },
        };
        out.say(
            conversation.session,
            Draft::new(body).turn(conversation.turn).item(item).text(text).raw(raw.take()),
        );
    }

    /// A tool is called. A sub-agent's call may be known already from the question whether it may.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn tool_began(
        &mut self,
        at: usize,
        id: &str,
        name: &str,
        input: &Value,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Option<ItemId> {
        let cwd = self.home.as_ref().map(|home| home.cwd.as_str());
        let call = call_of(name, input, cwd);
        let title = title_of(name, &call);
        let conversation = self.conversations.get(at)?;
        if let Some(known) = self.tools.get_mut(id) {
            if known.call != call {
                known.call = call.clone();
                let draft = Draft::new(Body::ToolUpdated(call)).turn(known.turn).item(known.item);
                out.say(conversation.session, draft.text(title).raw(raw.take()));
            }
            return Some(known.item);
        }
        let item = ItemId::mint(cx);
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
        out.say(session, draft.raw(raw.take()));
        if let (tools::EXIT_PLAN, Some(plan)) = (name, input["plan"].as_str()) {
            let written = Body::PlanUpdated { steps: Vec::new() };
            out.say(session, Draft::new(written).turn(turn).item(ItemId::mint(cx)).text(plan));
        }
        Some(item)
    }

    /// What is told in the name of the user: our prompts come back, results of tools, the task of a sub-agent.
    pub(super) fn user(
        &mut self,
        line: &Line<'_>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
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
        let mut raw = Some(raw.clone());
        for block in message.content.blocks() {
            match block.kind.as_str() {
                "tool_result" => self.tool_ended(block, &data, &mut raw, cx, out),
                "text" if at != MAIN && !block.text.starts_with(INTERRUPTED) => {
                    self.child_was_told(at, &block.text, &mut raw, cx, out);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn tool_ended(
        &mut self,
        block: Block,
        data: &Value,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        // One that was never told to begin may end all the same: with others, or with the turn.
        self.begin_lined(&block.tool_use_id, cx, out);
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
                out.say(session, Draft::new(Body::FileDiff(diff)).turn(tool.turn).item(tool.item));
            }
        }
        let status = outcome.status;
        if matches!(tool.call.kind, ToolKind::Read | ToolKind::Edit) && status == ToolStatus::Completed {
            self.file_known(&tool.call.input);
        }
        let mut draft = Draft::new(Body::ToolFinished(outcome)).turn(tool.turn).item(tool.item);
        draft.text = Some(text);
        out.say(session, draft.raw(raw.take()));
        if status == ToolStatus::Completed {
            self.plan_moved(&tool, data, cx, out);
        }
        if tool.call.kind == ToolKind::Delegate {
            self.delegating_call_ended(&block.tool_use_id, status, data, out);
        }
        if !stopping {
            self.begin_next(tool.conversation, cx, out);
        }
    }
}
