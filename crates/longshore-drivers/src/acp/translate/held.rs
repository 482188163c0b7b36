//! Wishes for permission that wait for what they are about: whoever is to allow a change must see it where it stands in
//! its file, and whoever is to allow a plan must read it. One agent asks before it has told the plan.

use longshore_model::approval::Decision;
use longshore_model::driver::Output;
use longshore_model::id::ApprovalId;
use longshore_model::time::Timestamp;
use longshore_model::work::{Done, WorkFault, WorkId};

use super::Acp;

/// A wish of which not all is known.
#[derive(Debug)]
pub(super) struct DeferredApproval {
    pub approval: ApprovalId,
    pub native: String,
    /// Their name of the call.
    pub tool: String,
    pub decisions: Vec<Decision>,
    /// Why it asks.
    pub reason: Option<String>,
    /// The files that are not looked at yet.
    pub looks: Vec<(WorkId, String)>,
    /// It is about a plan.
    pub plans: bool,
    pub due: Timestamp,
}

impl Acp {
    /// Asks a person whatever waits for nothing any more.
    pub(super) fn ask_held(&mut self, out: &mut Output) {
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
            self.ask_person(held, out);
        }
    }

    /// A file was looked at, or cannot be. False when that was no look.
    pub(super) fn looked_at(
        &mut self,
        work: WorkId,
        result: &Result<Done, WorkFault>,
        out: &mut Output,
    ) -> bool {
        let Some(held) = self.held.iter_mut().find(|held| held.looks.iter().any(|(id, _)| *id == work))
        else {
            return false;
        };
        let file = match result {
            Ok(Done::Read(text)) => Some(Some(text.as_str())),
            Err(WorkFault::Missing(_)) => Some(None),
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
        self.ask_held(out);
        true
    }

    /// When it should be known what a wish waits for.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held.iter().map(|held| held.due).min()
    }

    /// Asks without what takes too long.
    pub(super) fn hold_no_longer(&mut self, now: Timestamp, out: &mut Output) {
        for held in self.held.iter_mut().filter(|held| held.due <= now) {
            held.looks.clear();
            held.plans = false;
        }
        self.ask_held(out);
    }
}
