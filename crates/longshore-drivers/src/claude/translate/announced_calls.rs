//! Announced calls that have not begun.
//!
//! Claude announces all calls of a message together, and makes the calls that may change something one after
//! another. Its wire reports the beginning of a call only by a request for permission. A call without a
//! request begins when the earlier calls have ended. Until then the driver does not emit the call. Otherwise
//! the call would seem to run, and to have run for longer.

use longshore_model::item::ToolKind;
use serde_json::Value;

use super::Claude;
use super::tools::kind_of;
use crate::claude::wire::Block;
use crate::kit::Scribe;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct AnnouncedCall {
    /// The conversation of the call.
    pub conversation: usize,
    id: String,
    name: String,
    input: Value,
}

/// Whether a call of this kind never runs beside other calls.
fn runs_alone(kind: ToolKind) -> bool {
    match kind {
        ToolKind::Execute | ToolKind::Edit | ToolKind::Delete | ToolKind::Move => true,
        ToolKind::Read
        | ToolKind::Search
        | ToolKind::Fetch
        | ToolKind::Think
        | ToolKind::Delegate
        | ToolKind::Other => false,
    }
}

impl Claude {
    /// Handles an announced call: it begins now, or when its turn comes.
    pub(super) fn tool_announced(&mut self, at: usize, block: &Block, scribe: &mut Scribe<'_>) {
        let known = self.tools.contains_key(&block.id);
        let behind = self.lined.iter().any(|lined| lined.conversation == at);
        if known || !(behind || self.must_wait(at, kind_of(&block.name))) {
            self.tool_began(at, &block.id, &block.name, &block.input, scribe);
        } else if !self.lined.iter().any(|lined| lined.id == block.id) {
            let (id, name, input) = (block.id.clone(), block.name.clone(), block.input.clone());
            self.lined.push_back(AnnouncedCall { conversation: at, id, name, input });
        }
    }

    /// Begins an announced call, because a line shows that it has begun.
    pub(super) fn begin_lined(&mut self, id: &str, scribe: &mut Scribe<'_>) {
        let place = self.lined.iter().position(|lined| lined.id == id);
        if let Some(AnnouncedCall { conversation, id, name, input }) =
            place.and_then(|place| self.lined.remove(place))
        {
            self.tool_began(conversation, &id, &name, &input, &mut scribe.bare());
        }
    }

    /// A call has ended. Begins the calls whose turn it is now.
    pub(super) fn begin_next(&mut self, at: usize, scribe: &mut Scribe<'_>) {
        while let Some(next) = self.lined.iter().find(|lined| lined.conversation == at) {
            if self.must_wait(at, kind_of(&next.name)) {
                return;
            }
            let id = next.id.clone();
            self.begin_lined(&id, scribe);
        }
    }

    fn must_wait(&self, at: usize, kind: ToolKind) -> bool {
        let turn = self.conversations.get(at).and_then(|conversation| conversation.turn);
        let mut open = self.tools.values().filter(|tool| tool.conversation == at && tool.turn == turn);
        open.any(|tool| runs_alone(kind) || runs_alone(tool.call.kind))
    }
}
