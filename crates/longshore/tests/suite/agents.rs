//! The real agents, where `npm ci` laid them down, on the scripted model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use longshore_drivers::discover::{AgentSettings, Transport};
use longshore_drivers::offline::{Offline, OfflinePlace};
use longshore_drivers::table;
use serde_json::json;

/// Where npm lays them down.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/node_modules")
}

/// A real agent, as `npm ci` laid it down.
pub(crate) fn agent(name: &str) -> PathBuf {
    let path = match name {
        // It is laid down as the program itself, without a link.
        "opencode" => modules().join("opencode-linux-x64-baseline/bin/opencode"),
        // Two versions of it lie side by side; the link is of whichever came last.
        "claude" => modules().join("@anthropic-ai/claude-code/bin/claude.exe"),
        "claude-next" => modules().join("claude-code-next/bin/claude.exe"),
        name => modules().join(".bin").join(name),
    };
    assert!(path.exists(), "{name} is not there: run `npm ci --prefix tests/agents` (`make test` does)");
    path
}

/// The variables with which all of them are found, here and not elsewhere.
pub(crate) fn places() -> Vec<(&'static str, PathBuf)> {
    vec![
        ("CODEX_PATH", agent("codex")),
        ("CLAUDE_PATH", agent("claude")),
        ("CLAUDE_CODE_ACP_PATH", agent("claude-code-acp")),
        ("CODEX_ACP_PATH", agent("codex-acp")),
        ("GEMINI_PATH", agent("gemini")),
        ("COPILOT_PATH", agent("copilot")),
        ("OPENCODE_PATH", agent("opencode")),
        ("OPENCODE_ACP_PATH", agent("opencode")),
    ]
}

/// The last Claude Code that calls back where it is told to.
pub(super) fn calls_back() -> AgentSettings {
    let program = modules().join("@anthropic-ai/claude-agent-sdk/cli.js").display().to_string();
    AgentSettings {
        driver: Some("claude".to_owned()),
        command: vec!["node".to_owned(), program],
        transport: Transport::Socket,
        ..AgentSettings::default()
    }
}

/// Agents that nothing is known of but what the settings say: a Claude Code that is newer than the one that was recorded,
/// and two that speak ACP.
fn named_by_settings(root: &str) -> Vec<(String, AgentSettings)> {
    let of = |name: &str, driver: &str, program: &str, more: &[&str], env: &[(&str, &str)]| {
        let command = [agent(program).display().to_string()].into_iter();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let settings = AgentSettings {
            driver: Some(driver.to_owned()),
            command: command.chain(more.iter().map(|word| (*word).to_owned())).collect(),
            env: env.iter().map(pair).collect(),
            ..AgentSettings::default()
        };
        (name.to_owned(), settings)
    };
    let url = format!("{root}/v1");
    let qwen = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "none"), ("OPENAI_MODEL", "scripted")];
    vec![
        of("claude-next", "claude", "claude-next", &[], &[]),
        of("claude-agent-acp", "acp", "claude-agent-acp", &[], &[]),
        of("qwen", "acp", "qwen", &["--acp"], &qwen),
    ]
}

/// The built-in agent on every API of the model, and once more on each with a window that is soon full.
fn built_in_on_every_api(root: &str) -> Vec<(String, AgentSettings)> {
    let apis = [("react", "chat"), ("react-responses", "responses"), ("react-messages", "messages")];
    let of = |(name, api): (&str, &str), suffix: &str, window: u64| {
        let more = json!({
            "api": api, "base_url": format!("{root}/v1"), "model": "scripted", "retry_ms": 10, "context_window": window,
        });
        let more = more.as_object().unwrap().clone().into_iter().collect();
        let driver = Some("react".to_owned());
        (format!("{name}{suffix}"), AgentSettings { driver, more, ..AgentSettings::default() })
    };
    apis.into_iter().flat_map(|api| [of(api, "", 128_000), of(api, "-small", 3_000)]).collect()
}

/// What they need to run without an account, by name.
fn offline(folder: &Path, root: &str) -> Vec<(String, Offline)> {
    let place = OfflinePlace { folder, model: root };
    // The built-in agent is set up in more than one way below.
    let known = table::built_in().into_iter().filter(|agent| agent.name() != "react");
    known.filter_map(|agent| Some((agent.name().to_owned(), agent.offline(place)?))).collect()
}

/// The environment in which all of them find the model, and nothing of whoever runs the tests; and for those that need
/// it otherwise than another one, what is theirs alone.
fn divided(folder: &Path, root: &str) -> (BTreeMap<String, String>, BTreeMap<String, AgentSettings>) {
    let mut all: BTreeMap<String, String> = [("LANG".to_owned(), "C.UTF-8".to_owned())].into();
    let mut settings = BTreeMap::new();
    for (name, offline) in offline(folder, root) {
        let mut own = AgentSettings { args: offline.arguments, ..AgentSettings::default() };
        for (variable, value) in offline.env {
            if all.entry(variable.clone()).or_insert_with(|| value.clone()) != &value {
                own.env.insert(variable, value);
            }
        }
        if own != AgentSettings::default() {
            settings.insert(name, own);
        }
    }
    (all, settings)
}

pub(super) fn environment(folder: &Path, root: &str) -> BTreeMap<String, String> {
    divided(folder, root).0
}

/// The files that some of them want besides, and the settings of the hub.
pub(super) fn set_up(folder: &Path, root: &str) {
    for (_, offline) in offline(folder, root) {
        for (path, text) in offline.files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    let mut agents = divided(folder, root).1;
    agents.insert("claude-socket".to_owned(), calls_back());
    agents.extend(built_in_on_every_api(root));
    agents.extend(named_by_settings(root));
    let settings = BTreeMap::from([("agents", agents)]);
    std::fs::create_dir_all(folder.join("longshore")).unwrap();
    std::fs::write(folder.join("longshore/config.toml"), toml::to_string(&settings).unwrap()).unwrap();
}
