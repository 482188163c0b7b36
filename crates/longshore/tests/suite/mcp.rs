//! Servers of tools that a session, or the settings, give to whichever agent it is.

use longshore_model::id::Seq;
use longshore_model::info::SessionInfo;
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::{Rig, Talk, processes_with};

/// A server with a tool `write` that says `wrote`.
fn demo() -> Value {
    let server = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/mcp-server.mjs");
    json!({ "name": "demo", "command": "node", "args": [server.canonicalize().unwrap()] })
}

async fn open(rig: &Rig, agent: &str, servers: Value) -> Talk {
    let open = json!({ "agent": agent, "cwd": rig.work(), "mode": "full", "mcpServers": servers });
    let info: SessionInfo = rig.client().await.call("open", open).await.unwrap();
    rig.follow(info.session_id, Seq::ZERO).await
}

/// The agent's model calls the server's tool, and is told what it said.
async fn calls(agent: &str, call: Value) {
    let story = json!([
        { "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" },
        { "do": [call] },
        { "do": [{ "say": "Done." }] },
    ]);
    let rig = Rig::with(story).await;
    let mut talk = open(&rig, agent, json!([demo()])).await;
    let turn = talk.prompt("write it").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let tools = talk.tools();
    let wrote = |(output, status): &(String, Option<ToolStatus>)| {
        output.contains("wrote") && *status == Some(ToolStatus::Completed)
    };
    assert!(tools.iter().any(wrote), "{agent}: {tools:?}\n{}", talk.story());
}

/// All users of a machine read those.
#[tokio::test]
async fn keys_of_servers_are_on_no_command_line() {
    let key = "k3y-of-a-server";
    let mut server = demo();
    server["env"] = json!({ "KEY": key });
    let rig = Rig::with(json!([{ "do": [{ "say": "Hello." }], "repeat": "forever" }])).await;
    let mut talk = open(&rig, "claude", json!([server])).await;
    let turn = talk.prompt("hello").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let script = demo()["args"][0].as_str().unwrap().to_owned();
    assert!(!processes_with(script.as_ref()).is_empty(), "the server runs");
    assert_eq!(processes_with(key.as_ref()), [0; 0]);
}

macro_rules! calls {
    ($($name:ident: $agent:literal, $call:tt;)*) => {$(
        #[tokio::test]
        async fn $name() {
            calls($agent, json!($call)).await;
        }
    )*};
}

calls! {
    codex_calls_a_tool_of_the_session: "codex", { "call": "write", "namespace": "mcp__demo", "args": { "x": "1" } };
    codex_exec_calls_a_tool_of_the_session: "codex-exec", { "call": "write", "namespace": "mcp__demo", "args": { "x": "1" } };
    claude_calls_a_tool_of_the_session: "claude", { "call": "mcp__demo__write", "args": { "x": "1" } };
    opencode_calls_a_tool_of_the_session: "opencode", { "call": "demo_write", "args": { "x": "1" } };
    codex_acp_calls_a_tool_of_the_session: "codex-acp", { "call": "write", "namespace": "mcp__demo", "args": { "x": "1" } };
    claude_code_acp_calls_a_tool_of_the_session: "claude-code-acp", { "call": "mcp__demo__write", "args": { "x": "1" } };
    opencode_acp_calls_a_tool_of_the_session: "opencode-acp", { "call": "demo_write", "args": { "x": "1" } };
    gemini_calls_a_tool_of_the_session: "gemini", { "call": "mcp_demo_write", "args": { "x": "1" } };
}
