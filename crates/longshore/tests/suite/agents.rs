//! The real agents on the scripted model: what each needs to run without an account. `docs/agents-offline.md` tells the
//! same to people.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::rig::agent;

/// The environment in which all of them find the model, and nothing of whoever runs the tests.
pub(super) fn environment(folder: &Path, root: &str) -> Vec<(&'static str, String)> {
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    vec![
        ("LANG", "C.UTF-8".to_owned()),
        ("CLAUDE_PATH", path(agent("claude"))),
        ("CLAUDE_CODE_ACP_PATH", path(agent("claude-code-acp"))),
        ("CLAUDE_CONFIG_DIR", path(folder.join("claude"))),
        ("ANTHROPIC_BASE_URL", root.to_owned()),
        ("ANTHROPIC_API_KEY", "none".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("CODEX_ACP_PATH", path(agent("codex-acp"))),
        ("GEMINI_PATH", path(agent("gemini"))),
        ("GOOGLE_GEMINI_BASE_URL", root.to_owned()),
        ("GEMINI_API_KEY", "none".to_owned()),
        ("COPILOT_PATH", path(agent("copilot"))),
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{root}/v1")),
        ("COPILOT_PROVIDER_API_KEY", "none".to_owned()),
        ("COPILOT_MODEL", "scripted".to_owned()),
        ("OPENCODE_PATH", path(opencode())),
        ("OPENCODE_ACP_PATH", path(opencode())),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
        ("OPENCODE_CONFIG_CONTENT", opencode_config(root)),
    ]
}

/// The files that some of them want besides.
pub(super) fn set_up(folder: &Path, base: &str) {
    let gemini = folder.join("home/.gemini");
    std::fs::create_dir_all(&gemini).unwrap();
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false },
    });
    std::fs::write(gemini.join("settings.json"), settings.to_string()).unwrap();

    let codex_acp = format!(
        r#"model = "gpt-5.4"
model_provider = "scripted"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.scripted]
name = "Scripted"
base_url = "{base}"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
"#
    );
    std::fs::write(folder.join("codex-acp/config.toml"), codex_acp).unwrap();

    let longshore = format!(
        r#"[agents.gemini]
args = ["-m", "gemini-2.5-flash"]
[agents.codex-acp.env]
CODEX_HOME = {:?}
[agents.claude-socket]
driver = "claude"
command = ["node", {:?}]
transport = "socket"
"#,
        folder.join("codex-acp"),
        modules().join("@anthropic-ai/claude-agent-sdk/cli.js"),
    );
    std::fs::create_dir_all(folder.join("longshore")).unwrap();
    std::fs::write(folder.join("longshore/config.toml"), longshore).unwrap();
}

/// What npm laid down.
fn modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/node_modules")
}

/// OpenCode is laid down as the program itself, without a link.
fn opencode() -> PathBuf {
    modules().join("opencode-linux-x64-baseline/bin/opencode")
}

fn opencode_config(root: &str) -> String {
    let model =
        json!({ "tool_call": true, "reasoning": true, "limit": { "context": 100_000, "output": 8_000 } });
    json!({
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"],
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{root}/v1"), "apiKey": "none" },
            "models": { "scripted": model },
        } },
        "autoupdate": false,
        "share": "disabled",
        "permission": { "bash": "ask", "edit": "ask" },
    })
    .to_string()
}
