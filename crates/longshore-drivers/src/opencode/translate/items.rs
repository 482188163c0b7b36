//! The parts of messages: text and reasoning here, tool calls in `tools`.
//!
//! OpenCode reports a part when it begins, with an empty text, and when it is complete, with the whole text.
//! In between come deltas. A delta does not say whether it belongs to a text or to reasoning.

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft};

use super::OpenCode;
use super::conversation::{Author, PartKind};
use crate::kit::Scribe;
use crate::opencode::wire::{Delta, Part, PartUpdated};

impl OpenCode {
    pub(super) fn part_delta(&mut self, delta: &Delta<'_>, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(&*delta.session_id) else { return };
        if delta.field != "text"
            || delta.delta.is_empty()
            || conversation.author_of(&delta.message_id) != Some(Author::Agent)
        {
            return;
        }
        let session = conversation.session;
        let part =
            conversation.part(&delta.part_id, &delta.message_id, PartKind::Text { told: 0 }, &mut scribe.cx);
        if part.done {
            return;
        }
        let body = match &mut part.what {
            PartKind::Text { told } => {
                *told += delta.delta.len();
                Body::MessageDelta
            }
            PartKind::Thought { told } => {
                *told += delta.delta.len();
                Body::ReasoningDelta
            }
            PartKind::Tool(_) | PartKind::Said => return,
        };
        let draft = Draft::new(body).turn(part.turn).item(part.item);
        scribe.quote(session, draft.text(&*delta.delta));
    }

    pub(super) fn part_told(&mut self, told: &PartUpdated, scribe: &mut Scribe<'_>) {
        self.part(&told.part, scribe);
    }

    /// Handles a part: a new part, or a change of a known part.
    pub(super) fn part(&mut self, part: &Part, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(&part.session_id) else { return };
        let Some(author) = conversation.author_of(&part.message_id) else { return };
        match (author, part.kind.as_str()) {
            (Author::Ours, _) => {}
            (Author::Other, "text" | "file") => self.somebody_said(part, scribe),
            (Author::Other, _) => {}
            (Author::Agent, "text") => self.text(part, PartKind::Text { told: 0 }, scribe),
            (Author::Agent, "reasoning") => self.text(part, PartKind::Thought { told: 0 }, scribe),
            (Author::Agent, "tool") => self.tool(part, scribe),
            (Author::Agent, _) => {}
        }
    }

    fn text(&mut self, part: &Part, fresh: PartKind, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(&part.session_id) else { return };
        let session = conversation.session;
        let known = conversation.part(&part.id, &part.message_id, fresh, &mut scribe.cx);
        let (turn, item) = (known.turn, known.item);
        let (told, grows, done) = match &mut known.what {
            PartKind::Text { told } => {
                (told, Body::MessageDelta, Body::MessageDone { phase: None, partial: false })
            }
            PartKind::Thought { told } => {
                (told, Body::ReasoningDelta, Body::ReasoningDone { partial: false })
            }
            PartKind::Tool(_) | PartKind::Said => return,
        };
        if known.done {
            return;
        }
        if part.time.end.is_some() {
            known.done = true;
            // An empty text is no message.
            if part.text.is_empty() && *told == 0 {
                return;
            }
            let is_message = matches!(done, Body::MessageDone { .. });
            scribe.quote(session, Draft::new(done).turn(turn).item(item).text(&*part.text));
            if let Some(running) =
                conversation.turn.as_mut().filter(|running| is_message && Some(running.id) == turn)
            {
                running.last_message.clone_from(&part.text);
            }
        } else if let Some(more) = part.text.get(*told..).filter(|more| !more.is_empty()) {
            *told = part.text.len();
            scribe.quote(session, Draft::new(grows).turn(turn).item(item).text(more));
        }
    }

    /// Handles a message to the agent from another sender than our session: from a delegating conversation,
    /// or from a person at another client.
    fn somebody_said(&mut self, part: &Part, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(&part.session_id).filter(|_| !part.synthetic)
        else {
            return;
        };
        let session = conversation.session;
        let known = conversation.part(&part.id, &part.message_id, PartKind::Said, &mut scribe.cx);
        if std::mem::replace(&mut known.done, true) {
            return;
        }
        let attachment = (part.kind == "file").then(|| Attachment {
            name: part.filename.clone(),
            media_type: part.mime.clone(),
            source: source_of(&part.url),
        });
        let attachments = attachment.into_iter().collect();
        let said = Body::UserMessage { prompt: None, attachments, by: None };
        let draft = Draft::new(said).turn(known.turn).item(known.item);
        scribe.quote(session, draft.text(&*part.text));
    }
}

/// The path of a file, or its content.
pub(super) fn source_of(url: &str) -> AttachmentSource {
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    match (data, url.strip_prefix("file://")) {
        (Some((_, data)), _) => AttachmentSource::Data(data.to_owned()),
        (None, Some(path)) => AttachmentSource::Path(path.to_owned()),
        (None, None) => AttachmentSource::Url(url.to_owned()),
    }
}
