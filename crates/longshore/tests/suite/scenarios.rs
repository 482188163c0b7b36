//! Every pinned agent plays every scenario once, and does what its recording says. Some agents also play
//! behind a gateway, and with every API and every transport of Longshore.

use std::collections::BTreeMap;
use std::path::Path;

use longshore::scenario::scenarios;
use longshore_drivers::discover::AgentSettings;
use serde_json::{Value, json};

use super::agents;
use super::verify::VerbFolder;

/// How a test runs an agent, and what it expects.
struct PinnedAgent {
    name: &'static str,
    /// The agent whose recording is expected.
    compared_with: &'static str,
    /// The person's settings for the agent.
    settings: AgentSettings,
    /// Further arguments of `verify`.
    arguments: Vec<String>,
    /// The scenarios that the agent cannot play.
    left_out: &'static [&'static str],
}

fn built_in(name: &'static str) -> PinnedAgent {
    PinnedAgent {
        name,
        compared_with: name,
        settings: AgentSettings::default(),
        arguments: Vec::new(),
        left_out: &[],
    }
}

/// An agent of the settings with this driver.
fn of_settings(name: &'static str, driver: &str, compared_with: &'static str, words: &[&str]) -> PinnedAgent {
    let command = words.iter().map(|word| (*word).to_owned()).collect();
    let settings = AgentSettings { driver: Some(driver.to_owned()), command, ..AgentSettings::default() };
    PinnedAgent { settings, compared_with, ..built_in(name) }
}

/// The built-in agent on a model with this API.
fn react_on(name: &'static str, api: &str) -> PinnedAgent {
    let mut agent = of_settings(name, "react", "react", &[]);
    let more = [("api", api), ("base_url", "http://127.0.0.1:9/v1"), ("model", "scripted")];
    agent.settings.more = more.map(|(key, value)| (key.to_owned(), json!(value))).into();
    agent
}

fn behind_a_gateway(name: &'static str, api: &str) -> PinnedAgent {
    PinnedAgent { arguments: vec!["--gateway".to_owned(), api.to_owned()], ..built_in(name) }
}

/// The last Claude Code that calls back. It is older than the recorded version, so it has a recording of its
/// own.
fn claude_socket() -> PinnedAgent {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/claude-socket.json");
    let arguments = vec!["--expect".to_owned(), recorded.display().to_string()];
    PinnedAgent { settings: agents::calls_back(), arguments, ..built_in("claude-socket") }
}

/// Headless Codex, which asks nothing and reports only complete messages.
fn codex_exec() -> PinnedAgent {
    let left_out =
        &["streaming", "allowed", "denied", "edit", "change", "auto-edit", "stop-allowed", "cancel"];
    PinnedAgent { left_out, ..built_in("codex-exec") }
}

async fn plays_as_recorded(agent: PinnedAgent) {
    let desk = VerbFolder::new();
    if agent.settings != AgentSettings::default() {
        let settings = BTreeMap::from([("agents", BTreeMap::from([(agent.name, &agent.settings)]))]);
        desk.set_up(&toml::to_string(&settings).unwrap());
    }
    let words =
        ["verify", agent.name, "--json"].into_iter().chain(agent.arguments.iter().map(String::as_str));
    let told = desk.longshore(&words.collect::<Vec<_>>(), &[]).await;
    let said: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{}{}", told.out, told.err));
    assert_eq!((told.code, &said["ok"]), (Some(0), &json!(true)), "{said:#}");
    assert_eq!(said["compared_with"], agent.compared_with, "{said:#}");
    let played = said["scenarios"].as_array().unwrap();
    assert_eq!(played.len(), scenarios().len());
    let not_ok = played.iter().filter(|row| row["ok"] != true);
    let not_ok: Vec<&str> = not_ok.map(|row| row["scenario"].as_str().unwrap()).collect();
    assert_eq!(not_ok, agent.left_out, "{said:#}");
    // Three agents have no comparable version: the built-in agent has none of its own, Node runs an agent
    // that calls back, and a newer agent is compared with an older one.
    if agent.compared_with == agent.name && !["react", "claude-socket"].contains(&agent.name) {
        assert_eq!(said["recorded"], said["version"], "it is recorded with the version of the lockfile");
    }
    assert!(played.iter().all(|row| row["ok"].is_null() || row["compared"] == true), "{said:#}");
    assert!(desk.is_tidy());
}

/// Makes a test for each agent.
macro_rules! plays_as_recorded {
    ($($test:ident: $agent:expr;)*) => {$(
        #[tokio::test]
        async fn $test() {
            plays_as_recorded($agent).await;
        }
    )*};
}

/// A program of the lockfile.
fn program(name: &str) -> String {
    agents::agent(name).display().to_string()
}

plays_as_recorded! {
    codex: built_in("codex");
    codex_headless: codex_exec();
    codex_over_acp: PinnedAgent { left_out: &["plan", "plan-edit"], ..built_in("codex-acp") };
    codex_on_a_service_that_only_chats: behind_a_gateway("codex", "chat");
    codex_on_a_service_with_messages: behind_a_gateway("codex", "messages");
    claude: built_in("claude");
    claude_that_calls_back: claude_socket();
    a_newer_claude: of_settings("claude-next", "claude", "claude", &[&program("claude-next")]);
    claude_over_acp: built_in("claude-code-acp");
    a_newer_claude_over_acp: of_settings("mine", "acp", "claude-agent-acp", &[&program("claude-agent-acp")]);
    claude_on_a_service_that_only_chats: behind_a_gateway("claude", "chat");
    opencode: built_in("opencode");
    opencode_over_acp: built_in("opencode-acp");
    gemini: built_in("gemini");
    copilot: built_in("copilot");
    qwen: of_settings("qwen", "acp", "qwen", &[&program("qwen"), "--acp"]);
    the_built_in_agent_wherever_its_own_model_is: built_in("react");
    the_built_in_agent_on_responses: react_on("react-responses", "responses");
    the_built_in_agent_on_messages: react_on("react-messages", "messages");
    the_built_in_agent_behind_a_gateway: behind_a_gateway("react", "responses");
}
