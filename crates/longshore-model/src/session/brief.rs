//! Texts cut for a row. The hub writes a row at every change and sends it to all listeners, so a row stays
//! small.
//!
//! A long text keeps its beginning and its end, and says between them how much is left out, so nothing can
//! hide behind the visible part. A person who decides reads the whole text: the session itself, the timeline
//! and, where there is room, the inbox have it.

use serde_json::Value;

use super::state::AskEntry;
use crate::approval::{ApprovalDecision, QuestionAnswer, QuestionRequest, Subject};
use crate::capability::SlashCommand;
use crate::event::{Body, Draft};
use crate::info::{OpenApproval, OpenQuestion, QueuedPrompt, SessionInfo};

/// The most characters of a waiting prompt in a row.
const PROMPT_CHARS: usize = 500;
/// The most characters of a text of an approval or question in a row.
const ASK_CHARS: usize = 4_000;
/// The most files of a change in a row.
const FILES: usize = 20;
/// The most fields of a question in a row, and the most choices of each field.
const FIELDS: usize = 50;
/// The most characters of a name in a row.
const NAME_CHARS: usize = 500;
/// The most characters of a title, and of other texts that an agent reports of itself or of the work tree.
/// Clients may send as many.
const TOLD_CHARS: usize = 1_000;
/// The most characters of a path, or of an agent's name of the conversation.
const PATH_CHARS: usize = 4_096;
/// The most bytes of all commands of an agent in a row, and the most characters of each description.
const COMMANDS_BYTES: usize = 48 << 10;
const DESCRIPTION_CHARS: usize = 300;

/// Cuts a text in its middle.
fn cut(text: &mut String, most: usize) {
    let chars = text.chars().count();
    if chars <= most {
        return;
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (at(most / 2), at(chars - most / 2));
    let left_out = chars - most / 2 * 2;
    *text = format!("{}\n… {left_out} characters left out …\n{}", &text[..head], &text[tail..]);
}

fn cut_value(value: &mut Value) {
    let mut text = value.to_string();
    if text.chars().count() > ASK_CHARS {
        cut(&mut text, ASK_CHARS);
        *value = Value::String(text);
    }
}

/// A name from an agent or a client, cut for the session.
pub(super) fn name(text: &str) -> String {
    let mut name = text.to_owned();
    cut(&mut name, TOLD_CHARS);
    name
}

/// Cuts what an agent reports of itself and of the work tree.
pub(super) fn names(row: &mut SessionInfo) {
    let git = row.git.iter_mut().flat_map(|git| [&mut git.branch, &mut git.commit, &mut git.remote]);
    let told = [&mut row.repo, &mut row.model, &mut row.effort].into_iter().chain(git);
    told.flatten().for_each(|name| cut(name, TOLD_CHARS));
    for value in row.metadata.values_mut() {
        if let Value::String(text) = value {
            cut(text, PATH_CHARS);
        }
    }
    // A part of it names another conversation, or none.
    row.native.take_if(|native| native.len() > PATH_CHARS);
}

/// The commands of an agent that fit into a row.
pub(super) fn commands(all: &[SlashCommand]) -> Vec<SlashCommand> {
    let brief = |command: &SlashCommand| {
        let mut brief = command.clone();
        cut(&mut brief.description, DESCRIPTION_CHARS);
        brief
    };
    // A part of a name is no command.
    let named = all.iter().filter(|command| command.name.len() <= NAME_CHARS);
    let mut room = COMMANDS_BYTES;
    let fits = |command: &SlashCommand| {
        let left = room.checked_sub(command.name.len() + command.description.len() + 32);
        room = left.unwrap_or_default();
        left.is_some()
    };
    named.map(brief).take_while(fits).collect()
}

pub(super) fn prompt(queued: &mut QueuedPrompt) {
    queued.cut = queued.text.chars().count() > PROMPT_CHARS;
    cut(&mut queued.text, PROMPT_CHARS);
}

pub(super) fn approval_entry(whole: OpenApproval) -> AskEntry<OpenApproval> {
    AskEntry { brief: approval(&whole), bytes: whole.bytes(), whole }
}

pub(super) fn question_entry(whole: OpenQuestion) -> AskEntry<OpenQuestion> {
    AskEntry { brief: question(&whole), bytes: whole.bytes(), whole }
}

/// The size of an approval or question; none for other drafts.
pub(super) fn bytes_of_ask(draft: &Draft) -> Option<usize> {
    let text = draft.text.as_ref().map_or(0, String::len);
    if let Body::ApprovalRequested(request) = &draft.body {
        return Some(text + bytes_of_subject(&request.subject));
    }
    if let Body::QuestionAsked(request) = &draft.body {
        return Some(text + bytes_of_fields(request));
    }
    None
}

impl OpenApproval {
    /// The approximate size.
    pub fn bytes(&self) -> usize {
        self.reason.as_ref().map_or(0, String::len) + bytes_of_subject(&self.request.subject)
    }
}

impl OpenQuestion {
    /// The approximate size.
    pub fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, String::len) + bytes_of_fields(&self.request)
    }
}

fn bytes_of_subject(subject: &Subject) -> usize {
    let all = |texts: &[String]| texts.iter().map(|text| text.len() + 4).sum::<usize>();
    match subject {
        Subject::Command { command, cwd, always } => {
            command.len() + cwd.as_ref().map_or(0, String::len) + all(always)
        }
        Subject::Edit { changes, .. } => {
            changes.iter().map(|change| change.path.len() + change.diff.len() + 32).sum()
        }
        Subject::Tool { name, input } => name.len() + bytes_of_value(input),
        Subject::Plan { plan } => plan.len(),
        Subject::Permissions { permissions } => bytes_of_value(permissions),
    }
}

fn bytes_of_fields(request: &QuestionRequest) -> usize {
    let choices = |field: &crate::approval::Field| -> usize {
        field.choices.iter().map(|choice| choice.label.len() + choice.description.len() + 32).sum()
    };
    let field = |field: &crate::approval::Field| field.label.len() + field.text.len() + choices(field) + 64;
    request.fields.iter().map(field).sum()
}

/// How large a decision is.
pub(super) fn bytes_of_decision(decision: &ApprovalDecision) -> usize {
    let message = decision.message.as_ref().map_or(0, String::len);
    decision.by.len() + message + decision.input.as_ref().map_or(0, bytes_of_value)
}

/// How large an answer is.
pub(super) fn bytes_of_answer(answer: &QuestionAnswer) -> usize {
    let values = answer.answers.iter().map(|(field, value)| field.len() + bytes_of_value(value));
    answer.by.len() + values.sum::<usize>()
}

fn bytes_of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| bytes_of_value(value) + 1).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + bytes_of_value(value) + 4).sum::<usize>() + 2
        }
    }
}

fn approval(whole: &OpenApproval) -> OpenApproval {
    let mut open = whole.clone();
    if let Some(reason) = &mut open.reason {
        cut(reason, ASK_CHARS);
    }
    match &mut open.request.subject {
        Subject::Command { command, cwd, always } => {
            cut(command, ASK_CHARS);
            cwd.iter_mut().for_each(|cwd| cut(cwd, NAME_CHARS));
            always.truncate(FIELDS);
            always.iter_mut().for_each(|always| cut(always, NAME_CHARS));
        }
        Subject::Edit { changes, .. } => {
            let left_out = changes.len().saturating_sub(FILES);
            changes.truncate(FILES);
            let each = ASK_CHARS / changes.len().max(1);
            for change in changes.iter_mut() {
                cut(&mut change.path, NAME_CHARS);
                cut(&mut change.diff, each);
            }
            if let Some(last) = changes.last_mut().filter(|_| left_out > 0) {
                last.diff.push_str(&format!("\n… {left_out} more files left out …\n"));
            }
        }
        Subject::Tool { name, input } => {
            cut(name, NAME_CHARS);
            cut_value(input);
        }
        Subject::Plan { plan } => cut(plan, ASK_CHARS),
        Subject::Permissions { permissions } => cut_value(permissions),
    }
    open.cut = open != *whole;
    open
}

fn question(whole: &OpenQuestion) -> OpenQuestion {
    let mut open = whole.clone();
    if let Some(text) = &mut open.text {
        cut(text, ASK_CHARS);
    }
    let fields = &mut open.request.fields;
    let left_out = fields.len().saturating_sub(FIELDS);
    fields.truncate(FIELDS);
    let each = ASK_CHARS / fields.len().max(1);
    for field in fields.iter_mut() {
        cut(&mut field.label, NAME_CHARS);
        cut(&mut field.text, each.max(NAME_CHARS));
        field.choices.truncate(FIELDS);
        for choice in &mut field.choices {
            cut(&mut choice.label, NAME_CHARS);
            cut(&mut choice.description, NAME_CHARS);
        }
    }
    if let Some(last) = fields.last_mut().filter(|_| left_out > 0) {
        last.text.push_str(&format!("\n… {left_out} more fields left out …\n"));
    }
    open.cut = open != *whole;
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_says_how_much_is_missing() {
        let mut text = format!("begin{}end", "日本".repeat(5_000));
        cut(&mut text, 100);
        assert!(text.starts_with("begin日") && text.ends_with("本end"), "{text}");
        assert!(text.contains("… 9908 characters left out …"), "{text}");
        let mut short = "short".to_owned();
        cut(&mut short, 100);
        assert_eq!(short, "short");
    }
}
