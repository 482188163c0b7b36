//! Claude Code: the driver of `claude -p` with stream-json both ways, over any transport that carries lines.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | their JSON with their names |
//! | [`translate`] | the driver |
//! | `spec` | how to find and start it |
//! | `offline` | how it runs on a scripted model |
//! | [`import`] | conversations from elsewhere, read from its transcripts |
//! | [`replay`] | replays a recorded client as a session of ours |
//!
//! One process is one conversation, and its command line says what to resume, so [`arguments`] needs the launch. Claude
//! Code lets two processes resume one conversation at once; the anchor makes sure that a session has only one process.

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

/// What clients call it.
pub const NAME: &str = "claude";
/// Its name for people.
pub const TITLE: &str = "Claude Code";
/// The command that installs it.
pub const INSTALL: &str = "npm install -g @anthropic-ai/claude-code";
/// The command that logs in to it.
pub const LOGIN: &str = "claude auth login";
/// The program to look for, after `CLAUDE_PATH` and the settings, where programs are.
pub const PROGRAM: &str = "claude";

/// [`NAME`], as events carry it.
pub fn name() -> AgentName {
    Arc::from(NAME)
}

/// What Claude Code can do.
///
/// It steers: a message during a turn enters the turn at its next tool boundary. If there is none, Claude
/// Code answers right after, and the hub counts that answer as the same turn.
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

/// What a sub-agent can do: it works on its task, asks, and can be stopped.
pub fn child_capabilities() -> Capabilities {
    Capabilities { approvals: true, interrupt: true, ..Capabilities::default() }
}

/// The arguments for stream-json, before those of the settings; without a launch, only for a query.
pub fn arguments(launch: Option<&Launch>) -> Vec<String> {
    let mut words = vec![
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        // Without it stream-json is refused.
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

/// What it is to heed above a person's own settings: newer ones let a model decide what may be done while they plan, and
/// then ask nobody.
pub(crate) fn flag_settings(effort: Option<&str>) -> Value {
    let mut settings = json!({"useAutoModeDuringPlan": false});
    if let Some(effort) = effort {
        settings["effortLevel"] = json!(effort);
    }
    settings
}

/// Servers of tools, as a `.mcp.json` has them, with their keys.
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

/// What its environment has beyond ours: it must not replace itself while it works.
pub fn environment() -> Vec<(&'static str, &'static str)> {
    vec![("DISABLE_AUTOUPDATER", "1")]
}

/// The name of the conversation. We choose it, so it is known before the first line.
///
/// A conversation that begins again from our log cannot keep its name, so the new name is made of the session
/// and of the transcript, which is longer every time.
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

/// FNV-1a: the same in every process and every release.
fn fingerprint(seed: u64, parts: &[&[u8]]) -> u64 {
    parts
        .iter()
        .flat_map(|part| part.iter())
        .fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
