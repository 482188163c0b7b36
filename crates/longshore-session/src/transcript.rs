//! The transcript of a session: its timeline, and its timeline as text for an agent that no longer remembers.

use longshore_log::{Journal, WithRaw};
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::timeline::{Content, Item, Timeline};

use crate::error::HubError;

/// How many events to read at once.
const PAGE: usize = 4_096;
/// The most bytes of a transcript. Of a longer one, the agent gets the end.
const STORY_BYTES: usize = 200_000;
/// The most bytes of one tool's output in a transcript.
const OUTPUT_BYTES: usize = 2_000;

/// Folds the rest of a session's log into a timeline.
pub(crate) async fn fold_on(
    journal: &dyn Journal,
    session: SessionId,
    mut timeline: Timeline,
) -> Result<Timeline, HubError> {
    loop {
        let page = journal.read(session, timeline.head, PAGE, WithRaw::No).await?;
        if page.is_empty() {
            return Ok(timeline);
        }
        for frame in &page {
            let seq: Seq = frame.seq();
            let event = frame.event().map_err(|source| HubError::Unreadable { seq, source })?;
            timeline.apply(event);
        }
    }
}

/// The transcript; none if there is nothing to tell. The running turn is no part of it, because the agent
/// gets that as a prompt.
pub(crate) async fn story_of(
    journal: &dyn Journal,
    session: SessionId,
    running: Option<TurnId>,
) -> Result<Option<String>, HubError> {
    let timeline = fold_on(journal, session, Timeline::default()).await?;
    let before = timeline.items.iter().filter(|item| running.is_none() || item.turn != running);
    let told: Vec<String> = before.filter_map(tell).collect();
    if told.is_empty() {
        return Ok(None);
    }
    let mut length = 0;
    let fits = |line: &&String| {
        length += line.len() + 2;
        length <= STORY_BYTES
    };
    let mut end: Vec<&str> = told.iter().rev().take_while(fits).map(String::as_str).collect();
    end.reverse();
    let head = "This conversation was held before; here is what was said and done, so that you can go on from there.";
    Ok(Some(format!("{head}\n\n{}", end.join("\n\n"))))
}

fn tell(item: &Item) -> Option<String> {
    let text = item.text.trim();
    match &item.content {
        Content::UserMessage { .. } => Some(format!("User: {text}")),
        Content::Message { .. } => Some(format!("You: {text}")),
        Content::Tool { call, .. } => {
            let what = call.command.clone().unwrap_or_else(|| call.input.to_string());
            Some(format!("You ran {} `{what}`:\n{}", call.name, cut(text)))
        }
        Content::Delegation { delegation, task, .. } => {
            Some(format!("You handed to {} `{}`:\n{}", delegation.agent, cut(task), cut(text)))
        }
        Content::Diff { changes, .. } => {
            let files: Vec<String> =
                changes.iter().map(|change| format!("{}\n{}", change.path, cut(&change.diff))).collect();
            Some(format!("You changed files:\n{}", files.join("\n")))
        }
        Content::Plan { steps } => {
            let steps: Vec<String> = steps.iter().map(|step| format!("- {}", step.text)).collect();
            Some(format!("Your plan: {text}\n{}", steps.join("\n")))
        }
        Content::Reasoning { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::TurnEnd(_)
        | Content::Notice { .. } => None,
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=OUTPUT_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
