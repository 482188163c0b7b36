//! Agents that are servers, one for all sessions.

use std::time::Duration;

use longshore_model::anchor::{Answer, FromAnchor, ModelsQuery, ToAnchor};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::SleepCause;

use crate::rig::{Rig, hasty};

/// A server with a session that is connected.
async fn connected() -> (Rig, SessionId) {
    let mut rig = Rig::server(|_| {});
    let session = rig.open().await;
    rig.hear(session, "connected").await;
    rig.hear(session, "event hello").await;
    (rig, session)
}

#[tokio::test]
async fn requests_are_answered_and_events_are_heard() {
    let (mut rig, session) = connected().await;
    rig.prompt(session, "POST /a/b?c=d some body").await;
    rig.hear(session, "200 POST /a/b?c=d some body").await;
    rig.prompt(session, "POST /say nothing").await;
    rig.prompt(session, "POST /say grüße").await;
    rig.hear(session, "event grüße").await;
    rig.stop(session).await;
    assert_eq!(rig.life(session).await.sleep.cause, SleepCause::Stopped);
}

#[tokio::test]
async fn requests_of_a_session_go_one_after_the_other_and_those_of_others_at_once() {
    let (mut rig, first) = connected().await;
    let second = rig.open().await;
    rig.prompt(first, "POST /wait").await;
    rig.prompt(first, "GET /after").await;
    // Patient ones wait for nobody and keep nobody waiting.
    rig.prompt(second, "later POST /wait").await;
    rig.prompt(second, "GET /meanwhile").await;
    rig.hear(second, "200 GET /meanwhile ").await;
    rig.prompt(second, "POST /go").await;
    let mut heard = Vec::new();
    while heard.len() < 4 {
        if let FromAnchor::Said { session, drafts } = rig.next().await
            && session == first
        {
            heard.extend(drafts.into_iter().filter_map(|draft| draft.text));
        }
    }
    let at = |text: &str| heard.iter().position(|one| one == text);
    assert!(at("200 waited") < at("200 GET /after "), "{heard:?}");
    assert_eq!(heard.iter().filter(|one| *one == "200 waited").count(), 2);
}

#[tokio::test]
async fn a_stream_that_breaks_is_opened_again() {
    let (mut rig, session) = connected().await;
    rig.prompt(session, "POST /cut").await;
    rig.hear(session, "disconnected").await;
    rig.hear(session, "connected").await;
    rig.prompt(session, "POST /say again").await;
    rig.hear(session, "event again").await;
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_any_more_is_given_up() {
    let mut rig = Rig::server(|config| config.limits.stuck = Duration::from_millis(200));
    let (session, other) = (rig.open().await, rig.open().await);
    rig.hear(session, "connected").await;
    rig.prompt(session, "POST /refuse").await;
    let life = rig.life(session).await;
    assert_eq!(life.reason, "Fake does not answer and was stopped: the answer has the status 503");
    assert_eq!((life.sleep.cause, life.sleep.signal), (SleepCause::Exited, Some(15)));
    assert_eq!(rig.life(other).await.reason, life.reason, "it hosted both");
}

#[tokio::test]
async fn a_server_that_does_not_say_where_it_listens_is_given_up() {
    let mut rig = Rig::server(|config| {
        config.limits = hasty();
        config.limits.start = Duration::from_millis(200);
        config.settings.get_mut("fake").unwrap().args = vec!["mute".to_owned()];
    });
    let session = rig.open().await;
    let life = rig.life(session).await;
    assert!(life.reason.contains("did not say where it listens"), "{}", life.reason);
}

#[tokio::test]
async fn what_takes_too_long_or_is_too_much_fails_by_itself() {
    let mut rig = Rig::server(|config| {
        config.limits.answer = Duration::from_millis(300);
        config.limits.line = 1024 * 1024;
    });
    let session = rig.open().await;
    rig.hear(session, "connected").await;
    rig.prompt(session, "GET /never").await;
    rig.hear(session, "no answer within 0 s").await;
    rig.prompt(session, "GET /big").await;
    rig.hear(session, "cannot read the answer: length limit exceeded").await;
    rig.prompt(session, "GET /small").await;
    rig.hear(session, "200 GET /small ").await;
}

#[tokio::test]
async fn sessions_come_and_go_and_the_process_goes_with_the_last() {
    let mut rig = Rig::server(|config| config.linger = Duration::from_millis(50));
    let (first, second) = (rig.open().await, rig.open().await);
    rig.hear(second, "event hello").await;
    rig.stop(first).await;
    assert_eq!(rig.life(first).await.reason, "stopped; the agent's process may continue for other sessions");
    rig.prompt(second, "GET /still").await;
    rig.hear(second, "200 GET /still ").await;
    rig.prompt(second, "end").await;
    let life = rig.life(second).await;
    assert_eq!((life.sleep.cause, life.reason.as_str()), (SleepCause::Exited, "it had enough"));
    // A session that comes while the process ends, or after, gets a process all the same.
    for _ in 0..20 {
        let third = rig.open().await;
        rig.prompt(third, "GET /third").await;
        rig.hear_past_gone(third, "200 GET /third ").await;
        rig.stop(third).await;
        rig.life(third).await;
    }
}

#[tokio::test]
async fn a_session_can_be_opened_again_where_it_is() {
    let (mut rig, session) = connected().await;
    let mut launch = rig.launch();
    launch.session = session;
    rig.send(ToAnchor::Open(launch)).await;
    assert_eq!(rig.life(session).await.sleep.cause, SleepCause::Stopped);
    rig.prompt(session, "GET /back").await;
    rig.hear(session, "200 GET /back ").await;
}

#[tokio::test]
async fn the_death_of_the_server_is_the_end_of_all_its_sessions() {
    let (mut rig, first) = connected().await;
    let second = rig.open().await;
    rig.prompt(first, "POST /die").await;
    for session in [first, second] {
        let life = rig.life(session).await;
        assert_eq!((life.sleep.cause, life.sleep.exit_code), (SleepCause::Exited, Some(3)));
    }
    let third = rig.open().await;
    rig.hear(third, "connected").await;
}

#[tokio::test]
async fn the_server_that_is_there_is_asked() {
    let (mut rig, session) = connected().await;
    let answer = rig.answer(ModelsQuery { agent: "fake".into(), anew: false }).await;
    let Ok(Answer::Models(models)) = answer else { panic!("{answer:?}") };
    assert_eq!(models[0].id, "200 GET /models ");
    rig.prompt(session, "GET /on").await;
    rig.hear(session, "200 GET /on ").await;
}

#[tokio::test]
async fn a_server_is_started_for_a_question_and_ends_after_it() {
    let mut rig = Rig::server(|config| {
        config.linger = Duration::from_millis(1);
        config.models_believed = Duration::ZERO;
    });
    for _ in 0..3 {
        let answer = rig.answer(ModelsQuery { agent: "fake".into(), anew: false }).await;
        assert!(matches!(answer, Ok(Answer::Models(_))), "{answer:?}");
    }
    // Also one that is about to end is asked, as it seems; another one answers.
    for _ in 0..30 {
        let answer = rig.answer(ModelsQuery { agent: "fake".into(), anew: false }).await;
        assert!(matches!(answer, Ok(Answer::Models(_))), "{answer:?}");
    }
    let gone = std::path::PathBuf::from("/no/such/server");
    let mut missing = Rig::server(|config| config.settings.get_mut("fake").unwrap().path = Some(gone));
    let answer = missing.answer(ModelsQuery { agent: "fake".into(), anew: false }).await;
    assert!(answer.unwrap_err().contains("is missing"));
}

/// The system ends an agent with the thread that started it, and the runtime lets go of threads that have nothing to do.
#[test]
fn a_process_stays_when_the_runtime_has_threads_to_spare() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().thread_keep_alive(Duration::from_millis(1)).build().unwrap();
    runtime.block_on(async {
        let (mut rig, session) = connected().await;
        for _ in 0..100 {
            rig.prompt(session, "GET /still").await;
            rig.hear(session, "200 GET /still ").await;
        }
    });
}
