//! Agents whose programs call back. The test serves the line, and so it is the program.

use std::time::Duration;

use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::transport::socket::{CallbackLine, CallbackRegistry};
use longshore_model::anchor::{Answer, FromAnchor, ModelsQuery};
use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::event::{Body, Draft, RawFault};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::SleepCause;
use serde_json::{Value, json};

use crate::rig::{PATIENCE, Phone, Rig, caller, hasty, patient, soon};

/// Says its token and does nothing else.
fn hangs() -> Value {
    json!([{ "do": "env", "name": caller::TOKEN }, { "do": "hang" }])
}

struct Stage {
    rig: Rig,
    reception: CallbackRegistry,
    session: SessionId,
    token: String,
}

impl Stage {
    /// A session whose process runs and has not called.
    async fn new(change: impl FnOnce(&mut AnchorConfig)) -> Self {
        Self::with(hangs(), change).await
    }

    async fn with(script: Value, change: impl FnOnce(&mut AnchorConfig)) -> Self {
        let reception = CallbackRegistry::at("ws://127.0.0.1:1/ws/cli");
        let mut rig = Rig::caller(script, reception.clone(), |config| {
            config.limits = hasty();
            change(config);
        });
        let session = rig.open().await;
        let token = next_text(&mut rig, session).await;
        Self { rig, reception, session, token }
    }

    fn call(&self) -> CallbackLine {
        self.reception.answer(self.session, &self.token).expect("it is expected")
    }

    async fn hears(&mut self, texts: &[&str]) {
        for text in texts {
            assert_eq!(next_text(&mut self.rig, self.session).await, *text);
        }
    }
}

/// The next draft that has a text.
async fn next_draft(rig: &mut Rig, session: SessionId) -> Draft {
    loop {
        match rig.next().await {
            FromAnchor::Said { session: other, mut drafts } if other == session => {
                drafts.retain(|draft| draft.text.is_some());
                assert!(drafts.len() <= 1, "one line at a time here: {drafts:?}");
                if let Some(draft) = drafts.pop() {
                    return draft;
                }
            }
            other => panic!("it should have spoken: {other:?}"),
        }
    }
}

async fn next_text(rig: &mut Rig, session: SessionId) -> String {
    next_draft(rig, session).await.text.unwrap()
}

async fn say(line: &CallbackLine, text: &str) {
    line.said.send(FromProgram::Lines { text: text.to_owned() }).await.unwrap();
}

async fn told(line: &mut CallbackLine) -> (u64, String) {
    match soon("the program to be told", line.told.recv()).await {
        Some(ToProgram::Lines { number, text }) => (number, text),
        other => panic!("instead of lines: {other:?}"),
    }
}

#[tokio::test]
async fn what_is_said_before_it_calls_is_told_in_order_when_it_has() {
    let mut stage = Stage::new(|_| {}).await;
    for word in ["one", "two"] {
        stage.rig.prompt(stage.session, word).await;
    }
    let mut line = stage.call();
    assert_eq!(told(&mut line).await, (1, "one\n".to_owned()));
    assert_eq!(told(&mut line).await, (2, "two\n".to_owned()));
    say(&line, "first\n").await;
    stage.hears(&["first"]).await;
}

#[tokio::test]
async fn a_message_may_hold_several_lines_and_one_that_is_too_long_is_noted() {
    let mut stage = Stage::new(|_| {}).await;
    let line = stage.call();
    say(&line, "a\nb\n\nc").await;
    stage.rig.hear(stage.session, "c").await;
    line.said.send(FromProgram::TooLong).await.unwrap();
    let draft = next_draft(&mut stage.rig, stage.session).await;
    let body = Body::Raw { kind: "garbled".to_owned(), fault: Some(RawFault::Truncated) };
    assert_eq!(draft.body, body);
}

#[tokio::test]
async fn what_is_not_known_to_have_arrived_is_told_again() {
    let mut stage = Stage::new(|config| config.limits.attach = PATIENCE).await;
    stage.rig.prompt(stage.session, "one").await;
    let mut line = stage.call();
    assert_eq!(told(&mut line).await.1, "one\n");
    drop(line);
    let mut line = stage.call();
    assert_eq!(told(&mut line).await, (1, "one\n".to_owned()));
    line.arrived.send(1).unwrap();
    drop(line);
    stage.rig.prompt(stage.session, "two").await;
    let mut line = stage.call();
    assert_eq!(told(&mut line).await, (2, "two\n".to_owned()));
}

#[tokio::test]
async fn a_second_call_takes_the_place_of_the_first_whose_words_are_heard_before() {
    let mut stage = Stage::new(|_| {}).await;
    let mut first = stage.call();
    say(&first, "hello").await;
    stage.hears(&["hello"]).await;
    let mut second = stage.call();
    assert!(soon("the first line ends", first.told.recv()).await.is_none());
    say(&second, "new").await;
    say(&first, "old").await;
    stage.hears(&["old"]).await;
    drop(first);
    stage.hears(&["new"]).await;
    stage.rig.prompt(stage.session, "for the second").await;
    assert_eq!(told(&mut second).await.1, "for the second\n");
}

#[tokio::test]
async fn what_it_repeats_when_it_comes_back_is_heard_once() {
    let mut stage = Stage::new(|config| config.limits.attach = PATIENCE).await;
    let line = stage.call();
    say(&line, "{\"uuid\":\"1\"}\n").await;
    stage.hears(&["{\"uuid\":\"1\"}"]).await;
    drop(line);
    let line = stage.call();
    say(&line, "{\"uuid\":\"1\"}\n").await;
    say(&line, "{\"uuid\":\"2\"}\n").await;
    stage.hears(&["{\"uuid\":\"2\"}"]).await;
}

#[tokio::test]
async fn a_program_that_never_calls_is_stopped_and_its_complaint_is_shown() {
    let script = json!([{ "do": "stderr", "text": "may not call\n" }, { "do": "hang" }]);
    let reception = CallbackRegistry::at("ws://127.0.0.1:1/ws/cli");
    let mut rig = Rig::caller(script, reception, |config| {
        config.limits = hasty();
        config.limits.attach = Duration::from_secs(1);
    });
    let session = rig.open().await;
    let life = rig.life(session).await;
    let why = "Fake does not answer and was stopped: it did not call back within 1 s: may not call";
    assert_eq!(life.reason, why);
    assert_eq!(life.sleep.stderr, "may not call");
}

#[tokio::test]
async fn a_program_that_does_not_come_back_is_stopped() {
    let mut stage = Stage::new(|config| config.limits.attach = Duration::from_secs(1)).await;
    drop(stage.call());
    let life = stage.rig.life(stage.session).await;
    assert!(
        life.reason.ends_with("its connection broke and it did not connect again within 1 s"),
        "{}",
        life.reason
    );
    assert_eq!(life.sleep.cause, SleepCause::Exited);
}

#[tokio::test]
async fn a_program_that_takes_nothing_is_stopped() {
    let mut stage = Stage::new(|config| config.limits.outgoing = 10).await;
    let mut line = stage.call();
    stage.rig.prompt(stage.session, "more than ten").await;
    assert_eq!(told(&mut line).await.1, "more than ten\n");
    let life = stage.rig.life(stage.session).await;
    assert_eq!(
        life.reason,
        "Fake did not read its input, so the hub stopped it; the next prompt starts it again"
    );
}

#[tokio::test]
async fn a_stop_is_a_farewell_after_which_it_does_not_come_back() {
    let phone = Phone::new().await;
    let script = json!([{ "do": "env", "name": caller::TOKEN }, { "do": "wait", "call": phone.number }]);
    let mut stage = Stage::with(script, |config| config.limits = patient()).await;
    let waits = phone.call().await;
    let mut line = stage.call();
    stage.rig.prompt(stage.session, "last").await;
    stage.rig.stop(stage.session).await;
    assert_eq!(told(&mut line).await.1, "last\n");
    let farewell = soon("a farewell", line.told.recv()).await;
    assert_eq!(farewell, Some(ToProgram::Close { code: caller::FAREWELL, reason: "stopped".to_owned() }));
    say(&line, "bye").await;
    // The process goes with its last words on their way.
    drop((waits, line));
    let life = stage.rig.life(stage.session).await;
    assert_eq!((life.texts(), life.sleep.cause), (vec!["bye"], SleepCause::Stopped));
    assert!(!stage.reception.knows(&stage.token), "its token is of no more use");
    assert!(stage.reception.answer(stage.session, &stage.token).is_none());
}

#[tokio::test]
async fn only_its_own_token_opens_a_line() {
    let mut stage = Stage::new(|_| {}).await;
    let other = stage.rig.open().await;
    let others = next_text(&mut stage.rig, other).await;
    assert_ne!(stage.token, others);
    assert!(stage.reception.knows(&others) && !stage.reception.knows("guess") && !stage.reception.knows(""));
    for token in [others.as_str(), "guess", ""] {
        assert!(stage.reception.answer(stage.session, token).is_none(), "{token}");
    }
    assert!(!format!("{:?}", stage.reception).contains(&others), "tokens are not printed by accident");
}

#[tokio::test]
async fn without_an_address_it_is_not_started() {
    let mut rig = Rig::caller(hangs(), CallbackRegistry::default(), |_| {});
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert!(life.reason.contains("has no address for it"), "{}", life.reason);
    assert_eq!(life.sleep.cause, SleepCause::FailedToStart);
}

#[tokio::test]
async fn a_question_is_asked_over_its_pipes() {
    let script = json!([{ "do": "read" }, { "do": "print", "line": "large" }, { "do": "echo" }]);
    let mut rig = Rig::caller(script, CallbackRegistry::default(), |_| {});
    let answer = rig.answer(ModelsQuery { agent: "fake".into(), anew: false }).await;
    let Ok(Answer::Models(models)) = answer else { panic!("{answer:?}") };
    assert_eq!(models[0].id, "large");
}
