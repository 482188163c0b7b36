//! What messages are made of: text and thoughts here, calls of tools in `tools`.
//!
//! A part is told when it begins, as an empty text, and when it is done, as the whole one. In between come deltas; they
//! do not say whether they are of a text or of a thought.

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::Context;

use super::OpenCode;
use super::conversation::{Author, PartKind};
use crate::opencode::wire::{Delta, Part, PartUpdated};

impl OpenCode {
    pub(super) fn part_delta(
        &mut self,
        delta: &Delta<'_>,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(&*delta.session_id) else { return };
        if delta.field != "text"
            || delta.delta.is_empty()
            || conversation.author_of(&delta.message_id) != Some(Author::Agent)
        {
            return;
        }
        let session = conversation.session;
        let part = conversation.part(&delta.part_id, &delta.message_id, PartKind::Text { told: 0 }, cx);
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
        out.say(session, draft.text(&*delta.delta).raw(raw.clone()));
    }

    pub(super) fn part_told(
        &mut self,
        told: &PartUpdated,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        self.part(&told.part, Some(raw), cx, out);
    }

    /// A part is there, or more is known of it.
    pub(super) fn part(&mut self, part: &Part, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        let Some(conversation) = self.conversations.get(&part.session_id) else { return };
        let Some(author) = conversation.author_of(&part.message_id) else { return };
        match (author, part.kind.as_str()) {
            (Author::Ours, _) => {}
            (Author::Other, "text" | "file") => self.somebody_said(part, raw, cx, out),
            (Author::Other, _) => {}
            (Author::Agent, "text") => self.text(part, PartKind::Text { told: 0 }, raw, cx, out),
            (Author::Agent, "reasoning") => self.text(part, PartKind::Thought { told: 0 }, raw, cx, out),
            (Author::Agent, "tool") => self.tool(part, raw, cx, out),
            (Author::Agent, _) => {}
        }
    }

    fn text(
        &mut self,
        part: &Part,
        fresh: PartKind,
        raw: Option<&Raw>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(conversation) = self.conversations.get_mut(&part.session_id) else { return };
        let session = conversation.session;
        let known = conversation.part(&part.id, &part.message_id, fresh, cx);
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
            // A text that never was one.
            if part.text.is_empty() && *told == 0 {
                return;
            }
            let is_message = matches!(done, Body::MessageDone { .. });
            out.say(session, Draft::new(done).turn(turn).item(item).text(&*part.text).raw(raw.cloned()));
            if let Some(running) =
                conversation.turn.as_mut().filter(|running| is_message && Some(running.id) == turn)
            {
                running.last_message.clone_from(&part.text);
            }
        } else if let Some(more) = part.text.get(*told..).filter(|more| !more.is_empty()) {
            *told = part.text.len();
            out.say(session, Draft::new(grows).turn(turn).item(item).text(more).raw(raw.cloned()));
        }
    }

    /// What somebody else than our session said to the agent: who delegated to it, or a person at another client.
    fn somebody_said(&mut self, part: &Part, raw: Option<&Raw>, cx: &mut Context<'_>, out: &mut Output) {
        let Some(conversation) = self.conversations.get_mut(&part.session_id).filter(|_| !part.synthetic)
        else {
            return;
        };
        let session = conversation.session;
        let known = conversation.part(&part.id, &part.message_id, PartKind::Said, cx);
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
        out.say(session, draft.text(&*part.text).raw(raw.cloned()));
    }
}

/// Where a file is, or what is in it.
pub(super) fn source_of(url: &str) -> AttachmentSource {
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    match (data, url.strip_prefix("file://")) {
        (Some((_, data)), _) => AttachmentSource::Data(data.to_owned()),
        (None, Some(path)) => AttachmentSource::Path(path.to_owned()),
        (None, None) => AttachmentSource::Url(url.to_owned()),
    }
}
