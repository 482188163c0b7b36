//! A real Claude Code that calls the hub back: what it does when its line breaks, and who else is not let in.

use futures_util::StreamExt;
use longshore_model::id::SessionId;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::agents::agent;
use super::rig::{Rig, TOKEN, WITHIN};
use super::scripted::steps;

type Wire = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Calls as a program would.
async fn call(rig: &Rig, session: &str, token: &str) -> Result<Wire, u16> {
    let address = format!("{}/ws/cli/{session}", rig.url.replace("http://", "ws://"));
    let mut request = address.into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    match connect_async(request).await {
        Ok((wire, _)) => Ok(wire),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("no hub: {error}"),
    }
}

/// With which code the hub ends a connection, and what it said before.
async fn ended(mut wire: Wire) -> (Option<u16>, Vec<String>) {
    let mut texts = Vec::new();
    let ending = async {
        loop {
            match wire.next().await {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                Some(Ok(Message::Text(text))) => texts.push(text.as_str().to_owned()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    };
    let code = tokio::time::timeout(WITHIN, ending).await.expect("the hub does not end the connection");
    (code, texts)
}

/// The token that the only agent of the hub was given.
fn token(rig: &Rig) -> String {
    let name = "CLAUDE_CODE_SESSION_ACCESS_TOKEN=";
    let environment = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap_or_default();
    let tokens = rig.agents().into_iter().find_map(|pid| {
        environment(pid).split('\0').find_map(|variable| variable.strip_prefix(name).map(str::to_owned))
    });
    tokens.expect("the agent has a token")
}

#[tokio::test]
async fn a_claude_that_loses_its_line_comes_back_and_is_told_what_it_missed() {
    let story = json!([{ "do": [{ "say": "One." }] }, { "do": [{ "say": "Two." }] }]);
    let rig = Rig::with(steps(story)).await;
    let mut talk = rig.open_with("claude-socket", "ask").await;
    let turn = talk.prompt("first").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());

    // Somebody takes its line away, and reads nothing of what is said on it.
    let token = token(&rig);
    assert_ne!(token, TOKEN, "the owner's token is not for agents");
    let thief = call(&rig, &talk.session.to_string(), &token).await.unwrap();
    let turn = talk.prompt("second").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two."], "{}", talk.story());
    let (code, texts) = ended(thief).await;
    assert_eq!(code, Some(1000), "the program took its line back");
    assert!(
        texts.iter().all(|text| !text.contains("first")),
        "what has arrived is not said again: {texts:?}"
    );
}

#[tokio::test]
async fn a_hub_that_is_killed_leaves_no_claude_behind() {
    let mut rig = Rig::with(json!([{ "do": [{ "say": "One." }] }])).await;
    let mut talk = rig.open_with("claude-socket", "ask").await;
    let turn = talk.prompt("first").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let agents = rig.agents();
    rig.kill().await;
    // Dead ones may not be fetched by anybody yet.
    let lives = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    let mut pace = tokio::time::interval(std::time::Duration::from_millis(50));
    let gone = async {
        while agents.iter().any(lives) {
            pace.tick().await;
        }
    };
    tokio::time::timeout(WITHIN, gone).await.expect("an agent goes on without a hub");
}

#[tokio::test]
async fn nobody_else_is_let_in_where_a_claude_is_expected() {
    let rig = Rig::with(json!([])).await;
    let codex = rig.open("ask").await.session;
    let claude = rig.open_with("claude-socket", "ask").await.session;
    let nobody = "0190c0de-0000-7000-8000-000000000001".parse::<SessionId>().unwrap();
    let code = async |session: SessionId, token: &str| match call(&rig, &session.to_string(), token).await {
        Ok(wire) => ended(wire).await.0.expect("a code"),
        Err(status) => status,
    };
    assert_eq!(code(nobody, TOKEN).await, 4004);
    assert_eq!(code(codex, TOKEN).await, 4005);
    assert_eq!(code(claude, TOKEN).await, 401);
    assert_eq!(code(claude, "guess").await, 401);
}

#[tokio::test]
async fn a_claude_that_may_not_call_back_says_so() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    let config = rig.folder.path().join("longshore/config.toml");
    let mut text = std::fs::read_to_string(&config).unwrap();
    let command = agent("claude");
    text.push_str(&format!(
        "[agents.newer]\ndriver = \"claude\"\ncommand = [{command:?}]\ntransport = \"socket\"\n"
    ));
    std::fs::write(&config, text).unwrap();
    rig.start().await;
    let mut talk = rig.open_with("newer", "ask").await;
    let turn = talk.prompt("hail").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    assert!(talk.story().contains("--sdk-url"), "{}", talk.story());
}
