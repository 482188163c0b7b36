//! The messages about the connection itself: anchors, pushes, greetings.

use std::time::Duration;

use longshore_model::capability::AgentInfo;
use longshore_model::device::{PushKeys, PushSubscription};
use serde::Serialize;

use super::faults::orbit_error;
use crate::gate::Gate;
use crate::kernel::Steps;
use crate::problem::Problem;

/// The answer to a heartbeat. The client compares it byte for byte.
pub(super) const PONG: &str = "{\"type\":\"pong\"}";
/// How long the machine may take to name itself. The client warns of a missing device after 5 s.
const NAMED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct OrbitHello<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    ts: String,
    role: &'a str,
}

#[derive(Serialize)]
struct OrbitAuth {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize)]
struct OrbitAnchors {
    #[serde(rename = "type")]
    kind: &'static str,
    anchors: Vec<OrbitAnchor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrbitAnchor {
    id: String,
    hostname: String,
    platform: &'static str,
    connected_at: String,
}

fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// The first words of a connection.
pub(super) fn hello(gate: &Gate) -> String {
    text(&OrbitHello { kind: "orbit.hello", ts: gate.now().to_string(), role: "client" })
}

/// Whether the agents are logged in.
pub(super) async fn anchor_auth(gate: Gate) -> Steps {
    let asked = tokio::time::timeout(NAMED_WITHIN, gate.agents()).await;
    let auth = match asked {
        Ok(Ok(agents)) => auth_of(&agents),
        Ok(Err(_)) | Err(_) => {
            OrbitAuth { kind: "orbit.anchor-auth", status: "unknown", code: None, message: None }
        }
    };
    let mut steps = Steps::default();
    steps.send(text(&auth));
    steps
}

/// The client warns only when no agent could work.
fn auth_of(agents: &[AgentInfo]) -> OrbitAuth {
    let mut installed = agents.iter().filter(|agent| agent.path.is_some());
    let usual = super::calls::usual(agents);
    match usual.filter(|_| installed.all(|agent| agent.logged_in == Some(false))) {
        Some(agent) => OrbitAuth {
            kind: "orbit.anchor-auth",
            status: "invalid",
            code: Some(agent.name.to_string()),
            message: agent.login.as_ref().map(|login| format!("run `{login}`")),
        },
        None => OrbitAuth { kind: "orbit.anchor-auth", status: "ok", code: None, message: None },
    }
}

/// The machines. There is always one, since the client takes none for a fault.
pub(super) async fn anchors(gate: Gate) -> Steps {
    let named = tokio::time::timeout(NAMED_WITHIN, gate.machines()).await;
    let names = match named {
        Ok(Ok(machines)) => machines.into_iter().map(|machine| machine.name).collect(),
        Ok(Err(_)) | Err(_) => vec!["longshore".to_owned()],
    };
    let (connected_at, platform) =
        (gate.now().to_string(), if cfg!(target_os = "macos") { "darwin" } else { "linux" });
    let anchor = |name: String| OrbitAnchor {
        id: name.clone(),
        hostname: name,
        platform,
        connected_at: connected_at.clone(),
    };
    let mut steps = Steps::default();
    steps.send(text(&OrbitAnchors {
        kind: "orbit.anchors",
        anchors: names.into_iter().map(anchor).collect(),
    }));
    steps
}

/// What a client wants of its pushes.
pub(super) enum OrbitPush {
    Subscribe { endpoint: String, p256dh: String, auth: String },
    Unsubscribe { endpoint: Option<String> },
    Test,
}

/// Does it. Only a fault has an answer.
pub(super) async fn push(gate: Gate, request: OrbitPush) -> Steps {
    let (push, device) = (&gate.app().push, gate.caller().device());
    let done = match request {
        OrbitPush::Subscribe { endpoint, p256dh, auth } => {
            let keys = PushKeys { p256dh, auth };
            push.subscribe(device, PushSubscription { endpoint, keys }).await
        }
        OrbitPush::Unsubscribe { endpoint } => {
            push.unsubscribe(device, endpoint.as_deref()).await.map_err(Problem::from)
        }
        OrbitPush::Test => push.test(device).await.map(drop),
    };
    let mut steps = Steps::default();
    done.err().into_iter().for_each(|problem| steps.send(orbit_error(&problem.title, None)));
    steps
}
