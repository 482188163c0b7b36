//! Remarks about a whole conversation: title, model, usage and to-do list.

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::ItemId;
use longshore_model::item::{PlanStatus, PlanStep};
use longshore_model::usage::Usage;

use super::OpenCode;
use super::conversation::OpenCodeConversation;
use crate::kit::Scribe;
use crate::opencode::wire::{Model, SessionTold, Todos, Tokens};

/// The titles that OpenCode gives to conversations without a title.
const NO_TITLE: [&str; 2] = ["New session - ", "Child session - "];

impl OpenCode {
    pub(super) fn session_changed(&mut self, told: &SessionTold, scribe: &mut Scribe<'_>) {
        let info = &told.info;
        let Some(conversation) = self.conversations.get_mut(&info.id) else { return };
        let mut drafts = Vec::new();
        if let Some(title) = info.title.as_ref().filter(|title| conversation.title.as_ref() != Some(title)) {
            // The first title is OpenCode's own. The session takes its title from the first prompt. A later
            // title was chosen by a person.
            let had_one = conversation.title.as_ref().is_some_and(|title| is_title(title));
            conversation.title = Some(title.clone());
            if had_one && is_title(title) {
                drafts.push(Draft::new(Body::TitleChanged).text(title));
            }
        }
        let uses = info.model.as_ref().and_then(model_of);
        if let Some(model) = uses.filter(|model| conversation.uses.as_ref() != Some(model)) {
            conversation.uses = Some(model.clone());
            if conversation.model.as_ref() != Some(&model) {
                drafts.push(Draft::new(Body::ModelChanged { model }));
            }
        }
        // This report comes late, and may be lower than the count that the driver already has.
        if let Some(tokens) = info.tokens.filter(|tokens| tokens.sum() > conversation.tokens.sum()) {
            conversation.tokens = tokens;
        }
        let window = conversation.uses.as_ref().and_then(|model| self.windows.get(model)).copied();
        drafts.extend(usage_changed(conversation, window));
        scribe.quote_all(conversation.session, drafts);
    }

    /// Another client deleted the conversation.
    pub(super) fn session_deleted(&mut self, told: &SessionTold, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(&told.info.id) else { return };
        let session = conversation.session;
        let text = "the conversation was deleted in OpenCode";
        let notice = Draft::new(Body::Notice { level: NoticeLevel::Warning }).text(text);
        scribe.quote(session, notice);
        self.forget(&told.info.id, false, scribe);
        scribe.out.ended.push((session, text.to_owned()));
    }

    pub(super) fn compacted(&mut self, native: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(native) else { return };
        let notice = Draft::new(Body::Notice { level: NoticeLevel::Info }).turn(conversation.turn_id());
        let text = "OpenCode summed the conversation up to make room";
        scribe.quote(conversation.session, notice.text(text));
    }

    pub(super) fn todos_told(&mut self, native: &str, told: &Todos, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let step = |todo: &crate::opencode::wire::Todo| PlanStep {
            text: todo.content.clone(),
            status: match todo.status.as_str() {
                "in_progress" => PlanStatus::InProgress,
                "completed" | "cancelled" => PlanStatus::Completed,
                _ => PlanStatus::Pending,
            },
        };
        let steps = told.todos.iter().map(step).collect();
        let turn = conversation.turn_id();
        let item = match &mut conversation.turn {
            Some(turn) => *turn.plan.get_or_insert_with(|| ItemId::mint(&mut scribe.cx)),
            None => ItemId::mint(&mut scribe.cx),
        };
        let draft = Draft::new(Body::PlanUpdated { steps }).turn(turn).item(item);
        scribe.quote(conversation.session, draft);
    }
}

/// Emits the usage of a conversation, if it has grown.
pub(super) fn usage_changed(conversation: &mut OpenCodeConversation, window: Option<u64>) -> Option<Draft> {
    let usage = usage_of(&conversation.tokens)?;
    let usage = Some(Usage { context_used: conversation.context, context_window: window, ..usage });
    if usage == conversation.usage {
        return None;
    }
    conversation.usage = usage;
    usage.map(|usage| Draft::new(Body::UsageUpdated(usage)).turn(conversation.turn_id()))
}

/// Whether this is a real title.
pub(super) fn is_title(title: &str) -> bool {
    !NO_TITLE.iter().any(|none| title.starts_with(none))
}

/// `provider/model`
pub(super) fn model_of(model: &Model) -> Option<String> {
    let whole = !model.id.is_empty() && !model.provider_id.is_empty();
    whole.then(|| format!("{}/{}", model.provider_id, model.id))
}

/// The tokens in our form: all input tokens and all output tokens. Zero tokens mean that the usage is
/// unknown.
pub(super) fn usage_of(tokens: &Tokens) -> Option<Usage> {
    if *tokens == Tokens::default() {
        return None;
    }
    Some(Usage {
        input: Some((tokens.input + tokens.cache.read + tokens.cache.write) as u64),
        cached_input: Some(tokens.cache.read as u64),
        output: Some((tokens.output + tokens.reasoning) as u64),
        reasoning: Some(tokens.reasoning as u64),
        context_window: None,
        context_used: None,
    })
}
