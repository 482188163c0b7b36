//! The timeline of a session as the messages of a conversation: what people wrote, and what the agent said between.
//!
//! Pure. A turn that runs has no answer yet: a page that opens follows the turn from its start, and would otherwise show
//! its beginning twice.

use std::sync::Arc;

use longshore_model::command::Attachment;
use longshore_model::id::{ItemId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Item, Timeline};

use super::citations::Citations;
use super::tools;
use super::wire::{AttachmentInfo, MessageResponse, MessageType, ToolCallResponse};
use super::words;

/// The answer of an agent as far as it is read.
#[derive(Default)]
struct HistoryAnswer {
    first: Option<(String, Timestamp)>,
    message: Vec<String>,
    thinking: Vec<String>,
    calls: Vec<ToolCallResponse>,
    citations: Citations,
}

/// All messages, the oldest first. The timeline is not older than the row.
pub(super) fn messages(info: &SessionInfo, timeline: &Timeline, place: &str) -> Vec<MessageResponse> {
    let mut all = Vec::new();
    let mut answer = HistoryAnswer::default();
    let mut turn = None;
    for item in timeline.items.iter().filter(|item| item.seq <= info.head) {
        if let Content::UserMessage { attachments, by } = &item.content {
            all.extend(std::mem::take(&mut answer).finish(info));
            all.push(human(info, &id_of(item), item.started_at, &item.text, attachments, by.as_deref()));
        } else {
            if turn != item.turn {
                all.extend(std::mem::take(&mut answer).finish(info));
                turn = item.turn;
            }
            if !runs(info, item.turn) {
                answer.add(item, info, place);
            }
        }
    }
    all.extend(answer.finish(info));
    let waiting = info.queue.iter().map(|queued| {
        let id = queued.prompt.to_string();
        human(info, &id, info.updated_at, &queued.text, &queued.attachments, Some(&queued.by))
    });
    all.extend(waiting);
    all
}

fn runs(info: &SessionInfo, turn: Option<TurnId>) -> bool {
    turn.is_some() && info.turn == turn
}

impl HistoryAnswer {
    fn add(&mut self, item: &Item, info: &SessionInfo, place: &str) {
        match &item.content {
            Content::Message { .. } if !item.text.is_empty() => self.message.push(item.text.clone()),
            Content::Reasoning { .. } if !item.text.is_empty() => self.thinking.push(item.text.clone()),
            Content::Tool { .. }
            | Content::Delegation { .. }
            | Content::Diff { .. }
            | Content::Plan { .. } => {
                let unfinished = || tools::begun(item).map(|begun| tools::given_up(&begun));
                self.calls.extend(tools::ended(item).or_else(unfinished));
                self.citations.add(item, &info.cwd);
            }
            Content::Approval { .. }
            | Content::Question { .. }
            | Content::Notice { .. }
            | Content::TurnEnd(_) => {
                // A notice between turns is nobody's answer.
                if item.turn.is_some() {
                    self.message.extend(words::sentences(item, place));
                }
            }
            Content::Message { .. }
            | Content::Reasoning { .. }
            | Content::UserMessage { .. }
            | Content::TurnDiff => {}
        }
        let is_empty = self.message.is_empty() && self.thinking.is_empty() && self.calls.is_empty();
        if self.first.is_none() && !is_empty {
            self.first = Some((id_of(item), item.started_at));
        }
    }

    fn finish(self, info: &SessionInfo) -> Option<MessageResponse> {
        let (id, at) = self.first?;
        Some(MessageResponse {
            id,
            conversation_id: info.session_id.to_string(),
            content: self.message.join("\n\n"),
            sender_id: None,
            kind: MessageType::AiGenerated,
            reason: None,
            created_at: at.to_string(),
            status: "ACTIVE",
            citations: self.citations.files(),
            has_attachments: false,
            attachments: Vec::new(),
            tool_calls: self.calls,
            thinking: (!self.thinking.is_empty()).then(|| self.thinking.join("\n\n")),
        })
    }
}

fn human(
    info: &SessionInfo,
    id: &str,
    at: Timestamp,
    text: &str,
    attachments: &[Attachment],
    by: Option<&str>,
) -> MessageResponse {
    MessageResponse {
        id: id.to_owned(),
        conversation_id: info.session_id.to_string(),
        content: text.to_owned(),
        sender_id: by.map(str::to_owned),
        kind: MessageType::Human,
        reason: None,
        created_at: at.to_string(),
        status: "ACTIVE",
        citations: Arc::default(),
        has_attachments: !attachments.is_empty(),
        attachments: attachments
            .iter()
            .enumerate()
            .map(|(at, attached)| attachment(id, at, attached))
            .collect(),
        tool_calls: Vec::new(),
        thinking: None,
    }
}

fn attachment(message: &str, at: usize, attachment: &Attachment) -> AttachmentInfo {
    let is_image = attachment.media_type.starts_with("image/");
    AttachmentInfo {
        id: format!("{message}-{at}"),
        attachment_type: if is_image { "image" } else { "document" },
        file_name: attachment.name.clone().unwrap_or_else(|| "attachment".to_owned()),
        mime_type: attachment.media_type.clone(),
        // Four letters of base64 are three bytes.
        file_size: attachment.bytes() / 4 * 3,
    }
}

/// The id of an item; the same one every time.
fn id_of(item: &Item) -> String {
    let made = || ItemId::of_words(&["chunks", &item.seq.to_string(), &item.started_at.to_string()]);
    item.id.unwrap_or_else(made).to_string()
}
