//! A real llama.cpp server with a tiny model, under the built-in agent and, through the gateway, under real agents: with a
//! template that takes anything, with one that wants speakers to take turns, and with one that knows tools besides.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::rig::{Rig, WITHIN};

/// All that the model says, whatever it is told. With `tools.jinja` it lists a folder first.
const SAYS: &str = "All is well.";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/llama")
}

/// A server that ends with the test.
struct Llama {
    root: String,
    _process: Child,
}

impl Llama {
    async fn start(template: Option<&str>) -> Self {
        let installed = folder().join("installed");
        let (python, model) = (installed.join("bin/python"), installed.join("model.gguf"));
        assert!(
            python.exists() && model.exists(),
            "llama.cpp is not there: run `make llama`, which installs tests/llama/requirements.txt (`make test` does)"
        );
        let mut process = Command::new(python)
            .arg(folder().join("server.py"))
            .arg(model)
            .args(template.map(|name| folder().join(name)))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(WITHIN, lines.next_line()).await.expect("llama.cpp does not start");
        let said: Value = serde_json::from_str(&line.unwrap().expect("llama.cpp ended")).unwrap();
        Self { root: said["url"].as_str().unwrap().to_owned(), _process: process }
    }
}

/// The built-in agent on every API of the server, told where it is and nothing else.
async fn built_in(llama: &Llama) -> Rig {
    let mut rig = Rig::with(json!([])).await;
    let agent = |api: &str| {
        let root = &llama.root;
        format!(
            "[agents.llama-{api}]\ndriver = \"react\"\nbase_url = \"{root}/v1\"\napi = \"{api}\"\nmax_retries = 1\n"
        )
    };
    rig.start_with(&["chat", "responses", "messages"].map(agent).join("\n")).await;
    rig
}

async fn says(rig: &Rig, agent: &str, prompts: &[&str]) {
    let mut talk = rig.open_with(agent, "full").await;
    for prompt in prompts {
        let turn = talk.prompt(prompt).await;
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{agent}: {}", talk.story());
        assert_eq!(talk.messages().last().map(|text| text.trim()), Some(SAYS), "{agent}: {}", talk.story());
    }
}

#[tokio::test]
async fn the_built_in_agent_finds_the_model_and_speaks_with_it_in_every_api() {
    let llama = Llama::start(None).await;
    let rig = built_in(&llama).await;
    let models: Value = rig.client().await.call("models", json!({ "agent": "llama-chat" })).await.unwrap();
    assert!(models.to_string().contains("model.gguf"), "{models}");
    for api in ["chat", "responses", "messages"] {
        says(&rig, &format!("llama-{api}"), &["hello", "and?"]).await;
    }
}

#[tokio::test]
async fn the_built_in_agent_takes_turns_where_the_template_wants_it() {
    let llama = Llama::start(Some("strict.jinja")).await;
    let rig = built_in(&llama).await;
    for api in ["chat", "responses", "messages"] {
        says(&rig, &format!("llama-{api}"), &["hello", "/compact", "and?"]).await;
    }
}

#[tokio::test]
async fn the_built_in_agent_does_what_the_model_calls_in_every_api() {
    let llama = Llama::start(Some("tools.jinja")).await;
    let rig = built_in(&llama).await;
    std::fs::write(rig.work().join("heron.txt"), "").unwrap();
    for api in ["chat", "responses", "messages"] {
        let mut talk = rig.open_with(&format!("llama-{api}"), "ask").await;
        for prompt in ["look", "once more"] {
            let turn = talk.prompt(prompt).await;
            assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{api}: {}", talk.story());
            assert_eq!(talk.messages().last().map(|text| text.trim()), Some(SAYS), "{api}: {}", talk.story());
        }
        let tools = talk.tools();
        let listed = |(text, status): &(String, Option<ToolStatus>)| {
            text.contains("heron.txt") && *status == Some(ToolStatus::Completed)
        };
        assert!(tools.len() == 2 && tools.iter().all(listed), "{api}: {tools:?}");
    }
}

async fn under_real_agents(template: Option<&str>) {
    let llama = Llama::start(template).await;
    let rig = Rig::on_service(&llama.root, "chat").await;
    for agent in ["codex", "claude"] {
        says(&rig, agent, &["hello", "and?"]).await;
    }
}

#[tokio::test]
async fn codex_and_claude_run_on_it_through_the_gateway() {
    under_real_agents(None).await;
}

#[tokio::test]
async fn codex_and_claude_take_turns_where_the_template_wants_it() {
    under_real_agents(Some("strict.jinja")).await;
}
