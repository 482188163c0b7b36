//! What recorded agents said, as a client of the chunks protocol gets it: of every agent, turn by turn.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use longshore_drivers::capture::{Capture, ReplayStep, replay};
use longshore_facades::auth::{Owner, Token};
use longshore_facades::guard::HostNames;
use longshore_facades::mobile::ServerKey;
use longshore_facades::push::{Outlet, Vapid};
use longshore_facades::{App, Setup, Storage, serve};
use longshore_log::MemoryLog;
use longshore_model::anchor::{Answer, FromAnchor, Machine, Query, ToAnchor};
use longshore_model::capability::{AgentInfo, Capabilities};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::timeline::Content;
use longshore_session::{Hub, OpenRequest, WithRaw};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::rig::{TOKEN, WITHIN};

fn captures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            found.push(path);
        }
    }
}

fn agent() -> AgentInfo {
    AgentInfo {
        name: "codex".into(),
        title: "Codex".to_owned(),
        path: Some("/bin/codex".to_owned()),
        version: None,
        install: String::new(),
        login: None,
        logged_in: None,
        resume: None,
        remark: None,
        verified: None,
        capabilities: Capabilities::default(),
        models: Vec::new(),
    }
}

/// A hub whose agents say what the test says, and the address of its server.
async fn hub() -> (Hub, String) {
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    let (to_anchor, mut from_hub) = mpsc::channel(256);
    hub.attach(to_anchor);
    let answers = hub.clone();
    tokio::spawn(async move {
        while let Some(message) = from_hub.recv().await {
            if let ToAnchor::Ask { id, query } = message {
                let answer = match query {
                    Query::Agents(_) => {
                        Ok(Answer::Agents(Machine { name: "here".to_owned(), agents: vec![agent()] }))
                    }
                    Query::WorkTree(_) => Ok(Answer::WorkTree(None)),
                    _ => Err("not here".to_owned()),
                };
                answers.deliver(FromAnchor::Answer { id, answer }).await;
            }
        }
    });
    let setup = Setup {
        owner: Owner { token: Token::new(TOKEN), keep: None },
        names: HostNames::default(),
        vapid: Vapid::fleeting("mailto:owner@example.com").unwrap(),
        outlet: Outlet::Loopback,
        tls: None,
        web: &[],
        web_dir: None,
        storage: Storage::default(),
        mobile_key: ServerKey::fleeting().unwrap(),
    };
    let app = App::open(hub.clone(), setup).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(serve(listener, app, std::future::pending()));
    (hub, url)
}

/// What each session of a recording heard, with the beginnings of its turns.
fn sessions(capture: &Capture) -> BTreeMap<SessionId, Vec<Draft>> {
    let mut sessions: BTreeMap<SessionId, Vec<Draft>> = BTreeMap::new();
    for step in replay(capture).unwrap() {
        match step {
            ReplayStep::Told { session, command: AgentCommand::Prompt { turn, text, .. } } => {
                let said = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
                let begun = Draft::new(Body::TurnStarted { prompt: None }).turn(turn);
                let drafts = [begun, Draft::new(said).turn(turn).text(text)];
                sessions.entry(session).or_default().extend(drafts);
            }
            ReplayStep::Said { session, draft } => sessions.entry(session).or_default().push(*draft),
            ReplayStep::Told { .. } | ReplayStep::Wrote(_) | ReplayStep::Finished(_) => {}
        }
    }
    sessions
}

/// What a client has at the end: the text, the thoughts, and the calls with whether they ended.
#[derive(Default)]
struct ClientState {
    message: String,
    thinking: String,
    calls: BTreeMap<String, bool>,
}

/// Reads a body as the front end does, and panics at what would harm it.
fn read(name: &str, body: &str) -> ClientState {
    let mut state = ClientState::default();
    for object in serde_json::Deserializer::from_str(body).into_iter::<Value>() {
        let object = object.unwrap_or_else(|error| panic!("{name}: {error}"));
        state.message += object["message"].as_str().expect(name);
        state.thinking += object["thinking"].as_str().unwrap_or_default();
        assert!(object["citations"].is_array(), "{name}: {object}");
        for call in object["tool_calls"].as_array().expect(name) {
            let text = |field: &str| call[field].as_str().filter(|text| !text.is_empty()).expect(name);
            let (id, event) = (text("call_id"), text("event_type"));
            assert!(!text("tool_name").is_empty() && !text("tool_response").is_empty(), "{name}");
            let ends = ["result", "delegation_result", "error"].contains(&event);
            let known = state.calls.get(id);
            assert!(known.is_some() || !ends, "{name}: it ends without a beginning: {call}");
            assert!(call["stream_part"].is_null() || known == Some(&false), "{name}: a stray piece: {call}");
            state.calls.insert(id.to_owned(), ends || known == Some(&true));
        }
    }
    assert!(state.calls.values().all(|ended| *ended), "{name}: it runs for ever: {:?}", state.calls);
    state
}

#[tokio::test]
async fn whatever_an_agent_has_said_reaches_the_front_end() {
    let (hub, url) = hub().await;
    let client = longshore_models::http::client(WITHIN).build().unwrap();
    let get = async |path: String| {
        let request = client.get(format!("{url}/api/v1/conversations/{path}")).bearer_auth(TOKEN);
        let response =
            tokio::time::timeout(WITHIN, request.send()).await.expect("it takes too long").unwrap();
        let response = response.error_for_status().unwrap();
        tokio::time::timeout(WITHIN, response.text()).await.expect("the body does not end").unwrap()
    };
    let mut found = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../longshore-drivers/captures");
    for driver in ["acp", "claude", "codex", "opencode"] {
        captures(&folder.join(driver), &mut found);
    }
    let (mut turns, mut calls) = (0, 0);
    for path in found {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let capture = Capture::read(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
        for drafts in sessions(&capture).into_values() {
            let request =
                OpenRequest { agent: "codex".to_owned(), cwd: "/w".to_owned(), ..OpenRequest::default() };
            let session = hub.open(request).await.unwrap().session_id;
            hub.deliver(FromAnchor::Said { session, drafts }).await;
            hub.settle().await;
            let mut over: BTreeSet<TurnId> = BTreeSet::new();
            for frame in
                hub.events(session, longshore_model::id::Seq::ZERO, usize::MAX, WithRaw::No).await.unwrap()
            {
                let event = frame.event().unwrap();
                over.extend(event.turn.filter(|_| matches!(event.body, Body::TurnFinished(_))));
            }
            let timeline = hub.timeline(session).await.unwrap();
            let history: Value =
                serde_json::from_str(&get(format!("{session}/messages?limit=1000")).await).unwrap();
            let history: String = history
                .as_array()
                .unwrap()
                .iter()
                .map(|message| message["content"].as_str().unwrap())
                .collect();
            for turn in over {
                let state = read(&name, &get(format!("{session}/resume/turn:{turn}?cursor=0-0")).await);
                turns += 1;
                calls += state.calls.len();
                for item in timeline.items.iter().filter(|item| item.turn == Some(turn)) {
                    let is_known = match &item.content {
                        Content::Message { .. } => {
                            history.contains(&item.text) && state.message.contains(item.text.trim_end())
                        }
                        Content::Reasoning { .. } => state.thinking.contains(item.text.trim_end()),
                        Content::Tool { .. }
                        | Content::Delegation { .. }
                        | Content::Diff { .. }
                        | Content::Plan { .. } => {
                            let id =
                                item.id.map_or_else(|| format!("item-{}", item.seq), |id| id.to_string());
                            state.calls.contains_key(&id)
                        }
                        Content::Approval { .. } | Content::Question { .. } => {
                            state.message.contains(&format!("/sessions/{session}"))
                        }
                        Content::UserMessage { .. }
                        | Content::TurnDiff
                        | Content::TurnEnd(_)
                        | Content::Notice { .. } => true,
                    };
                    assert!(is_known, "{name}: {item:#?} is missing in {}", state.message);
                }
            }
            hub.erase(session).await.unwrap();
        }
    }
    assert!(turns > 300 && calls > 200, "{turns} turns with {calls} calls");
}
