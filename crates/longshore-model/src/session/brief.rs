//! Texts cut for a row: a row is written with every change and sent to everybody who looks on, and so stays small.
//!
//! Of a long text beginning and end are kept, and between them stands how much is left out, so that nothing can hide
//! behind what is shown. Whoever decides something reads it whole: the session itself, the inbox and the timeline have it.

use serde_json::Value;

use crate::approval::Subject;
use crate::info::{OpenApproval, OpenQuestion, QueuedPrompt};

/// How many characters of a waiting prompt a row has.
const PROMPT_CHARS: usize = 500;
/// How many characters of a text that asks something a row has.
const ASK_CHARS: usize = 4_000;
/// How many files of a change a row has.
const FILES: usize = 20;

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

pub(super) fn prompt(queued: &mut QueuedPrompt) {
    cut(&mut queued.text, PROMPT_CHARS);
}

pub(super) fn approval(open: &mut OpenApproval) {
    if let Some(reason) = &mut open.reason {
        cut(reason, ASK_CHARS);
    }
    match &mut open.request.subject {
        Subject::Command { command, .. } => cut(command, ASK_CHARS),
        Subject::Edit { changes, .. } => {
            let left_out = changes.len().saturating_sub(FILES);
            changes.truncate(FILES);
            let each = ASK_CHARS / changes.len().max(1);
            for change in changes.iter_mut() {
                cut(&mut change.diff, each);
            }
            if let Some(last) = changes.last_mut().filter(|_| left_out > 0) {
                last.diff.push_str(&format!("\n… {left_out} more files left out …\n"));
            }
        }
        Subject::Tool { input, .. } => cut_value(input),
        Subject::Plan { plan } => cut(plan, ASK_CHARS),
        Subject::Permissions { permissions } => cut_value(permissions),
    }
}

pub(super) fn question(open: &mut OpenQuestion) {
    if let Some(text) = &mut open.text {
        cut(text, ASK_CHARS);
    }
    for field in &mut open.request.fields {
        cut(&mut field.text, ASK_CHARS);
    }
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
