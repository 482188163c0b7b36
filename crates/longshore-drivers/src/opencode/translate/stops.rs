//! How a client stops a turn.
//!
//! OpenCode takes a prompt at once, and begins to work on it a moment later. A request to stop that comes in
//! between is answered like every other one, and stops nothing. So if OpenCode has not reported a message of
//! the model yet, the driver sends the request again when OpenCode reports that it works, until OpenCode
//! reports that the turn was stopped. A request too many does no harm: it is answered before the next prompt
//! is sent.

use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::{FaultCode, SessionFault, TurnEnd, TurnOutcome};
use serde_json::json;

use super::OpenCode;
use super::calls::{OpenCodeCall, OutgoingRequest};
use super::conversation::OpenCodeTurn;
use crate::kit::Scribe;

/// How often the driver sends a request to stop a turn. After that, only the anchor ends the turn.
const REQUESTS: u8 = 5;

/// A request to stop a turn of which OpenCode had reported no message of the model.
#[derive(Debug, Default)]
pub(super) struct EarlyStop {
    /// How often it was sent.
    sent: u8,
    /// Whether the last one has no answer yet.
    is_open: bool,
    /// Whether OpenCode has reported since then that it works.
    works: bool,
}

impl OpenCode {
    pub(super) fn interrupt(&mut self, native: &str, turn: TurnId, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(running) = conversation.turn.as_mut().filter(|running| running.id == turn) else {
            // The turn is over, or never was. Without an event, a client would wait for its end for ever.
            let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
            return scribe.say(conversation.session, Draft::new(end).turn(turn));
        };
        running.stopping = true;
        if running.steps.is_empty() {
            running.early_stop.get_or_insert_default();
        }
        self.abort(native, scribe);
    }

    fn abort(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(running) = &mut conversation.turn else { return };
        if let Some(early) = &mut running.early_stop {
            *early = EarlyStop { sent: early.sent.saturating_add(1), is_open: true, works: false };
        }
        let call = OpenCodeCall::Abort { native: native.to_owned(), turn: running.id };
        let path = format!("/session/{native}/abort");
        let ask = OutgoingRequest::post(path, &conversation.directory, json!({})).of(conversation.session);
        self.calls.send(ask, call, scribe);
    }

    /// OpenCode reports that it works, so that a request to stop reaches something now.
    pub(super) fn works(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let running = self.conversations.get_mut(native).and_then(|conversation| conversation.turn.as_mut());
        if let Some(early) = running.and_then(unheeded) {
            early.works = true;
            if !early.is_open {
                self.abort(native, scribe);
            }
        }
    }

    pub(super) fn abort_answered(
        &mut self,
        native: &str,
        turn: TurnId,
        answer: Result<Raw, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if let Err(why) = answer {
            let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
            let text = format!("OpenCode did not stop the turn: {why}");
            scribe.quote(conversation.session, Draft::new(fault).text(text));
        }
        let running = conversation.turn.as_mut().filter(|running| running.id == turn);
        if let Some(early) = running.and_then(unheeded) {
            early.is_open = false;
            if early.works {
                self.abort(native, scribe);
            }
        }
    }
}

/// The early request to stop a turn, if OpenCode may not have heeded it and it may be sent again.
fn unheeded(running: &mut OpenCodeTurn) -> Option<&mut EarlyStop> {
    let is_heeded = running.aborted;
    running.early_stop.as_mut().filter(|early| !is_heeded && early.sent < REQUESTS)
}
