//! A line of a transcript, and the message in it.

use longshore_model::command::{Attachment, AttachmentSource};
use serde::Deserialize;
use serde_json::Value;

use crate::claude::translate::tools::text_of;
use crate::claude::wire::Tokens;

/// The transcript's text for a stopped turn. Sometimes words about a tool follow.
pub(super) const INTERRUPTED: &str = "[Request interrupted by user";
/// How texts begin that Claude Code writes as if a person had sent them.
const OF_PROGRAM: [&str; 3] = ["<local-command-", "<bash-", "<system-reminder>"];
/// How a command begins that Claude Code itself answers. A command for the model begins with its message.
const LOCAL_COMMAND: &str = "<command-name>";
/// Claude Code's own answer instead of the model's. It writes this when it continues after a prompt without
/// an answer.
const NO_ANSWER: &str = "No response requested.";

/// A line, with the fields of all kinds that the reader knows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TranscriptLine {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) subtype: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) parent_uuid: Option<String>,
    pub(super) timestamp: String,
    pub(super) cwd: Option<String>,
    pub(super) git_branch: Option<String>,
    pub(super) is_sidechain: bool,
    pub(super) is_meta: bool,
    pub(super) is_compact_summary: bool,
    pub(super) is_api_error_message: bool,
    pub(super) agent_id: Option<String>,
    pub(super) origin: Value,
    pub(super) message: Option<TranscriptMessage>,
    pub(super) tool_use_result: Value,
    pub(super) attachment: Value,
    pub(super) custom_title: Option<String>,
    pub(super) ai_title: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TranscriptMessage {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) content: Value,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<Tokens>,
}

impl TranscriptMessage {
    /// Whether Claude Code wrote the message itself, because the model had nothing to say.
    pub(super) fn is_no_answer(&self) -> bool {
        self.model.as_deref().is_some_and(of_program) && text_of(&self.content) == NO_ANSWER
    }

    /// The model that wrote the message.
    pub(super) fn model(&self) -> Option<&String> {
        self.model.as_ref().filter(|model| !of_program(model))
    }
}

impl TranscriptLine {
    /// The prompt of a person, if the line contains one.
    pub(super) fn prompt(&self) -> Option<String> {
        let message = self.message.as_ref().filter(|_| self.kind == "user" && !self.is_meta)?;
        let text = text_of(&message.content);
        let of_program = OF_PROGRAM.iter().any(|tag| text.starts_with(tag));
        let said = !of_program
            && !self.is_compact_summary
            && !self.is_notification(&text)
            && !text.starts_with(INTERRUPTED)
            && !has(&message.content, "tool_result");
        said.then(|| typed(&text)).filter(|text| !text.is_empty() || has(&message.content, "image"))
    }

    /// Whether the line is a command that Claude Code answers without the model. Perhaps nobody typed it:
    /// Claude Code also records a change of the model as `/model`.
    pub(super) fn is_local_command(&self) -> bool {
        self.message.as_ref().is_some_and(|message| text_of(&message.content).starts_with(LOCAL_COMMAND))
    }

    /// Whether Claude Code tells the model about background work. That begins a turn.
    pub(super) fn is_notification(&self, text: &str) -> bool {
        self.origin["kind"] == "task-notification" || text.starts_with("<task-notification>")
    }
}

/// A slash command as a person typed it. The transcript has it in tags.
pub(super) fn typed(text: &str) -> String {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
    };
    match inside("command-name") {
        Some(name) if text.starts_with("<command-") => {
            let name = name.trim_start_matches('/');
            format!("/{name} {}", inside("command-args").unwrap_or_default()).trim_end().to_owned()
        }
        Some(_) | None => text.to_owned(),
    }
}

fn has(content: &Value, kind: &str) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] == kind))
}

pub(super) fn images_of(content: &Value) -> Vec<Attachment> {
    let image = |part: &Value| {
        let source = &part["source"];
        let data = source["data"].as_str().map(|data| AttachmentSource::Data(data.to_owned()));
        let url = || source["url"].as_str().map(|url| AttachmentSource::Url(url.to_owned()));
        let media_type = source["media_type"].as_str().unwrap_or("image/*").to_owned();
        Some(Attachment { name: None, media_type, source: data.or_else(url)? })
    };
    let parts = content.as_array().into_iter().flatten().filter(|part| part["type"] == "image");
    parts.filter_map(image).collect()
}

/// Whether Claude Code itself wrote the message, instead of a model.
fn of_program(model: &str) -> bool {
    model.starts_with('<')
}
