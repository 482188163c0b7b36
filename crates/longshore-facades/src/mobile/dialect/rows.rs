//! A session's history, as rows of the app.
//!
//! The app takes the rows of a history only for an agent of which it has none. So a history ends where the device's last
//! connection ended, and everything after that comes again as live messages: an app that was started anew has all of it,
//! and one that was only away gets what it missed.

use std::collections::HashSet;

use longshore_model::command::Attachment;
use longshore_model::event::{Body, Event, NoticeLevel};
use longshore_model::id::{ItemId, PromptId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Item, Timeline};

use super::cards::{card_of, result_of};
use super::cut;
use super::images::{picture_of, with_others};
use crate::mobile::wire::{AgentMessage, ContentBlock, Said, Speaker, millis};

/// The most rows of a history.
pub(in crate::mobile) const ROWS: usize = 200;
/// The most bytes of pictures in a history; older rows go without.
const PICTURES: usize = 8 << 20;

/// What happened after the end of a history, and must not be in it.
#[derive(Debug, Default)]
pub(in crate::mobile) struct MissedEvents {
    /// What got its final content.
    settled: HashSet<ItemId>,
    /// The prompts that came.
    queued: HashSet<PromptId>,
    /// The prompts that had come before and reached the agent.
    reached: Vec<AgentMessage>,
}

impl MissedEvents {
    /// Takes an event from after the end of the history.
    pub(in crate::mobile) fn take(&mut self, event: &Event) {
        if matches!(event.body, Body::MessageDone { .. } | Body::ReasoningDone { .. }) {
            self.settled.extend(event.item);
        } else if let Body::PromptQueued { prompt, .. } = &event.body {
            self.queued.insert(*prompt);
        } else if let Body::UserMessage { prompt: Some(prompt), attachments, .. } = &event.body
            && !self.queued.contains(prompt)
        {
            self.reached.push(of_person(prompt.to_string(), event.text(), attachments, event.at));
        }
    }
}

/// The rows of a history. `timeline` has what had begun at its end.
pub(in crate::mobile) fn history(
    info: &SessionInfo,
    timeline: &Timeline,
    missed: &MissedEvents,
) -> Vec<AgentMessage> {
    let is_later = |item: &&Item| !item.id.is_some_and(|id| missed.settled.contains(&id));
    let told = timeline.items.iter().filter(is_later).filter_map(|item| row_of(item, &info.provider));
    let reached = missed.reached.iter().cloned();
    let waiting =
        info.queue.iter().filter(|waiting| !missed.queued.contains(&waiting.prompt)).map(|waiting| {
            of_person(waiting.prompt.to_string(), &waiting.text, &waiting.attachments, info.updated_at)
        });
    let mut rows: Vec<AgentMessage> = told.chain(reached).chain(waiting).collect();
    rows.drain(..rows.len().saturating_sub(ROWS));
    let mut room = PICTURES;
    for row in rows.iter_mut().rev() {
        let bytes = row.image_data.as_ref().map_or(0, |image| image.base64.as_ref().map_or(0, String::len));
        match bytes <= room {
            true => room -= bytes,
            false => row.image_data = None,
        }
    }
    rows
}

/// The row of a message of a person.
pub(super) fn of_person(id: String, text: &str, attachments: &[Attachment], at: Timestamp) -> AgentMessage {
    AgentMessage {
        id,
        r#type: Speaker::User,
        content: Said::Text(with_others(text, attachments)),
        image_data: picture_of(attachments),
        timestamp: millis(at),
    }
}

fn row_of(item: &Item, provider: &str) -> Option<AgentMessage> {
    let id = item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string());
    let row = |speaker, content| AgentMessage {
        id: id.clone(),
        r#type: speaker,
        content,
        image_data: None,
        timestamp: millis(item.started_at),
    };
    if let Content::UserMessage { attachments, .. } = &item.content {
        return Some(of_person(id, &item.text, attachments, item.started_at));
    }
    if let Some(blocks) = blocks_of(item, provider) {
        return Some(row(Speaker::Assistant, Said::Blocks(blocks)));
    }
    let line = line_of(item)?;
    Some(match is_told(item) {
        true => row(Speaker::Assistant, Said::Blocks(vec![ContentBlock::Text { text: line }])),
        false => row(Speaker::System, Said::Text(line)),
    })
}

/// The blocks of something that the agent said or did; none if it said nothing yet.
pub(super) fn blocks_of(item: &Item, provider: &str) -> Option<Vec<ContentBlock>> {
    let has_ended = item.ended_at.is_some() && !item.text.is_empty();
    if let Content::Message { .. } = &item.content {
        return has_ended.then(|| vec![ContentBlock::Text { text: cut(&item.text) }]);
    }
    if let Content::Reasoning { .. } = &item.content {
        return has_ended.then(|| vec![ContentBlock::Thinking { text: cut(&item.text) }]);
    }
    let card = card_of(item, provider)?;
    Some(std::iter::once(card).chain(result_of(item)).collect())
}

/// What stands between messages: the end of a turn that did not go well, and notices.
pub(super) fn line_of(item: &Item) -> Option<String> {
    let line = match &item.content {
        Content::TurnEnd(end) => match end.outcome {
            TurnOutcome::Completed => return None,
            TurnOutcome::Interrupted => "Interrupted".to_owned(),
            TurnOutcome::Failed => match (&*item.text, &end.error) {
                ("", Some(error)) => format!("Failed: {}", error.message),
                ("", None) => "Failed".to_owned(),
                (text, _) => format!("Failed: {text}"),
            },
        },
        Content::Notice { .. } => item.text.clone(),
        Content::UserMessage { .. }
        | Content::Message { .. }
        | Content::Reasoning { .. }
        | Content::Plan { .. }
        | Content::Tool { .. }
        | Content::Diff { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::Delegation { .. } => return None,
    };
    (!line.is_empty()).then(|| cut(&line))
}

/// Whether the app hears of a line when it comes, as a message of the agent: there are no others. The rest is in
/// histories only.
pub(super) fn is_told(item: &Item) -> bool {
    if let Content::Notice { level } = &item.content {
        return matches!(level, NoticeLevel::Warning | NoticeLevel::Error);
    }
    matches!(&item.content, Content::TurnEnd(end) if end.outcome == TurnOutcome::Failed)
}
