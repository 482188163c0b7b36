//! Remarks about everything else: waits, retries and background work.

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::ItemId;
use serde_json::Value;

use super::conversation::MAIN;
use super::{Claude, WireError};
use crate::claude::wire::{Line, System};
use crate::kit::Scribe;

impl Claude {
    pub(super) fn system(
        &mut self,
        line: &Line<'_>,
        text: &str,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        // This line only says that Claude asked its model. It comes before every answer.
        let said: System = serde_json::from_str(text)?;
        let (level, text) = match line.subtype.as_ref() {
            "init" => {
                self.introduced(line, said, scribe);
                return Ok(());
            }
            "status" => {
                if let Some(mode) = &said.permission_mode {
                    self.mode_told(mode, scribe);
                }
                match (said.status.as_deref(), said.compact_result.as_deref()) {
                    (Some("compacting"), _) => {
                        (NoticeLevel::Info, "Claude Code compacts the conversation.".to_owned())
                    }
                    (_, Some("failed")) => {
                        let why = said.compact_error.unwrap_or_default();
                        (NoticeLevel::Warning, format!("The conversation was not compacted: {why}"))
                    }
                    _ => return Ok(()),
                }
            }
            "compact_boundary" => {
                (NoticeLevel::Info, "Claude Code compacted the conversation to make room.".to_owned())
            }
            "api_retry" => {
                self.retries(&said, scribe);
                return Ok(());
            }
            "model_refusal_no_fallback" => {
                let why = said.api_refusal_explanation.unwrap_or_default();
                (NoticeLevel::Warning, format!("The model refused to answer. {why}").trim_end().to_owned())
            }
            "permission_denied" => {
                if let Some(tool) = self.tools.get_mut(&said.tool_use_id) {
                    tool.denied = true;
                }
                return Ok(());
            }
            "task_started" => {
                self.task_started(&said, scribe);
                return Ok(());
            }
            "task_notification" => {
                self.task_ended(&said, scribe);
                return Ok(());
            }
            "informational" | "notification" => match said.content.as_str().or(said.message.as_str()) {
                Some(text) if !text.is_empty() => (NoticeLevel::Info, text.to_owned()),
                Some(_) | None => return Ok(()),
            },
            _ => return Ok(()),
        };
        self.notice(MAIN, level, text, scribe);
        Ok(())
    }
}

impl Claude {
    /// One notice for all attempts of one request: the newest attempt replaces the previous one.
    fn retries(&mut self, said: &System, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get(MAIN) else { return };
        let begins = said.attempt.is_none_or(|attempt| attempt <= 1);
        let known = self.running.as_ref().and_then(|running| running.retrying).filter(|_| !begins);
        let item = known.unwrap_or_else(|| ItemId::mint(&mut scribe.cx));
        if let Some(running) = &mut self.running {
            running.retrying = Some(item);
        }
        let draft =
            Draft::new(Body::Notice { level: NoticeLevel::Warning }).turn(conversation.turn).item(item);
        scribe.quote(conversation.session, draft.text(retry_text(said)));
    }
}

/// The text for people about a failed attempt. The turn has no deadline: Claude may try for minutes.
fn retry_text(said: &System) -> String {
    let word = match &said.error {
        Value::String(word) => word.replace('_', " "),
        Value::Null => "unknown".to_owned(),
        other => other.to_string(),
    };
    let what = match said.error_status {
        Some(status) => format!("The model's service answered {status} ({word})"),
        None => "The model's service cannot be reached".to_owned(),
    };
    let attempt = match (said.attempt, said.max_retries) {
        (Some(attempt), Some(of)) => format!("; retry {attempt} of {of}"),
        _ => "; retrying".to_owned(),
    };
    let when = match said.retry_delay_ms {
        Some(delay) if delay.is_finite() && delay >= 0.0 => format!(" in {:.1} s", delay / 1_000.0),
        Some(_) | None => String::new(),
    };
    format!("{what}{attempt}{when}.")
}
