//! Questions that concern no session.

use std::time::Duration;

use longshore_drivers::discover::AgentAnnotations;
use longshore_model::anchor::{AgentsQuery, Answer, FromAnchor, Machine, ModelsQuery, Query, SessionsQuery};
use serde_json::json;

use crate::rig::{Phone, Rig, fake_agent, listen};

fn models(agent: &str) -> Query {
    ModelsQuery { agent: agent.into(), anew: false }.into()
}

#[tokio::test]
async fn agents_are_listed_whether_they_are_there_or_not() {
    let mut rig = Rig::new(json!([]));
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(AgentsQuery { only: None }).await else {
        panic!("no agents")
    };
    let names: Vec<_> = agents.iter().map(|agent| &*agent.name).collect();
    assert_eq!(names, ["fake", "absent"]);
    assert_eq!(agents[0].path, Some(fake_agent().display().to_string()));
    assert_eq!(agents[0].version.as_deref(), Some("1.2.3"));
    let remark =
        "1.2.3 is newer than 1.2.2, the version that Longshore was tested with; it may behave differently";
    assert_eq!(agents[0].remark.as_deref(), Some(remark));
    assert_eq!((&agents[1].path, &agents[1].version), (&None, &None));
    assert_eq!(
        (agents[1].install.as_str(), agents[1].login.as_deref()),
        ("make absent", Some("absent login"))
    );
}

#[tokio::test]
async fn one_agent_is_told_of_without_a_program_that_is_started_for_it() {
    let mut rig = Rig::new(json!([]));
    let one = || AgentsQuery { only: Some("fake".into()) };
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(one()).await else { panic!("no agents") };
    let [agent] = &agents[..] else { panic!("{agents:?}") };
    assert_eq!(agent.path, Some(fake_agent().display().to_string()));
    assert_eq!(agent.version, None, "only the program itself knows it");
    rig.answer(AgentsQuery { only: None }).await.unwrap();
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(one()).await else { panic!("no agents") };
    assert_eq!(agents[0].version.as_deref(), Some("1.2.3"), "once it was asked, it is remembered");
    let nobody = AgentsQuery { only: Some("nobody".into()) };
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(nobody).await else { panic!("no agents") };
    assert!(agents.is_empty());
}

#[tokio::test]
async fn what_else_is_known_of_agents_is_told_with_them() {
    let mut rig = Rig::with(json!([]), 64, |config| {
        config.annotations = AgentAnnotations::by(|agents| agents[0].remark = None);
    });
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(AgentsQuery { only: None }).await else {
        panic!("no agents")
    };
    assert_eq!((agents.len(), &agents[0].remark), (2, &None));
}

#[tokio::test]
async fn models_are_asked_for_once_and_then_remembered() {
    let phone = Phone::new().await;
    let mut rig = Rig::new(json!([{"do": "call", "call": phone.number}, {"do": "echo"}]));
    let (first, second) = (rig.ask(models("fake")).await, rig.ask(models("fake")).await);
    for expected in [first, second] {
        let FromAnchor::Answer { id, answer } = rig.next().await else { panic!("no answer") };
        let Ok(Answer::Models(models)) = answer else { panic!("no models: {answer:?}") };
        assert_eq!((id, models[0].id.as_str()), (expected, "models"));
    }
    // One process was asked, and it is gone now. A second one would have called before its answer.
    listen(phone.call().await).await;
    let Ok(Answer::Agents(Machine { agents, .. })) = rig.answer(AgentsQuery { only: None }).await else {
        panic!("no agents")
    };
    assert_eq!(agents[0].models.len(), 1, "they are listed with the agent from now on");
    drop(rig);
    assert!(phone.nobody_else_called());
}

#[tokio::test]
async fn an_agent_that_has_to_start_for_its_models_does_whatever_is_remembered() {
    let phone = Phone::new().await;
    let mut rig = Rig::new(json!([{"do": "call", "call": phone.number}, {"do": "echo"}]));
    for anew in [false, true, true] {
        let answer = rig.answer(ModelsQuery { agent: "fake".into(), anew }).await;
        assert!(matches!(answer, Ok(Answer::Models(_))), "{answer:?}");
        listen(phone.call().await).await;
    }
}

#[tokio::test]
async fn sessions_are_asked_for_every_time() {
    let phone = Phone::new().await;
    let mut rig = Rig::new(json!([{"do": "call", "call": phone.number}, {"do": "echo"}]));
    for _ in 0..2 {
        let answer = rig.answer(SessionsQuery { agent: "fake".into(), cursor: None, limit: 7 }).await;
        let Ok(Answer::Models(models)) = answer else { panic!("{answer:?}") };
        assert_eq!(models[0].id, "sessions 7", "the parrot answers with what it heard");
        listen(phone.call().await).await;
    }
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_given_up_and_killed() {
    let phone = Phone::new().await;
    let script = json!([{"do": "call", "call": phone.number}, {"do": "hang"}]);
    let mut rig = Rig::with(script, 64, |config| config.query_deadline = Duration::from_millis(300));
    assert_eq!(rig.answer(models("fake")).await, Err("fake did not answer within 0.3 s".to_owned()));
    listen(phone.call().await).await;
}

#[tokio::test]
async fn what_goes_wrong_is_the_answer() {
    let script = json!([{"do": "stderr", "text": "not logged in\n"}, {"do": "exit", "code": 1}]);
    let mut rig = Rig::new(script);
    assert_eq!(rig.answer(models("fake")).await, Err("Fake ended with code 1: not logged in".to_owned()));
    let missing = "Absent is not set up on this machine: make absent".to_owned();
    assert_eq!(rig.answer(models("absent")).await, Err(missing));
    let unknown = "no agent is called `nobody`; the agents are fake, absent".to_owned();
    assert_eq!(rig.answer(models("nobody")).await, Err(unknown));

    let mut refused = Rig::new(
        json!([{"do": "read"}, {"do": "print", "line": "no such thing"}, {"do": "exit", "code": 0}]),
    );
    assert_eq!(refused.answer(models("fake")).await, Err("such thing".to_owned()));
}
