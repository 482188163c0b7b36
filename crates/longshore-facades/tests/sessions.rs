//! Sessions and agents over HTTP: open, list, change, close, fork, revive, interrupt.

use longshore_model::anchor::{Start, ToAnchor};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use serde_json::{Value, json};

use crate::rig::Rig;

fn id_of(session: &Value) -> SessionId {
    session["sessionId"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn agents_are_listed_with_what_they_can_do() {
    let rig = Rig::new().await;
    let known = rig.get("/api/v1/agents?models=known").await.ok(200);
    assert!(known["agents"][0].get("models").is_none(), "nobody was asked yet: {known}");
    assert_eq!(rig.get("/api/v1/agents/codex/models").await.ok(200)["models"][0]["id"], "large");
    for (agent, problem) in [("nobody", (422, "unknown_agent")), ("ghost", (422, "agent_not_installed"))] {
        let reply = rig.get(&format!("/api/v1/agents/{agent}/models")).await;
        assert_eq!(reply.problem(), (problem.0, problem.1.to_owned()));
    }
    let agents = rig.get("/api/v1/agents").await.ok(200);
    let [codex, plain, ghost, mute] = agents["agents"].as_array().unwrap().as_slice() else {
        panic!("{agents}")
    };
    assert_eq!(codex["models"][0]["id"], "large");
    assert_eq!(codex["capabilities"]["modes"], json!(["plan", "ask", "full"]));
    assert!(plain.get("models").is_none(), "an agent without models is not asked for them");
    assert_eq!((ghost.get("path"), &ghost["install"]), (None, &json!("get ghost")));
    let why = mute["remark"].as_str().unwrap();
    assert!(why.starts_with("its models are unknown: ") && why.contains("did not answer"), "{mute}");
    assert_eq!(
        known["agents"][3]["capabilities"]["modes"],
        json!(["plan", "ask", "full"]),
        "it may have them"
    );
    assert!(
        mute["capabilities"].get("modes").is_none_or(|modes| modes == &json!([])),
        "nobody knows: {mute}"
    );
}

#[tokio::test]
async fn a_session_is_opened_read_changed_and_closed() {
    let mut rig = Rig::new().await;
    let asked =
        json!({ "agent": "codex", "cwd": "/w/project", "title": "A try", "model": "large", "mode": "plan" });
    let reply = rig.call("POST", "/api/v1/sessions").json(&asked).send().await;
    let opened = reply.ok(201);
    let session = id_of(&opened);
    let place = format!("/api/v1/sessions/{session}");
    assert_eq!(reply.header("location"), Some(place.as_str()));
    assert_eq!((&opened["title"], &opened["project"]), (&json!("A try"), &json!("project")));
    assert_eq!((&opened["mode"], &opened["model"]), (&json!("plan"), &json!("large")));
    assert_eq!((&opened["provider"], &opened["status"]), (&json!("codex"), &json!("active")));
    assert_eq!(rig.launched().await.start, Start::New);
    rig.is_ready(session).await;
    let read = rig.get(&place).await.ok(200);
    assert_eq!((&read["status"], &read["activity"]), (&json!("idle"), &json!("idle")));

    let changes = json!({ "title": "Another", "mode": "full", "model": "small", "archived": true });
    let changed = rig.call("PATCH", &place).json(&changes).send().await.ok(200);
    for (field, value) in changes.as_object().unwrap() {
        assert_eq!(&changed[field], value);
    }
    assert_eq!(rig.call("PATCH", &place).json(&json!({})).send().await.ok(200)["title"], "Another");

    let closed = rig.call("DELETE", &place).send().await.ok(200);
    assert_eq!((&closed["status"], &closed["activity"]), (&json!("completed"), &json!("closed")));
    assert!(rig.left().contains(&ToAnchor::Stop { session }));
    assert_eq!(rig.call("DELETE", &place).send().await.status, 200, "closing twice is closing once");
    let say = rig.call("POST", format!("{place}/prompts")).json(&json!({ "content": "hello?" }));
    assert_eq!(say.send().await.problem(), (409, "session_closed".to_owned()));
    let taken_out = rig.call("PATCH", &place).json(&json!({ "archived": false })).send().await;
    assert_eq!(taken_out.ok(200)["archived"], false, "what is closed can still be put in order");
}

#[tokio::test]
async fn a_session_that_cannot_be_is_refused_and_not_made() {
    let rig = Rig::new().await;
    let cases = [
        (json!({ "agent": "nobody", "cwd": "/w" }), 422, "unknown_agent"),
        (json!({ "agent": "ghost", "cwd": "/w" }), 422, "agent_not_installed"),
        (json!({ "agent": "codex", "cwd": "w" }), 400, "invalid_request"),
        (json!({ "agent": "codex" }), 400, "invalid_request"),
        (json!({ "agent": "codex", "cwd": "/w", "unknown": 1 }), 400, "invalid_request"),
        (json!({ "agent": "codex", "cwd": "/w", "mode": "yolo" }), 400, "invalid_request"),
        (json!({ "agent": "codex", "cwd": "/w", "title": " " }), 400, "invalid_request"),
        (json!({ "agent": "codex", "cwd": "/w", "title": "x".repeat(1_001) }), 400, "invalid_request"),
        (json!({ "agent": "codex", "cwd": "/w", "prompt": " " }), 422, "empty_prompt"),
        (
            json!({ "agent": "plain", "cwd": "/w", "prompt": [
                { "type": "attachment", "mediaType": "image/png", "data": "" }] }),
            422,
            "not_supported",
        ),
    ];
    for (body, status, code) in cases {
        let reply = rig.call("POST", "/api/v1/sessions").json(&body).send().await;
        assert_eq!(reply.problem(), (status, code.to_owned()), "{body}");
    }
    let ghost =
        rig.call("POST", "/api/v1/sessions").json(&json!({ "agent": "ghost", "cwd": "/w" })).send().await;
    assert_eq!(ghost.json()["hint"], "get ghost");
    assert_eq!(rig.get("/api/v1/sessions").await.ok(200)["sessions"], json!([]));
}

#[tokio::test]
async fn a_session_can_be_opened_with_its_first_prompt() {
    let mut rig = Rig::new().await;
    let asked = json!({ "agent": "codex", "cwd": "/w", "prompt": "fix the tests" });
    let opened = rig.call("POST", "/api/v1/sessions").json(&asked).send().await.ok(201);
    assert_eq!(opened["queue"][0]["text"], "fix the tests");
    rig.launched().await;
    rig.is_ready(id_of(&opened)).await;
    assert!(matches!(rig.command().await, AgentCommand::Prompt { text, .. } if text == "fix the tests"));
}

#[tokio::test]
async fn an_effort_that_the_model_is_known_not_to_have_is_refused_with_those_that_it_has() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let place = format!("/api/v1/sessions/{session}");
    let change = async |effort: &str| {
        rig.call("PATCH", &place).json(&json!({ "effort": effort, "title": "x" })).send().await
    };
    let refused = change("silly").await;
    assert_eq!(refused.problem(), (422, "unknown_effort".to_owned()));
    assert_eq!(refused.json()["details"]["efforts"], json!(["low", "high"]));
    let changed = change("high").await.ok(200);
    assert_eq!((&changed["effort"], &changed["title"]), (&json!("high"), &json!("x")));
    let open = async |agent: &str| {
        let asked = json!({ "agent": agent, "cwd": "/w", "effort": "silly" });
        rig.call("POST", "/api/v1/sessions").json(&asked).send().await
    };
    assert_eq!(open("codex").await.problem(), (422, "unknown_effort".to_owned()));
    assert_eq!(open("mute").await.ok(201)["effort"], "silly", "nobody knows better");
}

#[tokio::test]
async fn changes_that_cannot_be_are_refused() {
    let mut rig = Rig::new().await;
    let asked = json!({ "agent": "plain", "cwd": "/w", "title": "as it was" });
    let session = id_of(&rig.call("POST", "/api/v1/sessions").json(&asked).send().await.ok(201));
    let place = format!("/api/v1/sessions/{session}");
    let nobody = rig.item();
    for (body, status, code) in [
        (json!({ "mode": "full", "title": "x" }), 422, "not_supported"),
        (json!({ "model": "large", "title": "x" }), 422, "not_supported"),
        (json!({ "queue": [nobody], "title": "x" }), 404, "unknown_prompt"),
        (json!({ "title": "" }), 400, "invalid_request"),
        (json!({ "colour": "red" }), 400, "invalid_request"),
        (json!({ "archived": "yes" }), 400, "invalid_request"),
        (json!([]), 400, "invalid_request"),
    ] {
        let reply = rig.call("PATCH", &place).json(&body).send().await;
        assert_eq!(reply.problem(), (status, code.to_owned()), "{body}");
    }
    assert_eq!(rig.get(&place).await.ok(200)["title"], "as it was");
}

#[tokio::test]
async fn the_list_is_filtered_and_paged() {
    let rig = Rig::new().await;
    let mut made = Vec::new();
    for n in 0..7 {
        let agent = if n % 2 == 0 { "codex" } else { "plain" };
        let asked = json!({ "agent": agent, "cwd": "/w", "title": format!("number {n}") });
        made.push(id_of(&rig.call("POST", "/api/v1/sessions").json(&asked).send().await.ok(201)));
    }
    rig.call("DELETE", format!("/api/v1/sessions/{}", made[0])).send().await.ok(200);
    let put_away =
        rig.call("PATCH", format!("/api/v1/sessions/{}", made[1])).json(&json!({ "archived": true }));
    put_away.send().await.ok(200);
    for session in &made[2..] {
        rig.is_ready(*session).await;
    }
    let ids = |list: &Value| list["sessions"].as_array().unwrap().iter().map(id_of).collect::<Vec<_>>();
    let newest_first: Vec<SessionId> = made[2..].iter().rev().copied().collect();

    assert_eq!(ids(&rig.get("/api/v1/sessions?status=idle").await.ok(200)), newest_first);
    assert_eq!(ids(&rig.get("/api/v1/sessions?status=completed").await.ok(200)), [made[0]]);
    assert_eq!(
        ids(&rig.get("/api/v1/sessions?archived=true").await.ok(200)),
        [made[1], made[0]],
        "closed ones too"
    );
    assert_eq!(ids(&rig.get("/api/v1/sessions?agent=plain").await.ok(200)), [made[5], made[3]]);
    assert_eq!(ids(&rig.get("/api/v1/sessions?q=NUMBER%204").await.ok(200)), [made[4]]);
    assert_eq!(ids(&rig.get("/api/v1/sessions?q=nothing").await.ok(200)), []);

    let mut paged = Vec::new();
    let mut path = "/api/v1/sessions?status=idle&limit=2".to_owned();
    for _ in 0..5 {
        let page = rig.get(&path).await.ok(200);
        assert!(ids(&page).len() <= 2);
        paged.extend(ids(&page));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/sessions?status=idle&limit=2&cursor={next}");
    }
    assert_eq!(paged, newest_first);

    for (query, code) in [
        ("cursor=x", "bad_cursor"),
        ("limit=-1", "invalid_request"),
        ("limit=99999999999999999999999", "invalid_request"),
        ("status=lost", "invalid_request"),
        ("archived=maybe", "invalid_request"),
        ("colour=red", "invalid_request"),
    ] {
        assert_eq!(
            rig.get(format!("/api/v1/sessions?{query}")).await.problem(),
            (400, code.to_owned()),
            "{query}"
        );
    }
    assert_eq!(ids(&rig.get("/api/v1/sessions?limit=999999999").await.ok(200)).len(), 5);
    assert_eq!(ids(&rig.get("/api/v1/sessions?limit=0").await.ok(200)).len(), 1);
}

#[tokio::test]
async fn a_turn_is_interrupted_once_it_runs() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}/interrupt");
    assert_eq!(rig.call("POST", &place).send().await.ok(200)["turn"], json!(turn));
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn });
    let end = Draft::new(Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted))).turn(turn);
    rig.say(session, vec![end]).await;
    rig.hub.settle().await;
    let info = rig.get(format!("/api/v1/sessions/{session}")).await.ok(200);
    assert_eq!(info["status"], "interrupted");
    assert_eq!(rig.call("POST", &place).send().await.problem(), (409, "no_turn".to_owned()));
}

#[tokio::test]
async fn a_fork_is_a_session_of_its_own() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}/fork");
    assert_eq!(
        rig.call("POST", &place).send().await.problem(),
        (409, "cannot_fork".to_owned()),
        "while it works"
    );
    rig.message(session, turn, "done").await;
    rig.finish(session, turn).await;
    let reply = rig.call("POST", &place).send().await;
    let fork = reply.ok(201);
    assert_eq!(reply.header("location").unwrap(), format!("/api/v1/sessions/{}", id_of(&fork)));
    assert_eq!(fork["forkedFrom"]["session"], json!(session));
    assert!(matches!(rig.launched().await.start, Start::Fork { .. }));
    let items = rig.get(format!("/api/v1/sessions/{}/timeline", id_of(&fork))).await.ok(200);
    assert_eq!(items["items"][1]["text"], "done");

    let nowhere = rig.call("POST", &place).json(&json!({ "before": 999 })).send().await;
    assert_eq!(nowhere.problem(), (409, "cannot_fork".to_owned()), "nobody said anything there");
    let odd = rig.call("POST", &place).json(&json!({ "after": 5 })).send().await;
    assert_eq!(odd.problem().0, 400);
}

#[tokio::test]
async fn an_agent_that_is_gone_is_revived_from_its_memory_or_from_the_log() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.finish(session, turn).await;
    rig.left();
    let place = format!("/api/v1/sessions/{session}/revive");
    assert_eq!(rig.call("POST", &place).send().await.ok(200)["activity"], "idle", "it is awake already");
    assert!(rig.left().is_empty());

    rig.gone(session).await;
    assert_eq!(rig.call("POST", &place).send().await.ok(200)["activity"], "starting");
    assert!(matches!(rig.launched().await.start, Start::Resume { .. }));
    rig.gone(session).await;
    rig.call("POST", &place).json(&json!({ "fromLog": true })).send().await.ok(200);
    assert!(matches!(rig.launched().await.start, Start::Told { .. }));

    for body in ["{", "[]", "{\"fromLog\":1}", "{\"from\":true}"] {
        let reply = rig.call("POST", &place).body("application/json", body).send().await;
        assert_eq!(reply.problem(), (400, "invalid_request".to_owned()), "{body}");
    }
}
