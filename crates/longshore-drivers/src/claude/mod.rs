//! Claude Code: the driver of `claude -p` with stream-json in both directions, over any transport that
//! carries lines.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | Claude Code's JSON, with its names |
//! | [`translate`] | the driver |
//! | `spec` | how Longshore finds and starts it |
//! | `offline` | how it runs on a scripted model |
//! | [`import`] | conversations from elsewhere, read from its transcripts |
//! | [`replay`] | replays a recorded client as a session of ours |
//!
//! One process is one conversation. Its command line names the conversation to resume, so [`arguments`] needs
//! the launch. Claude Code lets two processes resume one conversation at once. The anchor makes sure that a
//! session has only one process.

pub mod import;
pub(crate) mod offline;
pub mod replay;
pub(crate) mod spec;
pub mod translate;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::AgentName;
use longshore_model::mcp::{McpServer, McpTransport};
use serde_json::{Map, Value, json};

use crate::spec::SecretFile;

pub use offline::CALLS;
pub use spec::ClaudeSpec;
pub use translate::Claude;

/// The name of the agent for clients.
pub const NAME: &str = "claude";
/// The agent's name for people.
pub const TITLE: &str = "Claude Code";
/// The command that installs Claude Code.
pub const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";
/// The command that logs in to Claude Code.
pub const LOGIN: &str = "claude auth login";
/// The program that Longshore searches for after `CLAUDE_PATH` and the settings.
pub const PROGRAM: &str = "claude";

/// [`NAME`] in the form of events.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What Claude Code can do.
///
/// It supports steering. A prompt during a turn enters the turn at its next tool boundary. If there is none,
/// Claude Code answers right after the turn, and the hub counts that answer as the same turn.
pub fn capabilities() -> Capabilities {
    Capabilities {
        list_sessions: false,
        open_session: true,
        send_prompt: true,
        streaming: true,
        attachments: true,
        approvals: true,
        multi_turn: true,
        filtering: false,
        pagination: false,
        interrupt: true,
        steer: true,
        fork: true,
        modes: vec![Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full],
        models: true,
        effort: true,
        memory_in_log: false,
        own_record: true,
        custom: BTreeMap::new(),
    }
}

/// What a sub-agent can do: it works on its task, requests approvals, and can be stopped.
pub fn child_capabilities() -> Capabilities {
    Capabilities { approvals: true, interrupt: true, ..Capabilities::default() }
}

/// The arguments for stream-json, before the arguments of the settings. Without a launch, the process only
/// answers a query.
pub fn arguments(launch: Option<&Launch>) -> Vec<String> {
    let mut words = vec![
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        // Without this flag, Claude Code refuses stream-json.
        "--verbose",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "stdio",
        "--replay-user-messages",
    ];
    let mut own: Vec<String> = Vec::new();
    if let Some(launch) = launch {
        words.extend(["--permission-mode", translate::native_mode(launch.mode)]);
        let mut say = |words: &[&str]| own.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(model) = &launch.model {
            say(&["--model", model]);
        }
        let id = native_id(launch);
        match &launch.start {
            Start::New | Start::Told { .. } | Start::Lines { .. } => say(&["--session-id", &id]),
            Start::Resume { native } => say(&["--resume", native]),
            Start::Fork { native } => say(&["--resume", native, "--fork-session", "--session-id", &id]),
        }
    }
    words.into_iter().map(str::to_owned).chain(own).collect()
}

/// The settings that override a person's own settings. Otherwise, newer versions let a model decide the
/// permissions while they plan, and then ask nobody.
pub(crate) fn flag_settings(effort: Option<&str>) -> Value {
    let mut settings = json!({"useAutoModeDuringPlan": false});
    if let Some(effort) = effort {
        settings["effortLevel"] = json!(effort);
    }
    settings
}

/// The MCP servers in the form of `.mcp.json`, with their keys.
fn mcp_config(launch: &Launch) -> Option<SecretFile> {
    let of = |server: &McpServer| {
        let settings = match &server.transport {
            McpTransport::Stdio { command, args, env } => {
                json!({"command": command, "args": args, "env": env})
            }
            McpTransport::Http { url, headers } => json!({"type": "http", "url": url, "headers": headers}),
        };
        (server.name.clone(), settings)
    };
    let servers: Map<_, _> = launch.mcp_servers.iter().map(of).collect();
    let text = (!servers.is_empty()).then(|| json!({"mcpServers": servers}).to_string())?;
    Some(SecretFile { flag: "--mcp-config=", extension: "json", text })
}

/// Additional environment variables. Claude Code must not update itself while it works.
pub fn environment() -> Vec<(&'static str, &'static str)> {
    vec![("DISABLE_AUTOUPDATER", "1")]
}

/// The id of the conversation. The driver chooses it, so it is known before the first line.
///
/// If a conversation begins again from the log, it cannot keep its id. The new id is made from the session
/// and from the transcript, which is longer every time.
pub fn native_id(launch: &Launch) -> String {
    match &launch.start {
        Start::New | Start::Lines { .. } | Start::Fork { .. } => launch.session.to_string(),
        Start::Resume { native } => native.clone(),
        Start::Told { story } => {
            let session = launch.session.0.as_bytes();
            let high = fingerprint(0xcbf2_9ce4_8422_2325, &[session, story.as_bytes()]);
            let low = fingerprint(high, &[story.as_bytes(), session]);
            format!(
                "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                high >> 32,
                (high >> 16) & 0xffff,
                high & 0x0fff,
                low >> 52,
                low & 0xffff_ffff_ffff
            )
        }
    }
}

/// FNV-1a. It gives the same result in every process and every release.
fn fingerprint(seed: u64, parts: &[&[u8]]) -> u64 {
    parts
        .iter()
        .flat_map(|part| part.iter())
        .fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
