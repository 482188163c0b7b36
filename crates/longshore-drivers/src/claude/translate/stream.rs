//! What is said as it is said.
//!
//! A stream that breaks leaves blocks behind that never become whole: the model is asked again, and its answer is another
//! message. What was left behind is then ended without a text, so that nothing is read twice.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, ItemId};

use super::conversation::{BlockKind, Growing};
use super::{Claude, WireError};
use crate::claude::wire::{Block, Event, Line, Message};

impl Claude {
    /// The line that comes by the thousand, so nothing here makes a copy but the text itself.
    pub(super) fn streamed(
        &mut self,
        line: &Line<'_>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let Some(event) = &line.event else { return Ok(()) };
        let at = self.conversation_of(line);
        match event.kind.as_ref() {
            "content_block_delta" => self.block_delta(at, event, raw, out),
            "content_block_start" => return self.block_began(at, event, raw, cx, out),
            "message_start" => {
                let message = match event.message {
                    Some(message) => serde_json::from_str::<Message>(message.get())?,
                    None => Message::default(),
                };
                self.leave_behind(at, out);
                if let Some(conversation) = self.conversations.get_mut(at) {
                    conversation.stream.message = message.id;
                }
                self.ledger.message_began(at, message.usage);
            }
            "message_delta" => return self.message_counted(at, event, raw, out),
            _ => {}
        }
        Ok(())
    }

    fn block_delta(&mut self, at: usize, event: &Event<'_>, raw: &Raw, out: &mut Output) {
        let (Some(conversation), Some(delta), Some(index)) =
            (self.conversations.get(at), &event.delta, event.index)
        else {
            return;
        };
        let (kind, body) = match delta.kind.as_ref() {
            "text_delta" => (BlockKind::Text, Body::MessageDelta),
            "thinking_delta" => (BlockKind::Thought, Body::ReasoningDelta),
            _ => return,
        };
        let Some(item) = conversation.stream.growing(index, kind) else { return };
        let (text, raw) = (Some(delta.text.clone().into_owned()), Some(raw.clone()));
        out.say(conversation.session, Draft { turn: conversation.turn, item: Some(item), text, body, raw });
    }

    fn block_began(
        &mut self,
        at: usize,
        event: &Event<'_>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let (Some(block), Some(index)) = (event.content_block, event.index) else { return Ok(()) };
        let block: Block = serde_json::from_str(block.get())?;
        let (kind, body) = match block.kind.as_str() {
            "text" => (BlockKind::Text, Body::MessageStarted),
            "thinking" => (BlockKind::Thought, Body::ReasoningStarted),
            // A call of a tool is told when all of it is known.
            _ => return Ok(()),
        };
        let Some(conversation) = self.conversations.get_mut(at) else { return Ok(()) };
        let item = ItemId::mint(cx);
        conversation.stream.blocks.push(Growing { index, item, kind, whole: false });
        out.say(conversation.session, Draft::new(body).turn(conversation.turn).item(item).raw(raw.clone()));
        Ok(())
    }

    /// Nothing more will come of the message that was being written.
    pub(super) fn leave_behind(&mut self, at: usize, out: &mut Output) {
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        for block in std::mem::take(&mut conversation.stream.blocks) {
            let body = match block.kind {
                _ if block.whole => continue,
                BlockKind::Text => Body::MessageDone { phase: None, partial: true },
                BlockKind::Thought => Body::ReasoningDone { partial: true },
            };
            out.say(conversation.session, Draft::new(body).turn(conversation.turn).item(block.item).text(""));
        }
        conversation.stream.message.clear();
    }
}
