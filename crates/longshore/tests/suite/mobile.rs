//! The app mobile-agent and the real Codex: paired by a verb, through a whole conversation, and after a power cut.

#[path = "../../../longshore-facades/tests/mobile/app.rs"]
mod app;
#[path = "../../../longshore-facades/tests/mobile/phone.rs"]
mod phone;

use std::net::SocketAddr;
use std::path::Path;

use longshore_model::id::SessionId;
use serde_json::{Value, json};

use self::app::App;
use self::phone::{Phone, PhoneKey};
use super::rig::Rig;

impl Rig {
    fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// What a verb prints.
    async fn said_by(&self, words: &[&str]) -> String {
        let output = self.longshore().args(words).output().await.unwrap();
        let (told, fault) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {told}{fault}");
        told.into_owned()
    }
}

fn git(folder: &Path, words: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=Ada", "-c", "user.email=a@example.org"]).args(words).current_dir(folder);
    assert!(git.status().unwrap().success(), "{words:?}");
}

fn run(command: &str) -> Value {
    json!({ "call": "exec_command", "args": { "cmd": command, "yield_time_ms": 30_000 } })
}

#[tokio::test]
async fn a_phone_goes_through_a_whole_conversation_and_a_power_cut() {
    let mut rig = Rig::with(json!([
        { "do": [run("touch made")] },
        { "do": [{ "say": "It is made.", "chunks": 4, "delay_ms": 5 }] },
        { "do": [run("sleep 600")] },
        { "do": [{ "say": "After all." }] },
    ]))
    .await;
    let work = rig.work();
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let shown = rig.said_by(&["pair", "--mobile"]).await;
    assert!(
        shown.contains("\"serverPublicKey\"") && shown.contains('\u{2588}'),
        "a picture and its text: {shown}"
    );
    let code: Value = serde_json::from_str(&rig.said_by(&["pair", "--mobile", "--json"]).await).unwrap();
    let project = work.to_str().unwrap().to_owned();
    rig.said_by(&["project", "add", "."]).await;
    assert_eq!(rig.said_by(&["project"]).await.trim(), project);

    let key = PhoneKey::new();
    let mut phone = Phone::come(rig.address(), &key.pairing(code["pairingToken"].as_str().unwrap())).await;
    let projects = phone.until("projectList").await["projects"].clone();
    assert_eq!(
        (&projects[0]["id"], &projects[0]["worktrees"][0]["branch"]),
        (&json!(project), &json!("main"))
    );
    let models = phone.ask(json!({ "type": "listModels", "agentType": "codex" }), "modelList").await;
    assert!(models["models"].as_array().unwrap().len() > 1, "{models}");
    phone.send(json!({ "type": "createAgent", "agentType": "codex", "projectId": project })).await;
    let agent = phone.until("agentCreated").await["agent"]["id"].as_str().unwrap().to_owned();
    let session: SessionId = agent.parse().unwrap();

    // It waits for the agent to start, and then for the approval.
    phone.send(json!({ "type": "sendMessage", "agentId": agent, "text": "make it" })).await;
    let asked = phone.until("permissionRequest").await;
    assert_eq!(asked["toolName"], "command_execution");
    assert!(asked["toolInput"]["command"].as_str().unwrap().contains("touch made"), "{asked}");
    phone
        .send(json!({ "type": "respondPermission", "agentId": agent, "requestId": asked["requestId"],
            "behavior": "allow", "updatedInput": asked["toolInput"] }))
        .await;
    let result = phone.until("agentResult").await;
    assert_eq!(result["isError"], false);
    assert!(work.join("made").exists());
    assert!(phone.heard.iter().any(|frame| frame["type"] == "streamChunk"), "it was streamed");
    let said = phone.said(session);
    assert_eq!(
        (said[0].as_str(), said.last().unwrap().as_str()),
        ("user: make it", "assistant: It is made.")
    );
    assert!(said.iter().any(|said| said == "tool: command_execution"), "{said:?}");
    assert_eq!(phone.app.agent(&agent).running(), 0);

    let status = phone.ask(json!({ "type": "getGitStatus", "agentId": agent }), "gitStatus").await;
    assert_eq!(
        (&status["branch"], &status["files"]),
        (&json!("main"), &json!([{ "file": "made", "status": "U" }]))
    );
    let log = phone.ask(json!({ "type": "getGitLog", "projectPath": project }), "gitLog").await;
    assert_eq!(log["commits"][0]["subject"], "first");
    let made = json!({ "type": "createWorktree", "projectId": project, "branchName": "boat" });
    let made = phone.ask(made, "worktreeCreated").await;
    assert!(work.join(".worktrees/boat/.git").exists() && made["worktree"]["branch"] == "boat", "{made}");

    // Without asking, until it is stopped.
    phone.send(json!({ "type": "setAutoApprove", "agentId": agent, "enabled": true })).await;
    phone.shows("the switch", |app| app.agent(&agent).snapshot["autoApprove"] == true).await;
    phone.send(json!({ "type": "sendMessage", "agentId": agent, "text": "sleep" })).await;
    phone.shows("it runs", |app| app.agent(&agent).running() == 1).await;
    phone.send(json!({ "type": "interruptAgent", "agentId": agent })).await;
    phone.until("agentResult").await;
    phone.settle().await;

    // The power fails; the app was only away, or is started anew.
    // A prompt is shown when the session has it, and stands in the history where it reached the agent.
    let mut before = phone.said(session);
    before.sort();
    let app = phone.app.clone();
    drop(phone);
    rig.kill().await;
    rig.start().await;
    for app in [app, App::default()] {
        let is_fresh = app.agents.is_empty();
        let mut back = Phone::come_back(rig.address(), &key.signed(0), app).await;
        back.until("agentHistory").await;
        back.settle().await;
        let mut said = back.said(session);
        said.retain(|said| !said.starts_with("system: "));
        said.sort();
        assert_eq!(said, before, "fresh: {is_fresh}");
        if is_fresh {
            back.send(json!({ "type": "sendMessage", "agentId": agent, "text": "go on" })).await;
            back.has_said(session, "assistant: After all.").await;
        }
    }
    let log = std::fs::read_to_string(rig.hub_log()).unwrap();
    assert!(!log.contains(code["pairingToken"].as_str().unwrap()) && !log.contains(&key.public()));
}
