//! Messages while they grow.
//!
//! A broken stream leaves blocks that never become complete. Claude requests another answer from the model,
//! and that answer is another message. The driver then ends the incomplete blocks without a text, so that
//! nobody reads the same text twice.

use longshore_model::event::{Body, Draft};
use longshore_model::id::ItemId;

use super::conversation::{BlockKind, Growing};
use super::{Claude, WireError};
use crate::claude::wire::{Block, Event, Line, Message};
use crate::kit::Scribe;

impl Claude {
    /// Handles a delta of a message. These lines are very frequent, so this copies only the text itself.
    pub(super) fn streamed(&mut self, line: &Line<'_>, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let Some(event) = &line.event else { return Ok(()) };
        let at = self.conversation_of(line);
        match event.kind.as_ref() {
            "content_block_delta" => self.block_delta(at, event, scribe),
            "content_block_start" => return self.block_began(at, event, scribe),
            "message_start" => {
                let message = match event.message {
                    Some(message) => serde_json::from_str::<Message>(message.get())?,
                    None => Message::default(),
                };
                self.leave_behind(at, scribe);
                if let Some(conversation) = self.conversations.get_mut(at) {
                    conversation.stream.message = message.id;
                }
                self.ledger.message_began(at, message.usage);
            }
            "message_delta" => return self.message_counted(at, event, scribe),
            _ => {}
        }
        Ok(())
    }

    fn block_delta(&mut self, at: usize, event: &Event<'_>, scribe: &mut Scribe<'_>) {
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
        let text = Some(delta.text.clone().into_owned());
        let draft = Draft { turn: conversation.turn, item: Some(item), text, body, raw: None };
        scribe.quote(conversation.session, draft);
    }

    fn block_began(
        &mut self,
        at: usize,
        event: &Event<'_>,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let (Some(block), Some(index)) = (event.content_block, event.index) else { return Ok(()) };
        let block: Block = serde_json::from_str(block.get())?;
        let (kind, body) = match block.kind.as_str() {
            "text" => (BlockKind::Text, Body::MessageStarted),
            "thinking" => (BlockKind::Thought, Body::ReasoningStarted),
            // The driver emits a tool call when it is complete.
            _ => return Ok(()),
        };
        let Some(conversation) = self.conversations.get_mut(at) else { return Ok(()) };
        let item = ItemId::mint(&mut scribe.cx);
        conversation.stream.blocks.push(Growing { index, item, kind, whole: false });
        scribe.quote(conversation.session, Draft::new(body).turn(conversation.turn).item(item));
        Ok(())
    }

    /// Ends the growing message, because Claude will not complete it.
    pub(super) fn leave_behind(&mut self, at: usize, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(at) else { return };
        for block in std::mem::take(&mut conversation.stream.blocks) {
            let body = match block.kind {
                _ if block.whole => continue,
                BlockKind::Text => Body::MessageDone { phase: None, partial: true },
                BlockKind::Thought => Body::ReasoningDone { partial: true },
            };
            scribe.say(
                conversation.session,
                Draft::new(body).turn(conversation.turn).item(block.item).text(""),
            );
        }
        conversation.stream.message.clear();
    }
}
