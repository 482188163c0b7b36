//! One session, and clients of every protocol on it: a prompt of one, a decision of another, the same end for all.

use longshore_model::command::AgentCommand;
use longshore_model::id::{SessionId, TurnId};
use longshore_model::timeline::{Content, Timeline};
use serde_json::{Value, json};

use crate::chunks;
use crate::http::Stream;
use crate::mobile::phone::Phone;
use crate::openagents::OpenAgentsApp;
use crate::orbit::pocket::Pocket;
use crate::orbit::screen::Screen;
use crate::rig::Rig;
use crate::socket::Socket;

/// A client of each protocol that follows one session.
struct Clients {
    native: Socket,
    pocket: Pocket,
    phone: Phone,
    app: OpenAgentsApp,
}

impl Clients {
    async fn of(rig: &Rig, session: SessionId) -> Self {
        let mut native = rig.socket().await;
        native.subscribe(session, 0).await;
        let mut pocket = Pocket::connect(rig).await;
        pocket.open(session).await;
        let (phone, _) = rig.phone("full").await;
        let mut app = OpenAgentsApp::of_owner(rig).await;
        app.call("tinyvex/history.sessionTimeline", json!({ "session_id": session })).await;
        Self { native, pocket, phone, app }
    }

    /// Until each shows that the agent said this.
    async fn hear(&mut self, session: SessionId, words: &str) {
        self.native.until(session, |timeline| has_message(timeline, words)).await;
        let shows = |screen: &Screen| screen.cards.iter().any(|card| card.text == words);
        self.pocket.see(session, words, shows).await;
        self.phone.has_said(session, &format!("assistant: {words}")).await;
        self.app.until(words).await;
    }
}

fn has_message(timeline: &Timeline, words: &str) -> bool {
    timeline.items.iter().any(|item| matches!(item.content, Content::Message { .. }) && item.text == words)
}

/// A conversation of the chunks protocol whose prompt the agent has got.
async fn prompted(rig: &mut Rig, session: SessionId, text: &str) -> (Stream, TurnId) {
    let stream = chunks::send(rig, session, text, chunks::NAME).await;
    match rig.command().await {
        AgentCommand::Prompt { turn, text: told, .. } => {
            assert_eq!(told, text);
            (stream, turn)
        }
        other => panic!("instead of a prompt: {other:?}"),
    }
}

fn allowed(session: SessionId, asked: &Value, behavior: &str) -> Value {
    json!({ "type": "respondPermission", "agentId": session, "requestId": asked["requestId"],
        "behavior": behavior, "updatedInput": asked["toolInput"] })
}

#[tokio::test]
async fn clients_of_every_protocol_share_a_prompt_a_decision_and_the_end() {
    let mut rig = Rig::new().await;
    let session = chunks::create(&mut rig).await;
    let mut clients = Clients::of(&rig, session).await;
    let (mut stream, turn) = prompted(&mut rig, session, "fix it").await;
    clients.native.until(session, |timeline| timeline.items.iter().any(|item| item.text == "fix it")).await;
    clients.phone.has_said(session, "user: fix it").await;
    let mine = |screen: &Screen| screen.cards.iter().any(|card| card.text == "fix it");
    clients.pocket.see(session, "the prompt of another client", mine).await;

    let approval = rig.approval(session, turn).await;
    let card = clients.pocket.asked().await;
    assert_eq!(card["id"], format!("approval-{approval}"));
    let asked = clients.phone.until("permissionRequest").await;
    clients.app.until("make").await;
    stream.until("make").await;
    clients.phone.send(allowed(session, &asked, "allow")).await;
    let AgentCommand::Decide { approval: decided, decision } = rig.command().await else {
        panic!("no decision")
    };
    assert_eq!((decided, decision.by.as_str()), (approval, "Ada's phone"));
    clients.pocket.see(session, "the closed card", |screen| screen.asked.is_empty()).await;
    let closed = clients.pocket.screen(session).card(format!("approval-{approval}")).unwrap();
    assert!(closed.text.contains("Ada's phone"), "{closed:?}");

    rig.message(session, turn, "It is fixed.").await;
    rig.finish(session, turn).await;
    clients.hear(session, "It is fixed.").await;
    let body = stream.whole().await;
    assert!(chunks::said(body.text()).ends_with("It is fixed."), "{}", body.text());
    // Whoever reads it later reads the same.
    let history = chunks::messages(&rig, session).await;
    assert_eq!(history.first().map(|(kind, text)| (kind.as_str(), text.as_str())), Some(("HUMAN", "fix it")));
    assert!(history.last().unwrap().1.ends_with("It is fixed."), "{history:?}");
    assert!(rig.left().is_empty(), "the agent heard one prompt and one answer");
}

#[tokio::test]
async fn of_two_answers_over_two_foreign_protocols_the_agent_hears_one() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut clients = Clients::of(&rig, session).await;
    for _ in 0..10 {
        let approval = rig.approval(session, turn).await;
        let card = clients.pocket.asked().await;
        let asked = clients.phone.until("permissionRequest").await;
        let yes = json!({ "id": card["id"], "result": { "decision": "accept" } });
        tokio::join!(clients.pocket.say(yes), clients.phone.send(allowed(session, &asked, "deny")));
        let AgentCommand::Decide { decision, .. } = rig.command().await else { panic!("no decision") };
        let card = format!("approval-{approval}");
        // Who was first knows what it said.
        if decision.by == "owner" {
            let id = session.to_string();
            clients.phone.shows("the card is gone", |app| app.agent(&id).asked.is_empty()).await;
        } else {
            let gone = |screen: &Screen| !screen.asked.contains_key(&card);
            clients.pocket.see(session, "who was first", gone).await;
            let closed = clients.pocket.screen(session).card(&card).unwrap();
            assert_eq!(closed.text, format!("$ Denied by {}\n", decision.by));
        }
        assert!(rig.left().is_empty(), "the agent hears one answer");
    }
}
