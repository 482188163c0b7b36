//! What a change of a session is to the app, as it happens.
//!
//! - The sender sees its own message only when the hub sends it back, so a prompt is shown when the session has it, not
//!   when it reaches the agent.
//! - A whole message takes the place of the bubble into which its pieces were streamed.

use longshore_model::event::{Body, Event};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, ItemChange};
use longshore_model::usage::Usage;

use super::cards::{card_id, card_of, result_of};
use super::images::{picture_of, with_others};
use super::permissions::permission_of;
use super::rows::{blocks_of, is_told, line_of};
use crate::mobile::wire::{ContentBlock, ServerFrame, TokenCounts};

/// The messages for an event. What the app only missed is told without asking anybody anything once more.
pub(in crate::mobile) fn frames_of(
    info: &SessionInfo,
    event: &Event,
    change: Option<ItemChange<'_>>,
    is_missed: bool,
) -> Vec<ServerFrame> {
    let agent_id = event.session.to_string();
    if let Some(frame) = prompt_of(&agent_id, event) {
        return vec![frame];
    }
    let Some(change) = change else { return Vec::new() };
    let item = change.item;
    let message =
        |content: Vec<ContentBlock>| ServerFrame::AssistantMessage { agent_id: agent_id.clone(), content };
    let line =
        || line_of(item).filter(|_| is_told(item)).map(|text| message(vec![ContentBlock::Text { text }]));
    match &item.content {
        // See `prompt_of`.
        Content::UserMessage { .. } | Content::TurnDiff => Vec::new(),
        Content::Message { .. } => match change.grew {
            Some(text) => vec![ServerFrame::StreamChunk { agent_id, text: text.to_owned() }],
            None => settled(&change, info).map(message).into_iter().collect(),
        },
        Content::Reasoning { .. } => settled(&change, info).map(message).into_iter().collect(),
        Content::Notice { .. } => line().into_iter().collect(),
        Content::TurnEnd(end) => {
            let result = (!is_missed).then(|| result(agent_id.clone(), info, end));
            line().into_iter().chain(result).collect()
        }
        Content::Approval { .. } => {
            asked(&agent_id, &change, info).filter(|_| !is_missed).into_iter().collect()
        }
        Content::Question { .. } => {
            let asks = asked(&agent_id, &change, info).filter(|_| !is_missed);
            card(&agent_id, &change, info, event.at).into_iter().chain(asks).collect()
        }
        Content::Tool { .. } | Content::Diff { .. } | Content::Plan { .. } | Content::Delegation { .. } => {
            card(&agent_id, &change, info, event.at)
        }
    }
}

/// Whether an event takes a permission away.
pub(in crate::mobile) fn withdraws(event: &Event) -> bool {
    matches!(
        event.body,
        Body::ApprovalDecided { .. }
            | Body::ApprovalExpired { .. }
            | Body::QuestionAnswered { .. }
            | Body::QuestionExpired { .. }
    )
}

/// A prompt as the session takes it, or a message that was never queued.
fn prompt_of(agent_id: &str, event: &Event) -> Option<ServerFrame> {
    let attachments = if let Body::PromptQueued { attachments, .. } = &event.body {
        attachments
    } else if let Body::UserMessage { prompt: None, attachments, .. } = &event.body {
        attachments
    } else {
        return None;
    };
    Some(ServerFrame::UserMessage {
        agent_id: agent_id.to_owned(),
        content: with_others(event.text(), attachments),
        image_data: picture_of(attachments),
    })
}

fn settled(change: &ItemChange<'_>, info: &SessionInfo) -> Option<Vec<ContentBlock>> {
    change.settled().then(|| blocks_of(change.item, &info.provider)).flatten()
}

fn asked(agent_id: &str, change: &ItemChange<'_>, info: &SessionInfo) -> Option<ServerFrame> {
    let asked = permission_of(change.item, &info.provider)?;
    Some(ServerFrame::PermissionRequest { agent_id: agent_id.to_owned(), asked })
}

/// A card as it begins, as it changes, and its result.
fn card(agent_id: &str, change: &ItemChange<'_>, info: &SessionInfo, now: Timestamp) -> Vec<ServerFrame> {
    let item = change.item;
    let Some(card) = card_of(item, &info.provider) else { return Vec::new() };
    let agent_id = agent_id.to_owned();
    let ContentBlock::ToolUse { name, input, .. } = &card else { return Vec::new() };
    if change.grew.is_some() && !change.began {
        let elapsed = now.millis_since(item.started_at) / 1_000;
        return vec![ServerFrame::ToolProgress { agent_id, tool_name: name.clone(), elapsed }];
    }
    let mut frames = Vec::new();
    if change.began {
        frames.push(ServerFrame::AssistantMessage { agent_id: agent_id.clone(), content: vec![card] });
    } else if !matches!(item.content, Content::Question { .. }) {
        let (tool_call_id, input) = (card_id(item), input.clone());
        frames.push(ServerFrame::ToolUseUpdated { agent_id: agent_id.clone(), tool_call_id, input });
    }
    let result = if change.settled() { result_of(item) } else { None };
    frames.extend(result.map(|result| ServerFrame::ToolResults { agent_id, results: vec![result] }));
    frames
}

fn result(agent_id: String, info: &SessionInfo, end: &TurnEnd) -> ServerFrame {
    let usage = end.usage.unwrap_or_default();
    ServerFrame::AgentResult {
        agent_id,
        cost: end.cost_usd.unwrap_or_default(),
        total_cost: info.cost_usd.or(end.cost_usd).unwrap_or_default(),
        usage: counts(&usage),
        duration: end.duration_ms.unwrap_or_default(),
        is_error: end.outcome == TurnOutcome::Failed,
        output_tokens: info.usage.output.or(usage.output).unwrap_or_default(),
        context_used_percent: info.context_percent.unwrap_or_default(),
    }
}

fn counts(usage: &Usage) -> TokenCounts {
    TokenCounts {
        input_tokens: usage.input.unwrap_or_default(),
        output_tokens: usage.output.unwrap_or_default(),
        cache_read_input_tokens: usage.cached_input.unwrap_or_default(),
    }
}
