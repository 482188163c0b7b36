//! What sessions are in the words of mobile-agent. All of it is pure.
//!
//! | ours | theirs |
//! |---|---|
//! | a session | an agent: [`agents`] |
//! | the timeline | the messages of `agentHistory`: [`rows`] |
//! | a change of the timeline | `userMessage`, `streamChunk`, `assistantMessage`, `toolResults`, ...: [`changes`] |
//! | tool calls, diffs, plans, delegations | `tool_use` and `tool_result` blocks: [`cards`] |
//! | approvals and questions | permissions; a question is one for the tool `AskUserQuestion`: [`permissions`] |
//! | pictures | `imageData`: [`images`] |

mod agents;
mod cards;
mod changes;
mod images;
mod permissions;
mod rows;
#[cfg(test)]
mod whole_sessions;

pub(super) use agents::{ShownAgents, agent_of_type, snapshot};
pub(super) use changes::{frames_of, withdraws};
pub(super) use images::attachment_of;
pub(super) use permissions::{answers_of, open_permissions};
pub(super) use rows::{MissedEvents, ROWS, history};

/// How many bytes of a text a row may have; the app holds all rows in memory.
const TEXT: usize = 64 << 10;

/// A text of bounded length.
fn cut(text: &str) -> String {
    let shown = beginning(text, TEXT);
    match text.len() - shown.len() {
        0 => text.to_owned(),
        left => format!("{shown}\n… ({left} more bytes)"),
    }
}

/// The beginning of a text, at most so many bytes, and no letter cut in two.
fn beginning(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    text.get(..ends.into_iter().find(|end| text.is_char_boundary(*end)).unwrap_or_default())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(cut("short"), "short");
        let long = "ä".repeat(TEXT);
        let shown = cut(&long);
        assert!(
            shown.len() < TEXT + 100 && shown.ends_with(&format!("({TEXT} more bytes)")),
            "{}",
            shown.len()
        );
    }
}
