//! Servers of tools that a session, or the settings, give to whichever agent it is.

use longshore_model::event::{Body, Event};
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

/// A call that never ends is given up after the time that the settings say: for all servers, or for one.
#[tokio::test]
async fn the_built_in_agent_waits_for_servers_as_long_as_the_settings_say() {
    let never = json!({ "call": "everything__trigger-long-running-operation", "args": { "duration": 600, "steps": 1 } });
    let story = json!([
        { "do": [never] }, { "do": [{ "say": "Done." }] }, { "do": [never] }, { "do": [{ "say": "Done." }] },
    ]);
    let mut rig = Rig::with(story).await;
    let base = format!("driver = \"react\"\nbase_url = \"{}/v1\"\nmodel = \"m\"", rig.root());
    rig.start_with(&format!(
        "[agents.hasty]\n{base}\nmcp_timeout_s = 1\n[agents.choosy]\n{base}\nmcp_timeouts_s = {{ everything = 0 }}\n"
    ))
    .await;
    let server = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/agents/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let everything = json!({ "name": "everything", "command": "node", "args": [server, "stdio"] });
    for agent in ["hasty", "choosy"] {
        let mut talk = open(&rig, agent, json!([everything])).await;
        let turn = talk.prompt("go").await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
        let (said, status) = talk.tools().remove(0);
        assert_eq!(status, Some(ToolStatus::Failed), "{agent}: {said}");
        assert!(said.contains("said nothing for 1 s"), "{agent}: {said}");
    }
}

/// Longer than a session waits for its servers.
#[tokio::test]
async fn a_server_that_comes_late_is_told_and_its_tools_are_offered() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "demo__write", "args": { "x": "1" } }] },
        { "do": [{ "say": "Done." }] },
    ]))
    .await;
    let program = demo()["args"][0].as_str().unwrap().to_owned();
    let line = format!("while ! test -e go; do sleep 0.05; done; exec node {program}");
    let late = json!({ "name": "demo", "command": "sh", "args": ["-c", line] });
    let mut talk = open(&rig, "react", json!([late])).await;
    let notice = |words: &'static str| {
        move |event: &Event| matches!(event.body, Body::Notice { .. }) && event.text().contains(words)
    };
    talk.until_event("it starts", notice("`demo` is still starting")).await;
    std::fs::write(rig.work().join("go"), "").unwrap();
    talk.until_event("it is ready", notice("`demo` is ready, and its tools are there")).await;
    let turn = talk.prompt("write it").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(talk.tools()[0].0.contains("wrote"), "{}", talk.story());
    let offered = rig.model.requests().requests[0].body["tools"].to_string();
    assert!(offered.contains("\"demo__write\""), "{offered}");
}
