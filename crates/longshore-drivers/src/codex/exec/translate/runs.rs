//! How a process is started for a prompt.

use std::collections::BTreeMap;

use longshore_model::anchor::Start;
use longshore_model::capability::Mode;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::driver::{Run, RunFile};
use longshore_model::event::NoticeLevel;
use longshore_model::id::TurnId;
use longshore_model::mcp::{McpServer, McpTransport};

use super::ExecConversation;
use super::turns::ExecRun;
use crate::kit::Scribe;

/// The text of a prompt that has only images. Without text, Codex would not start a turn.
const NO_WORDS: &str = "(see what is attached)";

/// The flag for an image.
const IMAGE: &str = "--image=";

/// A prompt of the session.
#[derive(Debug)]
pub(super) struct ExecPrompt {
    /// The turn that the prompt begins.
    pub(super) turn: TurnId,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

impl ExecConversation {
    /// Starts a process for a prompt, once the process before it has ended.
    pub(super) fn prompt(&mut self, said: ExecPrompt, scribe: &mut Scribe<'_>) {
        if self.running.is_some() {
            self.next = Some(said);
            return;
        }
        let ExecPrompt { turn, text, attachments } = said;
        self.running = Some(ExecRun::new(turn, self.used.take()));
        let mut words = Vec::new();
        if let Start::Told { story } = &self.launch.start {
            words.push(story.clone());
        }
        if !text.trim().is_empty() {
            words.push(text);
        }
        let mut arguments = vec!["-s".to_owned(), sandbox(self.launch.mode).to_owned()];
        if let Some(model) = &self.launch.model {
            arguments.extend(["-m".to_owned(), model.clone()]);
        }
        let mut env = BTreeMap::new();
        for server in &self.launch.mcp_servers {
            arguments.extend(["-c".to_owned(), setting(server, &mut env)]);
        }
        let mut run = Run { arguments, env, ..Run::default() };
        for attachment in attachments {
            self.attach(attachment, &mut run, &mut words, scribe);
        }
        match &self.launch.start {
            Start::Resume { native } => run.arguments.extend(["resume".to_owned(), native.clone()]),
            Start::Fork { native } => run.arguments.extend(["fork".to_owned(), native.clone()]),
            Start::New | Start::Told { .. } | Start::Lines { .. } => {}
        }
        run.arguments.push("-".to_owned());
        run.input = if words.is_empty() { NO_WORDS.to_owned() } else { words.join("\n\n") };
        scribe.out.run = Some(run);
    }

    /// Adds an attachment. Images go onto the command line. Other local files and addresses go into the text.
    fn attach(
        &self,
        attachment: Attachment,
        run: &mut Run,
        words: &mut Vec<String>,
        scribe: &mut Scribe<'_>,
    ) {
        let Attachment { name, media_type, source } = attachment;
        let image = media_type.strip_prefix("image/");
        match (source, image) {
            // Codex splits this argument at a comma.
            (AttachmentSource::Path(path), Some(_)) if !path.contains(',') => {
                run.arguments.push(format!("{IMAGE}{path}"));
            }
            (AttachmentSource::Data(data), Some(kind)) => {
                run.files.push(RunFile { flag: IMAGE.to_owned(), extension: kind.to_owned(), data });
            }
            (AttachmentSource::Path(path) | AttachmentSource::Url(path), _) => {
                words.push(format!("Attached: {path}"));
            }
            (AttachmentSource::Data(_), None) => {
                let name = name.unwrap_or(media_type);
                let text =
                    format!("Codex takes images and files of its own machine; {name} was not passed on.");
                self.notice(NoticeLevel::Warning, text, scribe);
            }
        }
    }
}

/// An MCP server, as a line of `config.toml`. The line sets only the server's own path in the settings, so
/// that the person's own servers stay. The values of its headers are in environment variables, because all
/// users of the machine can see the line. For the environment of a program, Codex has no such way.
fn setting(server: &McpServer, variables: &mut BTreeMap<String, String>) -> String {
    let fields = match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let args = args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(", ");
            format!("command = {}, args = [{args}], env = {}", quoted(command), table(env))
        }
        McpTransport::Http { url, headers } => {
            let mut variable = |(header, value): (&String, &String)| {
                let name = format!("MCP_HEADER_KEY_{}", variables.len());
                variables.insert(name.clone(), value.clone());
                (header.clone(), name)
            };
            let named = headers.iter().map(&mut variable).collect();
            format!("url = {}, env_http_headers = {}", quoted(url), table(&named))
        }
    };
    format!("mcp_servers.{}={{ {fields} }}", server.name)
}

fn table(values: &BTreeMap<String, String>) -> String {
    let pairs = values.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value)));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

/// A text in quotes. TOML reads these as JSON does.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The sandbox for a mode, in a Codex that never requests an approval.
fn sandbox(mode: Mode) -> &'static str {
    match mode {
        // The driver opens no session in the mode `ask`. If it did, nothing would be allowed without an
        // approval.
        Mode::Plan | Mode::Ask => "read-only",
        Mode::AutoEdit => "workspace-write",
        Mode::Full => "danger-full-access",
    }
}
