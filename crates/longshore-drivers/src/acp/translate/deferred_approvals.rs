//! Requests for permission that wait for more facts. To allow a change, a person must see its place in the
//! file. To allow a plan, a person must read it. One agent requests permission before it sends the plan.

use longshore_model::approval::Decision;
use longshore_model::host_io::{HostFault, HostReply, HostRequestId};
use longshore_model::id::ApprovalId;
use longshore_model::time::Timestamp;

use super::Acp;
use crate::kit::Scribe;

/// A request for permission that is not complete yet.
#[derive(Debug)]
pub(super) struct DeferredApproval {
    pub approval: ApprovalId,
    pub native: String,
    /// The agent's id of the call.
    pub tool: String,
    pub decisions: Vec<Decision>,
    /// The agent's reason.
    pub reason: Option<String>,
    /// The files that the anchor has not read yet.
    pub looks: Vec<(HostRequestId, String)>,
    /// Whether the request is about a plan.
    pub plans: bool,
    pub due: Timestamp,
}

impl Acp {
    /// Asks a person about every request that is complete.
    pub(super) fn ask_held(&mut self, scribe: &mut Scribe<'_>) {
        let untold = |held: &DeferredApproval| {
            let tool = self
                .conversations
                .get(&held.native)
                .and_then(|conversation| conversation.tools.get(&held.tool));
            held.plans && tool.is_some_and(|tool| !tool.asks_for_its_plan())
        };
        let ready: Vec<DeferredApproval> =
            self.held.extract_if(.., |held| held.looks.is_empty() && !untold(held)).collect();
        for held in ready {
            self.ask_person(held, scribe);
        }
    }

    /// The anchor has read a file, or cannot read it. Returns false if this was not such a file.
    pub(super) fn looked_at(
        &mut self,
        work: HostRequestId,
        result: &Result<HostReply, HostFault>,
        scribe: &mut Scribe<'_>,
    ) -> bool {
        let Some(held) = self.held.iter_mut().find(|held| held.looks.iter().any(|(id, _)| *id == work))
        else {
            return false;
        };
        let file = match result {
            Ok(HostReply::Read(text)) => Some(Some(text.as_str())),
            Err(HostFault::Missing(_)) => Some(None),
            Ok(_) | Err(_) => None,
        };
        let conversation = self.conversations.get_mut(&held.native);
        let edits = conversation
            .and_then(|conversation| conversation.tools.get_mut(&held.tool))
            .map(|tool| &mut tool.edits);
        let looked: Vec<String> =
            held.looks.extract_if(.., |(id, _)| *id == work).map(|(_, path)| path).collect();
        if let (Some(edits), Some(file)) = (edits, file) {
            for edit in edits.iter_mut().filter(|edit| looked.iter().any(|path| path == edit.path())) {
                edit.place(file);
            }
        }
        self.ask_held(scribe);
        true
    }

    /// The deadline of the requests that wait.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held.iter().map(|held| held.due).min()
    }

    /// Asks a person without the facts that take too long.
    pub(super) fn hold_no_longer(&mut self, scribe: &mut Scribe<'_>) {
        for held in self.held.iter_mut().filter(|held| held.due <= scribe.cx.now) {
            held.looks.clear();
            held.plans = false;
        }
        self.ask_held(scribe);
    }
}
