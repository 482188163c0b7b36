//! Agents with a process for each turn: their sessions outlive it.

use std::sync::Arc;

use longshore_drivers::discover::{AgentSettings, Finding, Surroundings};
use longshore_drivers::spec::{AgentSpec, Channel, Invocation, Purpose};
use longshore_model::anchor::{FromAnchor, ModelsQuery, ToAnchor};
use longshore_model::capability::Capabilities;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output, Run};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{Context, SessionId};
use longshore_model::lifecycle::{Ready, SleepCause};
use longshore_model::time::Timestamp;
use serde_json::json;

use crate::rig::{Phone, Rig, fake_agent, hasty, listen};

#[derive(Debug)]
struct Turner;

impl AgentSpec for Turner {
    fn name(&self) -> &str {
        "turner"
    }

    fn title(&self) -> &str {
        "Turner"
    }

    fn install(&self) -> &str {
        "make turner"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn find(&self, settings: &AgentSettings, _: &Surroundings) -> Finding {
        Finding { path: settings.path.clone(), remark: None }
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::default()
    }

    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Turns
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Turning::default())
    }
}

/// Runs the script that it is prompted with, tells it `said`, and repeats its lines.
#[derive(Default)]
struct Turning {
    session: Option<SessionId>,
}

impl Driver for Turning {
    fn handle(&mut self, input: Input, _: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => {
                self.session = Some(launch.session);
                let ready = Ready { native: None, version: None, model: None, transcript: None };
                out.say(launch.session, Draft::new(Body::SessionReady(ready)));
            }
            Input::Tell { command: AgentCommand::Prompt { text, .. }, .. } => {
                out.run = Some(Run { arguments: vec![text], input: "said\n".to_owned(), ..Run::default() });
            }
            Input::Tell { command: AgentCommand::Interrupt { .. }, .. } => out.halt = true,
            Input::Line(raw) => {
                out.say(self.session.unwrap(), Draft::new(Body::MessageDelta).text(&*raw).raw(raw));
            }
            Input::Ended { sleep, reason } => {
                let notice = Draft::new(Body::Notice { level: NoticeLevel::Info });
                out.say(self.session.unwrap(), notice.text(format!("{reason} ({:?})", sleep.cause)));
            }
            Input::Ask { id, .. } => out.answers.push((id, Err("nobody knows".to_owned()))),
            other => panic!("{other:?}"),
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }
}

async fn rig() -> (Rig, SessionId) {
    rig_at(fake_agent()).await
}

async fn rig_at(program: std::path::PathBuf) -> (Rig, SessionId) {
    let mut rig = Rig::with(json!([]), 64, |config| {
        config.agents.push(Arc::new(Turner));
        config.limits = hasty();
        let settings = AgentSettings { path: Some(program), ..AgentSettings::default() };
        config.settings.insert("turner".to_owned(), settings);
    });
    let launch = longshore_model::anchor::Launch { agent: "turner".into(), ..rig.launch() };
    let session = launch.session;
    rig.send(ToAnchor::Open(launch)).await;
    (rig, session)
}

#[tokio::test]
async fn a_process_is_told_all_at_once_and_another_follows_it() {
    let (mut rig, session) = rig().await;
    for _ in 0..2 {
        rig.prompt(session, r#"[{"do": "echo"}, {"do": "print", "line": "its input ended"}]"#).await;
        rig.hear_all(session, &["said", "its input ended", "Turner ended (Exited)"]).await;
    }
    rig.stop(session).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.reason.as_str()), (SleepCause::Stopped, "stopped"));
}

#[tokio::test]
async fn a_process_that_fails_leaves_its_session() {
    let (mut rig, session) = rig().await;
    rig.prompt(session, r#"[{"do": "stderr", "text": "no such model\n"}, {"do": "exit", "code": 3}]"#).await;
    rig.hear(session, "Turner ended with code 3: no such model (Exited)").await;
    rig.prompt(session, r#"[{"do": "kill", "signal": 9}]"#).await;
    rig.hear(session, "Turner was killed by SIGKILL (Exited)").await;
    rig.prompt(session, r#"[{"do": "print", "line": "well"}]"#).await;
    rig.hear(session, "well").await;
}

#[tokio::test]
async fn a_process_is_interrupted_and_its_session_goes_on() {
    let (mut rig, session) = rig().await;
    rig.prompt(session, r#"[{"do": "print", "line": "at work"}, {"do": "hang"}]"#).await;
    rig.hear(session, "at work").await;
    rig.interrupt(session).await;
    rig.hear(session, "Turner was killed by SIGINT (Exited)").await;
    rig.prompt(session, r#"[{"do": "print", "line": "well"}]"#).await;
    rig.hear(session, "well").await;
}

/// What a script starts in the background ignores SIGINT, and hands that down.
#[tokio::test]
async fn a_process_is_interrupted_also_when_the_hub_ignores_interrupts() {
    let this = std::env::current_exe().unwrap();
    let again = "anchor::turns::a_process_is_interrupted_and_its_session_goes_on";
    let mut deaf = tokio::process::Command::new("sh");
    deaf.args(["-c", r#"trap "" INT; exec "$0" "$@""#]).arg(this).args(["--exact", again]);
    let ran = deaf.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn a_session_that_is_stopped_takes_its_process_along() {
    let (mut rig, session) = rig().await;
    let phone = Phone::new().await;
    let script = json!([{"do": "call", "call": phone.number}, {"do": "hang"}]);
    rig.prompt(session, &script.to_string()).await;
    let call = phone.call().await;
    rig.stop(session).await;
    let life = rig.life(session).await;
    assert_eq!((life.sleep.cause, life.reason.as_str()), (SleepCause::Stopped, "stopped"));
    listen(call).await;
}

#[tokio::test]
async fn a_process_that_cannot_be_started_is_told_as_one_that_ended() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("turner");
    std::fs::write(&program, "no program at all").unwrap();
    let (mut rig, session) = rig_at(program.clone()).await;
    rig.prompt(session, "[]").await;
    let reason = format!(
        "you may not run {}; check its permissions (chmod +x) and the permissions of its folder",
        program.display()
    );
    rig.hear(session, &format!("{reason} (FailedToStart)")).await;
}

#[tokio::test]
async fn a_question_needs_no_process() {
    let (mut rig, session) = rig().await;
    let id = rig.ask(ModelsQuery { agent: "turner".into(), anew: false }).await;
    loop {
        match rig.next().await {
            FromAnchor::Answer { id: other, answer } => {
                assert_eq!((other, answer), (id, Err("nobody knows".to_owned())));
                break;
            }
            FromAnchor::Said { session: other, .. } => assert_eq!(other, session),
            other => panic!("{other:?}"),
        }
    }
}
