//! The story of a catalog that is written with its journal.

use longshore_model::approval::{ApprovalRequest, Decision, QuestionRequest, Subject};
use longshore_model::event::Body;
use longshore_model::id::{ApprovalId, QuestionId, Seq};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::usage::Usage;
use uuid::Uuid;

use super::listing::{
    sessions_are_listed_filtered_and_paged, what_a_restart_cut_is_known, what_is_unfinished_is_known,
};
use super::rebuild::it_can_be_made_anew;
use super::sample::{Talk, all, append, at, end, parts, session, turn};
use super::search::{no_query_breaks_the_search, words_are_found};
use super::{Reopen, everything};
use crate::{Batch, Stores, WithRaw};

/// Tests everything that a catalog promises. `empty` is a second catalog, which the story builds from the
/// journal.
pub async fn catalog(log: Stores, reopen: Reopen<'_>, empty: Stores) {
    a_row_stands_as_it_was_last_written(&log).await;
    sessions_are_listed_filtered_and_paged(&log).await;
    what_is_unfinished_is_known(&log).await;
    whoever_asked_is_found(&log).await;
    a_conversation_is_found_by_the_agents_name_for_it(&log).await;
    words_are_found(&log).await;
    let log = reopen(log);
    no_query_breaks_the_search(&log).await;
    old_sessions_are_forgotten(&log).await;
    a_session_that_is_erased_leaves_nothing_behind(&log).await;
    what_a_restart_cut_is_known(&log).await;
    what_was_used_is_added_up(&log).await;
    let listed = log.catalog.sessions(everything()).await.unwrap().sessions.len() as u64;
    let stats = log.catalog.stats().await.unwrap();
    assert_eq!(stats.sessions, listed + 4, "1, 21, 22 and 50 never had a row to list");
    let log = reopen(log);
    it_can_be_made_anew(&log, &empty).await;
}

async fn a_row_stands_as_it_was_last_written(log: &Stores) {
    let mut talk = Talk::new(2);
    let frames = talk.turn_of(2, &["a", "b"]);
    append(&*log.journal, talk.batch(frames[..2].to_vec())).await.unwrap();
    for title in ["first", "second"] {
        let info = Some(talk.info(|info| info.title = title.into()));
        append(&*log.journal, Batch { info, ..talk.batch(Vec::new()) }).await.unwrap();
    }
    let mut bare = Talk::new(1);
    let frames = bare.turn_of(1, &["no row"]);
    append(&*log.journal, bare.batch(frames)).await.unwrap();
    assert_eq!(log.catalog.session(talk.session).await.unwrap().unwrap().title, "second");
    assert!(log.catalog.session(session(1)).await.unwrap().is_none(), "no row was written for that one");
    assert!(log.catalog.session(session(99)).await.unwrap().is_none());
    assert_eq!(log.catalog.applied(talk.session).await.unwrap(), Seq(2));
}

async fn whoever_asked_is_found(log: &Stores) {
    let mut talk = Talk::new(21);
    let (approval, question) = (Uuid::from_u128(0xa), Uuid::from_u128(0xb));
    let subject = Subject::Command { command: "make".into(), cwd: None, always: Vec::new() };
    let asked = ApprovalRequest { approval: ApprovalId(approval), subject, options: vec![Decision::Deny] };
    let wondered = QuestionRequest { question: QuestionId(question), source: None, fields: Vec::new() };
    let frames = vec![
        talk.say(Body::ApprovalRequested(asked), None, "may I?", None),
        talk.say(Body::QuestionAsked(wondered), None, "which one?", None),
    ];
    append(&*log.journal, talk.batch(frames)).await.unwrap();
    assert_eq!(log.catalog.session_of(approval).await.unwrap(), Some(talk.session));
    assert_eq!(log.catalog.session_of(question).await.unwrap(), Some(talk.session));
    assert_eq!(log.catalog.session_of(Uuid::from_u128(0xc)).await.unwrap(), None);
}

async fn a_conversation_is_found_by_the_agents_name_for_it(log: &Stores) {
    for (number, agent, native) in
        [(61, "codex", "thread-1"), (62, "codex-acp", "thread-1"), (63, "codex", "thread-2")]
    {
        let mut talk = Talk::new(number);
        let frames = vec![talk.say(Body::TitleChanged, None, "a heron", None)];
        let info = talk.info(|info| {
            info.provider = agent.into();
            info.native = Some(native.into());
            info.updated_at = at(-1);
        });
        append(&*log.journal, Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let found = async |agent: &str, native: &str| {
        log.catalog.native(agent.into(), native.into()).await.unwrap().map(|info| info.session_id)
    };
    assert_eq!(found("codex", "thread-1").await, Some(session(61)));
    assert_eq!(found("codex-acp", "thread-1").await, Some(session(62)));
    assert_eq!(found("claude", "thread-2").await, Some(session(63)), "one program, driven in two ways");
    assert_eq!(found("codex", "thread-3").await, None);
}

async fn old_sessions_are_forgotten(log: &Stores) {
    let mut talk = Talk::new(50);
    let mut busy = Talk::new(51);
    for (talk, activity) in [(&mut talk, Activity::Closed), (&mut busy, Activity::Working)] {
        let frames = talk.turn_of(50, &["the ", "barnacle"]);
        let info = Some(talk.info(|info| {
            info.activity = activity;
            info.updated_at = at(-100);
        }));
        append(&*log.journal, Batch { info, ..talk.batch(frames) }).await.unwrap();
    }
    let asked = ApprovalRequest {
        approval: ApprovalId(Uuid::from_u128(0xd)),
        subject: Subject::Permissions { permissions: serde_json::Value::Null },
        options: Vec::new(),
    };
    let ask = vec![talk.say(Body::ApprovalRequested(asked), None, "", None)];
    append(&*log.journal, talk.batch(ask)).await.unwrap();
    let before = log.catalog.stats().await.unwrap();
    assert_eq!(log.catalog.search("barnacle".into(), 10).await.unwrap().len(), 2);

    assert_eq!(log.journal.forget(at(-100)).await.unwrap(), 0, "not older than that moment");
    assert_eq!(log.journal.forget(at(-99)).await.unwrap(), 1, "the other one works");

    assert_eq!(end(&*log.journal, talk.session).await, Seq::ZERO);
    assert!(log.catalog.session(talk.session).await.unwrap().is_none());
    assert!(all(&*log.journal, talk.session, 10, WithRaw::Yes).await.is_empty());
    assert_eq!(log.catalog.session_of(Uuid::from_u128(0xd)).await.unwrap(), None);
    let hits = log.catalog.search("barnacle".into(), 10).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.session).collect::<Vec<_>>(), [busy.session]);
    let after = log.catalog.stats().await.unwrap();
    assert_eq!((after.sessions + 1, after.events + 7), (before.sessions, before.events));

    // The id of an erased session can be used again, from the first seq.
    let mut again = Talk::new(50);
    let frames = again.turn_of(52, &["anew"]);
    append(&*log.journal, again.batch(frames.clone())).await.unwrap();
    assert_eq!(parts(&all(&*log.journal, again.session, 10, WithRaw::Yes).await), parts(&frames));
}

async fn what_was_used_is_added_up(log: &Stores) {
    let day = 24 * 3600;
    let begin = 1_000 * day;
    // One turn each: who, where, when, and whether its tokens are known. The last turn is a copy of the turn
    // before.
    let turns = [
        (60, 1u128, 0, true),
        (60, 2, 10, false),
        (61, 3, day, true),
        (62, 4, day, true),
        (62, 5, 2 * day, true),
    ];
    for (number, name, after, known) in turns.into_iter().chain([(63, 5, 2 * day + 1, true)]) {
        let mut talk = Talk::new(number);
        talk.seq = end(&*log.journal, talk.session).await;
        talk.turn = Some(turn(0x600 + name));
        talk.clock = begin + after;
        let mut end = TurnEnd::of(TurnOutcome::Completed);
        end.usage = known.then(|| Usage {
            input: Some(100),
            cached_input: Some(30),
            output: Some(7),
            ..Usage::default()
        });
        end.cost_usd = known.then_some(0.25);
        let frames = vec![talk.say(Body::TurnFinished(end), None, "", None)];
        let info = talk.info(|info| {
            info.project = (number != 62).then(|| "boat".to_owned());
            info.updated_at = at(begin);
        });
        append(&*log.journal, Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let days = log.catalog.usage(at(begin)).await.unwrap();
    let first = at(begin + 1).to_string()[..10].to_owned();
    let told: Vec<_> =
        days.iter().map(|day| (day.project.as_deref(), day.turns, day.input, day.cost)).collect();
    let expected = [
        (Some("boat"), 2, 100, 0.25),
        (None, 1, 100, 0.25),
        (Some("boat"), 1, 100, 0.25),
        (None, 1, 100, 0.25),
    ];
    assert_eq!(told, expected, "{days:?}");
    assert_eq!((days[0].day.as_str(), days[0].agent.as_str()), (first.as_str(), "codex"));
    assert_eq!((days[0].cached, days[0].output), (30, 7));
    assert_eq!(log.catalog.usage(at(begin + 2 * day)).await.unwrap().len(), 1);
}

async fn a_session_that_is_erased_leaves_nothing_behind(log: &Stores) {
    let mut talk = Talk::new(7_001);
    let frames = talk.turn_of(7_001, &["a secret called xyzzyplugh"]);
    let info = Some(talk.info(|info| {
        info.activity = Activity::Working;
        info.native = Some("native-7001".to_owned());
    }));
    append(&*log.journal, Batch { info, ..talk.batch(frames) }).await.unwrap();
    assert_eq!(log.catalog.search("xyzzyplugh".to_owned(), 10).await.unwrap().len(), 1);
    assert!(!log.catalog.is_erased("native-7001".to_owned()).await.unwrap());

    assert!(log.journal.erase(talk.session).await.unwrap(), "whatever it does");
    assert!(!log.journal.erase(talk.session).await.unwrap(), "it is gone already");
    assert!(log.catalog.search("xyzzyplugh".to_owned(), 10).await.unwrap().is_empty());
    assert_eq!(end(&*log.journal, talk.session).await, Seq::ZERO);
    assert_eq!(log.catalog.session(talk.session).await.unwrap(), None);
    assert!(log.journal.read(talk.session, Seq::ZERO, 10, WithRaw::Yes).await.unwrap().is_empty());
    assert!(log.catalog.is_erased("native-7001".to_owned()).await.unwrap());
}
