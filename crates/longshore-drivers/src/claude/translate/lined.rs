//! Calls that are announced and have not begun.
//!
//! Claude announces the calls of one message together, and makes those that may change something one after another. Its
//! wire says that a call begins with the question whether it may, and nothing else; where nothing is asked, one begins
//! when those before it have ended. Until then it is not shown: it would seem to run, and to have run for longer.

use longshore_model::driver::Output;
use longshore_model::event::Raw;
use longshore_model::id::Context;
use longshore_model::item::ToolKind;
use serde_json::Value;

use super::Claude;
use super::tools::kind_of;
use crate::claude::wire::Block;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) struct Lined {
    /// The conversation that it is of.
    pub conversation: usize,
    id: String,
    name: String,
    input: Value,
}

/// Whether nothing else runs beside such a call.
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
    /// A call is announced: it begins now, or when its turn comes.
    pub(super) fn tool_announced(
        &mut self,
        at: usize,
        block: &Block,
        raw: &mut Option<Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let known = self.tools.contains_key(&block.id);
        let behind = self.lined.iter().any(|lined| lined.conversation == at);
        if known || !(behind || self.must_wait(at, kind_of(&block.name))) {
            self.tool_began(at, &block.id, &block.name, &block.input, raw, cx, out);
        } else if !self.lined.iter().any(|lined| lined.id == block.id) {
            let (id, name, input) = (block.id.clone(), block.name.clone(), block.input.clone());
            self.lined.push_back(Lined { conversation: at, id, name, input });
        }
    }

    /// Something tells that a call begins, or has begun.
    pub(super) fn begin_lined(&mut self, id: &str, cx: &mut Context<'_>, out: &mut Output) {
        let place = self.lined.iter().position(|lined| lined.id == id);
        if let Some(Lined { conversation, id, name, input }) =
            place.and_then(|place| self.lined.remove(place))
        {
            self.tool_began(conversation, &id, &name, &input, &mut None, cx, out);
        }
    }

    /// A call has ended: those begin whose turn it is now.
    pub(super) fn begin_next(&mut self, at: usize, cx: &mut Context<'_>, out: &mut Output) {
        while let Some(next) = self.lined.iter().find(|lined| lined.conversation == at) {
            if self.must_wait(at, kind_of(&next.name)) {
                return;
            }
            let id = next.id.clone();
            self.begin_lined(&id, cx, out);
        }
    }

    fn must_wait(&self, at: usize, kind: ToolKind) -> bool {
        let turn = self.conversations.get(at).and_then(|conversation| conversation.turn);
        let mut open = self.tools.values().filter(|tool| tool.conversation == at && tool.turn == turn);
        open.any(|tool| runs_alone(kind) || runs_alone(tool.call.kind))
    }
}
