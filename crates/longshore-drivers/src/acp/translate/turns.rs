//! How turns begin, stop and end. The answer to `session/prompt` is the end of a turn.

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use super::Acp;
use super::calls::{AcpCall, CANCEL_WITHIN_MS};
use super::conversation::{AcpPrompt, AcpTurn};
use super::errors::{AcpError, code_of};
use crate::acp::wire::{PromptCapabilities, Prompted};
use crate::kit::Scribe;

impl Acp {
    /// Handles a prompt of the session. The prompt waits while the driver changes settings.
    pub(super) fn prompt(&mut self, native: &str, turn: TurnId, said: AcpPrompt, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        conversation.fall_silent(scribe);
        conversation.begin(turn);
        conversation.held = Some(said);
        self.say_held(native, scribe);
    }

    /// Sends the waiting prompt, once no change of a setting is under way.
    pub(super) fn say_held(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) =
            self.conversations.get_mut(native).filter(|conversation| conversation.settling == 0)
        else {
            return;
        };
        let Some(said) = conversation.held.take() else { return };
        conversation.replaying = false;
        let mut prompt = Vec::new();
        if let Some(story) = conversation.story.take() {
            prompt.push(json!({"type": "text", "text": story}));
        }
        if !said.text.is_empty() {
            prompt.push(json!({"type": "text", "text": said.text}));
        }
        for attachment in &said.attachments {
            match block_of(attachment, &self.can.prompt_capabilities) {
                Some(block) => prompt.push(block),
                None => {
                    let name = attachment.name.as_deref().unwrap_or(&attachment.media_type);
                    let text =
                        format!("{} does not take such files; {name} was not passed on.", self.row.title);
                    scribe.notice(conversation.session, conversation.turn_id(), NoticeLevel::Warning, text);
                }
            }
        }
        let call = AcpCall::Prompt { native: native.to_owned() };
        let params = json!({"sessionId": native, "prompt": prompt});
        let number = self.calls.send("session/prompt", params, call, scribe);
        if let Some(turn) = &mut conversation.turn {
            turn.call = Some(number);
        }
    }

    /// Stops the agent. Its open requests are cancelled.
    pub(super) fn interrupt(
        &mut self,
        native: &str,
        session: SessionId,
        turn: TurnId,
        scribe: &mut Scribe<'_>,
    ) {
        let running = self.conversations.get_mut(native).and_then(|conversation| conversation.turn.as_mut());
        let Some(running) = running.filter(|running| running.id == turn) else {
            // The turn is over, or never was. Without an event, a client would wait for its end for ever.
            let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
            scribe.say(session, Draft::new(end).turn(turn));
            return;
        };
        running.cut = true;
        let Some(number) = running.call else {
            return self.finish(native, TurnEnd::of(TurnOutcome::Interrupted), scribe);
        };
        let params = json!({"sessionId": native});
        scribe
            .out
            .lines
            .push(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}).to_string());
        self.calls.hurry(number, scribe.cx.now.plus_millis(CANCEL_WITHIN_MS));
        self.cancel_requests(session, scribe);
    }

    /// Handles the answer to `session/prompt`.
    pub(super) fn turn_ended(
        &mut self,
        native: &str,
        number: u64,
        answer: Result<&str, AcpError>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let Some(turn) = conversation.turn.as_mut().filter(|turn| turn.call == Some(number)) else { return };
        let cancelled = turn.cut;
        let prompted = match answer {
            Ok(answer) => serde_json::from_str::<Prompted>(answer).unwrap_or_default(),
            Err(_) if cancelled => return self.finish(native, TurnEnd::of(TurnOutcome::Interrupted), scribe),
            Err(fault) => return self.finish(native, failed(fault.turn_error()), scribe),
        };
        // An agent that ends its turn by itself has finished its message, even if a person wanted to stop it.
        turn.cut = prompted.stop_reason == "cancelled";
        conversation.fall_silent(scribe);
        let (session, turn) = (conversation.session, conversation.turn_id());
        let mut end = match prompted.stop_reason.as_str() {
            "cancelled" => TurnEnd::of(TurnOutcome::Interrupted),
            "refusal" => {
                failed(error(TurnErrorCode::Other, "The model refused to go on.".to_owned(), Value::Null))
            }
            "max_tokens" => {
                scribe.notice(
                    session,
                    turn,
                    NoticeLevel::Warning,
                    "The model stopped since it may not say more in one turn.",
                );
                TurnEnd::of(TurnOutcome::Completed)
            }
            "max_turn_requests" => {
                scribe.notice(
                    session,
                    turn,
                    NoticeLevel::Warning,
                    "The agent stopped since it may not ask its model more often.",
                );
                TurnEnd::of(TurnOutcome::Completed)
            }
            _ => TurnEnd::of(TurnOutcome::Completed),
        };
        let (usage, cost) = conversation.used(&prompted, self.row.quirks.counts, scribe);
        (end.usage, end.cost_usd) = (usage, cost);
        let told = conversation.turn.as_ref().and_then(|turn| self.row.quirks.told_error(turn, usage));
        if let Some(error) = told.filter(|_| end.outcome == TurnOutcome::Completed) {
            // Its usage counts the turns before.
            end = failed(error);
        }
        self.finish(native, end, scribe);
    }

    /// Ends a turn, and everything that is open in it.
    pub(super) fn finish(&mut self, native: &str, end: TurnEnd, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if let Some(turn) = &mut conversation.turn {
            turn.cut |= end.outcome != TurnOutcome::Completed;
        }
        conversation.fall_silent(scribe);
        conversation.held = None;
        conversation.close_tools(end.outcome, scribe);
        let session = conversation.session;
        let Some(turn) = conversation.turn.take() else { return };
        self.cancel_requests(session, scribe);
        let text = end.error.as_ref().map(|error| error.message.clone());
        let mut draft = Draft::new(Body::TurnFinished(end)).turn(turn.id);
        draft.text = text;
        scribe.say(session, draft);
    }
}

impl crate::acp::rows::Quirks {
    /// An error that an agent reported as a message of its model.
    fn told_error(&self, turn: &AcpTurn, usage: Option<Usage>) -> Option<TurnError> {
        let prefix = self.error_prefix?;
        let said = turn.last_message.strip_prefix(prefix)?;
        // Such a turn has no tokens besides the tokens of earlier turns.
        let counted = usage.and_then(|usage| usage.output).is_some_and(|output| output > 0);
        (!turn.worked && !counted)
            .then(|| error(code_of(0, said, &Value::Null), said.to_owned(), Value::Null))
    }
}

fn error(code: TurnErrorCode, message: String, details: Value) -> TurnError {
    TurnError { code, message, details }
}

/// The end of a failed turn.
pub(super) fn failed(error: TurnError) -> TurnEnd {
    TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) }
}

/// The end of a failed turn, with our own text.
pub(super) fn failed_with(code: TurnErrorCode, text: &str) -> TurnEnd {
    failed(error(code, text.to_owned(), Value::Null))
}

/// An attachment as a content block; none if the agent does not take such attachments.
fn block_of(attachment: &Attachment, can: &PromptCapabilities) -> Option<Value> {
    let Attachment { name, media_type, source } = attachment;
    Some(match source {
        AttachmentSource::Data(data) if media_type.starts_with("image/") && can.image => {
            json!({"type": "image", "mimeType": media_type, "data": data})
        }
        AttachmentSource::Data(data) if media_type.starts_with("audio/") && can.audio => {
            json!({"type": "audio", "mimeType": media_type, "data": data})
        }
        AttachmentSource::Data(data) if can.embedded_context => {
            let uri = format!("attachment:///{}", name.as_deref().unwrap_or("file"));
            let resource = json!({"uri": uri, "mimeType": media_type, "blob": data});
            json!({"type": "resource", "resource": resource})
        }
        AttachmentSource::Data(_) => return None,
        AttachmentSource::Path(path) => {
            let short = path.rsplit('/').next().unwrap_or(path);
            let name = name.as_deref().unwrap_or(short);
            json!({"type": "resource_link", "uri": format!("file://{path}"), "name": name, "mimeType": media_type})
        }
        AttachmentSource::Url(url) => {
            let name = name.as_deref().unwrap_or(url);
            json!({"type": "resource_link", "uri": url, "name": name, "mimeType": media_type})
        }
    })
}
