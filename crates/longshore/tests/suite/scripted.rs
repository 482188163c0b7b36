//! Agents in tests that script the model by hand: their names in the settings, and how a model makes each
//! agent do things. The tests with all agents are the scenarios, in `scenarios.rs`.

use longshore_drivers as drivers;
use longshore_drivers::offline::ScriptedCalls;
use serde_json::{Value, json};

/// An agent that a test scripts.
pub(super) struct ScriptedAgent {
    pub(super) name: &'static str,
    /// Run a command.
    pub(super) run: fn(&str) -> Value,
    /// Make a file with this path and this line.
    pub(super) write: fn(&str, &str) -> Value,
}

const fn agent(name: &'static str, calls: ScriptedCalls) -> ScriptedAgent {
    ScriptedAgent { name, run: calls.run, write: calls.write }
}

pub(super) const CODEX: ScriptedAgent = agent("codex", drivers::codex::CALLS);
pub(super) const CLAUDE: ScriptedAgent = agent("claude", drivers::claude::CALLS);
pub(super) const OPENCODE: ScriptedAgent = agent("opencode", drivers::opencode::CALLS);
pub(super) const REACT: ScriptedAgent = agent("react", drivers::react::CALLS);

/// A Claude Code that is newer than the recorded version, as an agent of the settings.
pub(super) const CLAUDE_NEXT: ScriptedAgent = agent("claude-next", drivers::claude::CALLS);
/// Claude Code behind two adapters that speak ACP.
pub(super) const CLAUDE_CODE_ACP: ScriptedAgent = agent("claude-code-acp", drivers::claude::CALLS);
pub(super) const CLAUDE_AGENT_ACP: ScriptedAgent = agent("claude-agent-acp", drivers::claude::CALLS);

pub(super) const QWEN: ScriptedAgent = ScriptedAgent {
    name: "qwen",
    run: |command| json!({ "call": "run_shell_command", "args": { "command": command, "description": "do it", "is_background": false } }),
    write: drivers::acp::GEMINI_CALLS.write,
};

/// The steps of a script, preceded by an answer for requests beside the turns, for example for a title or a
/// summary. Such a request must not use up a step of the story.
pub(super) fn steps(story: Value) -> Value {
    let mut all =
        vec![json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })];
    all.extend(story.as_array().unwrap().iter().cloned());
    json!(all)
}
