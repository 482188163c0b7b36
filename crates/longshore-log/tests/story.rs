//! The story that every backend must tell the same way.

use std::collections::BTreeMap;
use std::path::Path;

use longshore_log::search::{MATCH_BEGIN, MATCH_END};
use longshore_log::{
    Batch, Log, LogError, LogSettings, MemoryLog, PAGE_BYTES, SessionFilter, SqliteLog, WithRaw,
};
use longshore_model::approval::{ApprovalRequest, Decision, QuestionRequest, Subject};
use longshore_model::device::{Device, DeviceMode, PushKeys, PushSubscription, StoredDevice, StoredPush};
use longshore_model::event::{Body, Growth};
use longshore_model::frame::Frame;
use longshore_model::id::{ApprovalId, DeviceId, PromptId, QuestionId, Seq};
use longshore_model::info::{Activity, QueuedPrompt, Status};
use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::usage::Usage;
use uuid::Uuid;

use crate::sample::{Talk, all, at, item, parts, seqs, session, turn};

/// Opens the same log again, where that means something.
type Reopen<'a> = &'a dyn Fn(Box<dyn Log>) -> Box<dyn Log>;

#[tokio::test]
async fn memory_tells_the_story() {
    story(Box::new(MemoryLog::new()), &|log| log).await;
}

#[tokio::test]
async fn sqlite_tells_the_story() {
    let folder = tempfile::tempdir().unwrap();
    let open =
        |path: &Path| Box::new(SqliteLog::open(path, &LogSettings::default()).unwrap()) as Box<dyn Log>;
    let reopen = |log: Box<dyn Log>| {
        drop(log);
        open(folder.path())
    };
    story(open(folder.path()), &reopen).await;
}

async fn story(log: Box<dyn Log>, reopen: Reopen<'_>) {
    events_are_read_as_they_were_written(&*log).await;
    a_page_holds_no_more_than_a_page(&*log).await;
    only_what_follows_is_taken(&*log).await;
    let log = reopen(log);
    events_go_on_after_a_restart(&*log).await;
    sessions_are_listed_filtered_and_paged(&*log).await;
    what_is_unfinished_is_known(&*log).await;
    whoever_asked_is_found(&*log).await;
    a_conversation_is_found_by_the_agents_name_for_it(&*log).await;
    words_are_found(&*log).await;
    let log = reopen(log);
    no_query_breaks_the_search(&*log).await;
    compaction_changes_nothing_that_is_seen(&*log).await;
    let log = reopen(log);
    compaction_spares_what_is_not_said_again(&*log).await;
    old_sessions_are_forgotten(&*log).await;
    a_session_that_is_erased_leaves_nothing_behind(&*log).await;
    what_a_restart_cut_is_known(&*log).await;
    devices_are_kept(&*log).await;
    let log = reopen(log);
    devices_are_there_after_a_restart(&*log).await;
    what_was_used_is_added_up(&*log).await;
    let listed = log.sessions(everything()).await.unwrap().sessions.len() as u64;
    let stats = log.stats().await.unwrap();
    assert_eq!(stats.sessions, listed + 7, "1, 3, 21, 22, 30, 40 and 50 never had a row to list");
}

fn everything() -> SessionFilter {
    SessionFilter { limit: usize::MAX, ..SessionFilter::default() }
}

async fn events_are_read_as_they_were_written(log: &dyn Log) {
    let mut talk = Talk::new(1);
    assert_eq!(log.head(talk.session).await.unwrap(), Seq::ZERO);
    assert!(log.read(talk.session, Seq::ZERO, 10, WithRaw::Yes).await.unwrap().is_empty());

    let frames = talk.turn_of(1, &["Lift ", "the ", "anchor, ", "wörld\u{0}\u{1f6a2}"]);
    for batch in [&frames[..3], &frames[3..4], &frames[4..]] {
        log.append(talk.batch(batch.to_vec())).await.unwrap();
    }
    assert_eq!(log.head(talk.session).await.unwrap(), talk.seq);

    for page in [1, 2, 3, 100] {
        let read = all(log, talk.session, page, WithRaw::Yes).await;
        assert_eq!(parts(&read), parts(&frames), "in pages of {page}");
    }
    assert_eq!(read_event(&frames[4]), read_event(&all(log, talk.session, 100, WithRaw::No).await[4]));
    let bare = log.read(talk.session, Seq(2), 3, WithRaw::No).await.unwrap();
    assert_eq!(seqs(&bare), [3, 4, 5]);
    assert!(bare.iter().all(|frame| frame.raw().is_none()));
    let past = log.read(talk.session, Seq(u64::MAX), 3, WithRaw::Yes).await.unwrap();
    assert!(past.is_empty(), "nothing follows the end of all sessions");
    assert!(log.read(talk.session, Seq::ZERO, 0, WithRaw::Yes).await.unwrap().is_empty());
}

async fn a_page_holds_no_more_than_a_page(log: &dyn Log) {
    let mut talk = Talk::new(3);
    let (word, line) = ("w".repeat(1 << 20), "r".repeat(2 << 20));
    let mut frames: Vec<Frame> =
        (0..9).map(|_| talk.say(Body::MessageDelta, Some(item(3)), &word, Some(&line))).collect();
    // Little is told of a long line, and one event is more than a page.
    frames.extend((0..9).map(|_| talk.say(Body::MessageDelta, Some(item(3)), "", Some(&line))));
    frames.push(talk.say(Body::MessageDelta, Some(item(3)), &"w".repeat(PAGE_BYTES), Some(&line)));
    frames.push(talk.say(Body::MessageDelta, Some(item(3)), "", None));
    for frame in &frames {
        log.append(talk.batch(vec![frame.clone()])).await.unwrap();
    }
    for raw in [WithRaw::Yes, WithRaw::No] {
        let (mut read, mut after) = (Vec::new(), Seq::ZERO);
        loop {
            let page = log.read(talk.session, after, 1_000, raw).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.seq();
            let bytes: usize =
                page.iter().map(|frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len())).sum();
            assert!(bytes <= PAGE_BYTES || page.len() == 1, "{bytes} bytes of {} events", page.len());
            read.extend(page);
        }
        assert_eq!(seqs(&read), (1..=frames.len() as u64).collect::<Vec<_>>());
        assert!(raw == WithRaw::No || parts(&read) == parts(&frames), "as they were written");
    }
}

fn read_event(frame: &Frame) -> longshore_model::event::Event {
    (**frame.event().unwrap()).clone()
}

async fn only_what_follows_is_taken(log: &dyn Log) {
    let mut talk = Talk::new(2);
    let frames = talk.turn_of(2, &["a", "b"]);
    let refused = |frames: &[Frame]| log.append(talk.batch(frames.to_vec()));

    let gap = refused(&frames[1..]).await.unwrap_err();
    assert!(matches!(gap, LogError::Gap { expected: Seq(1), found: Seq(2), .. }), "{gap}");
    log.append(talk.batch(frames[..2].to_vec())).await.unwrap();
    let again = refused(&frames[..2]).await.unwrap_err();
    assert!(matches!(again, LogError::Gap { expected: Seq(3), found: Seq(1), .. }), "{again}");
    let hole = refused(&[frames[2].clone(), frames[4].clone()]).await.unwrap_err();
    assert!(matches!(hole, LogError::Gap { expected: Seq(4), found: Seq(5), .. }), "{hole}");
    assert_eq!(log.head(talk.session).await.unwrap(), Seq(2), "nothing of a refused batch is kept");

    // A batch of nothing but a row is welcome; the row stands as it was last written.
    for title in ["first", "second"] {
        let info = Some(talk.info(|info| info.title = title.into()));
        log.append(Batch { info, ..talk.batch(Vec::new()) }).await.unwrap();
    }
    assert_eq!(log.session(talk.session).await.unwrap().unwrap().title, "second");
    assert_eq!(log.head(talk.session).await.unwrap(), Seq(2));
    assert!(log.session(session(1)).await.unwrap().is_none(), "no row was written for that one");
    assert!(log.session(session(99)).await.unwrap().is_none());
}

async fn events_go_on_after_a_restart(log: &dyn Log) {
    let mut talk = Talk::new(2);
    let frames = talk.turn_of(2, &["a", "b"]);
    assert_eq!(log.head(talk.session).await.unwrap(), Seq(2));
    log.append(talk.batch(frames[2..].to_vec())).await.unwrap();
    assert_eq!(parts(&all(log, talk.session, 4, WithRaw::Yes).await), parts(&frames));
}

async fn sessions_are_listed_filtered_and_paged(log: &dyn Log) {
    for number in 10..20u128 {
        let mut talk = Talk::new(number);
        let frames = vec![talk.say(Body::SessionHandedOff, None, "", None)];
        let info = talk.info(|info| {
            info.title = format!("Über den Fluß {number}");
            info.updated_at = at(1_000 + number as i64 / 2); // pairs share a moment
            info.status = if number < 13 { Status::Error } else { Status::Idle };
            info.archived = number == 15;
            info.preview = (number == 16).then(|| "it sailed AWAY".into());
            info.project = (number == 17).then(|| "harbour_50%".into());
            if number == 18 {
                info.provider = "claude".into();
            }
        });
        log.append(Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let list = async |filter: SessionFilter| {
        let page = log.sessions(filter).await.unwrap();
        assert_eq!(page.next, None);
        let number = |info: &longshore_model::info::SessionInfo| info.session_id.0.as_u128() - 0x5e55_0000;
        page.sessions.iter().map(number).collect::<Vec<_>>()
    };
    let filter = SessionFilter::default;
    assert_eq!(list(filter()).await, [18, 19, 16, 17, 14, 15, 12, 13, 10, 11, 2]);
    assert_eq!(list(SessionFilter { status: Some(Status::Error), ..filter() }).await, [12, 10, 11]);
    assert_eq!(list(SessionFilter { agent: Some("claude".into()), ..filter() }).await, [18]);
    assert_eq!(list(SessionFilter { archived: Some(true), ..filter() }).await, [15]);
    let kept = SessionFilter { archived: Some(false), status: Some(Status::Idle), ..filter() };
    assert_eq!(list(kept).await, [18, 19, 16, 17, 14, 13, 2]);
    for (q, found) in [
        ("über den FLUSS", vec![]),
        ("über den fluß 11", vec![11]),
        ("  Sailed away ", vec![16]),
        ("_50%", vec![17]),
        ("%", vec![17]),
        ("/ME/boat", vec![18, 19, 16, 17, 14, 15, 12, 13, 10, 11, 2]),
        ("'; drop table sessions; --", vec![]),
    ] {
        assert_eq!(list(SessionFilter { q: Some(q.into()), ..filter() }).await, found, "{q}");
    }

    let (mut paged, mut cursor) = (Vec::new(), None);
    for _ in 0..4 {
        let page = log.sessions(SessionFilter { limit: 3, cursor, ..filter() }).await.unwrap();
        paged.extend(page.sessions);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(cursor, None);
    assert_eq!(paged, log.sessions(filter()).await.unwrap().sessions);
    assert_eq!(log.sessions(SessionFilter { limit: 0, ..filter() }).await.unwrap().sessions.len(), 1);
    let bad = log.sessions(SessionFilter { cursor: Some("page 2".into()), ..filter() }).await.unwrap_err();
    assert!(matches!(bad, LogError::BadCursor { .. }), "{bad}");
}

async fn what_is_unfinished_is_known(log: &dyn Log) {
    let talk = Talk::new(20);
    let prompt = QueuedPrompt {
        prompt: PromptId(Uuid::from_u128(1)),
        turn: turn(1),
        text: "go on".into(),
        attachments: Vec::new(),
        held: false,
        cut: false,
        by: "owner".into(),
    };
    let activities = [
        (Activity::Starting, true),
        (Activity::Working, true),
        (Activity::Waiting, true),
        (Activity::Idle, true),
        (Activity::Sleeping, false),
        (Activity::Closed, false),
    ];
    for (activity, expected) in activities {
        for queued in [false, true] {
            let info = talk.info(|info| {
                info.activity = activity;
                info.queue = if queued { vec![prompt.clone()] } else { Vec::new() };
            });
            log.append(Batch { info: Some(info.clone()), ..talk.batch(Vec::new()) }).await.unwrap();
            let unfinished = log.unfinished().await.unwrap();
            let expected = if expected || queued { vec![(*info).clone()] } else { Vec::new() };
            assert_eq!(unfinished, expected, "{activity:?}, queued: {queued}");
        }
    }
    let info = Some(talk.info(|_| ()));
    log.append(Batch { info, ..talk.batch(Vec::new()) }).await.unwrap();
}

async fn whoever_asked_is_found(log: &dyn Log) {
    let mut talk = Talk::new(21);
    let (approval, question) = (Uuid::from_u128(0xa), Uuid::from_u128(0xb));
    let subject = Subject::Command { command: "make".into(), cwd: None, always: Vec::new() };
    let asked = ApprovalRequest { approval: ApprovalId(approval), subject, options: vec![Decision::Deny] };
    let wondered = QuestionRequest { question: QuestionId(question), source: None, fields: Vec::new() };
    let frames = vec![
        talk.say(Body::ApprovalRequested(asked), None, "may I?", None),
        talk.say(Body::QuestionAsked(wondered), None, "which one?", None),
    ];
    log.append(talk.batch(frames)).await.unwrap();
    assert_eq!(log.session_of(approval).await.unwrap(), Some(talk.session));
    assert_eq!(log.session_of(question).await.unwrap(), Some(talk.session));
    assert_eq!(log.session_of(Uuid::from_u128(0xc)).await.unwrap(), None);
}

async fn a_conversation_is_found_by_the_agents_name_for_it(log: &dyn Log) {
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
        log.append(Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let found = async |agent: &str, native: &str| {
        log.native(agent.into(), native.into()).await.unwrap().map(|info| info.session_id)
    };
    assert_eq!(found("codex", "thread-1").await, Some(session(61)));
    assert_eq!(found("codex-acp", "thread-1").await, Some(session(62)));
    assert_eq!(found("claude", "thread-2").await, Some(session(63)), "one program, driven in two ways");
    assert_eq!(found("codex", "thread-3").await, None);
}

async fn words_are_found(log: &dyn Log) {
    let mut talk = Talk::new(22);
    let call = ToolCall {
        name: "exec_command".into(),
        kind: ToolKind::Execute,
        command: Some("cargo test -p porpoise".into()),
        cwd: None,
        input: serde_json::Value::Null,
    };
    let hay = "hay ".repeat(60);
    let outcome = Body::ToolFinished(ToolOutcome::of(ToolStatus::Failed));
    let user = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
    let frames = vec![
        talk.say(user, None, "Please run the tests of src/main.rs", None),
        talk.say(Body::MessageDelta, Some(item(22)), "a walrus", None),
        talk.say(Body::ToolStarted(call), Some(item(23)), "Runs the tests", None),
        talk.say(outcome, Some(item(23)), &format!("{hay}thread \u{0} panicked: narwhal\n{hay}"), None),
    ];
    log.append(talk.batch(frames)).await.unwrap();

    let found = async |query: &str| {
        let hits = log.search(query.into(), 10).await.unwrap();
        assert!(hits.iter().all(|hit| hit.session == talk.session));
        let mut seqs: Vec<u64> = hits.iter().map(|hit| hit.seq.0).collect();
        seqs.sort();
        seqs
    };
    assert_eq!(found("TESTS").await, [1, 3]);
    assert_eq!(found("tests porp").await, [3], "every word must be there, the last may be unfinished");
    assert_eq!(found("porp tests").await, [0; 0], "only the last may be unfinished");
    assert_eq!(found("src/main.rs").await, [1]);
    assert_eq!(found("main/src").await, [0; 0], "joined words stand side by side");
    assert_eq!(found("narwhal").await, [4], "also behind a NUL");
    assert_eq!(found("walrus").await, [0; 0], "a delta is not indexed, its final event will be");

    let hit = log.search("narwhal".into(), 10).await.unwrap().remove(0);
    assert_eq!((hit.item, hit.at), (Some(item(23)), at(4)));
    assert!(hit.snippet.contains(&format!("{MATCH_BEGIN}narwhal{MATCH_END}")), "{}", hit.snippet);
    assert!(hit.snippet.len() < 200 && hit.snippet.starts_with('…'), "{}", hit.snippet);
    assert_eq!(log.search("tests".into(), 1).await.unwrap().len(), 1);
}

async fn no_query_breaks_the_search(log: &dyn Log) {
    let long = "word ".repeat(10_000);
    let deep = "(".repeat(5_000);
    let hostile = [
        "",
        " ",
        "\"",
        "\"\"",
        "'",
        "*",
        "^",
        "-",
        "a*",
        "\"tests",
        "tests\"",
        "tests AND",
        "NOT tests",
        "tests OR",
        "NEAR(tests run, 3)",
        "text:tests",
        "{text} : tests",
        "- tests",
        "^tests",
        "tests + run",
        "(tests",
        "tests)",
        "\u{0}",
        "te\u{0}sts",
        "'; DROP TABLE events; --",
        "%",
        "_",
        "\\",
        "\u{2068}",
        "é",
        "漢字",
        "🚢",
        &long,
        &deep,
    ];
    for query in hostile {
        let hits = log.search(query.into(), usize::MAX).await;
        assert!(hits.is_ok(), "{query:?}: {hits:?}");
    }
    assert_eq!(log.search("\"tests\"".into(), 10).await.unwrap().len(), 2, "quotes are no syntax");
    assert_eq!(log.search("te\u{0}sts".into(), 10).await.unwrap().len(), 0);
}

/// What a client draws, in small: the words of every item, and every fact.
fn fold(frames: &[Frame]) -> (BTreeMap<Uuid, String>, Vec<String>) {
    let (mut items, mut facts) = (BTreeMap::<Uuid, String>::new(), Vec::new());
    for frame in frames {
        let event = frame.event().unwrap();
        let item = event.item.map(|item| item.0).unwrap_or_default();
        match event.body.growth() {
            Growth::Delta => items.entry(item).or_default().push_str(event.text()),
            Growth::Final => {
                items.insert(item, event.text().to_owned());
            }
            Growth::Fact => facts.push(frame.json().to_owned()),
        }
    }
    (items, facts)
}

async fn compaction_changes_nothing_that_is_seen(log: &dyn Log) {
    let mut talk = Talk::new(30);
    let mut frames = Vec::new();
    for number in 31..34 {
        frames.extend(talk.turn_of(number, &["one ", "two ", "three"]));
    }
    // One batch per event, as a slow agent gives them.
    for frame in &frames {
        log.append(talk.batch(vec![frame.clone()])).await.unwrap();
    }
    assert_eq!(log.compact(at(0)).await.unwrap().events, 0, "no turn ended before time began");
    assert_eq!(parts(&all(log, talk.session, 100, WithRaw::Yes).await), parts(&frames));

    // The first turn ends with its 7th event, at second 7; the second one at 14.
    let compacted = log.compact(at(8)).await.unwrap();
    assert_eq!((compacted.sessions, compacted.events), (2, 3 + 2), "here and in session 2");
    let compacted = log.compact(at(15)).await.unwrap();
    assert_eq!((compacted.sessions, compacted.events), (2, 3 + 4), "here and in session 1");
    assert_eq!(log.compact(at(15)).await.unwrap(), Default::default(), "once is enough");

    let kept = all(log, talk.session, 2, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    assert_eq!(fold(&kept), fold(&frames));
    let mut expected = parts(&frames);
    expected.retain(|(seq, ..)| seqs(&kept).contains(seq));
    assert_eq!(parts(&kept), expected, "what is left is as it was, raw frames too");

    // A client that was in the middle of what went goes on without a gap or a double.
    for after in 0..=21 {
        let rest = log.read(talk.session, Seq(after), 100, WithRaw::No).await.unwrap();
        assert!(seqs(&rest).iter().all(|seq| *seq > after));
        let caught_up = [&frames[..after as usize], &rest].concat();
        assert_eq!(fold(&caught_up), fold(&frames), "after {after}");
    }
    let more = talk.turn_of(35, &["four"]);
    log.append(talk.batch(more)).await.unwrap();
    assert_eq!(log.head(talk.session).await.unwrap(), talk.seq);
}

async fn compaction_spares_what_is_not_said_again(log: &dyn Log) {
    let mut talk = Talk::new(40);
    let mut frames = talk.turn_of(41, &["in ", "a turn"]);
    let end = frames.pop().unwrap();
    talk.seq = Seq(talk.seq.0 - 1);
    talk.turn = Some(turn(41));
    let outlives = item(42);
    frames.push(talk.say(Body::ToolOutputDelta, Some(outlives), "a tool that outlives its turn", Some("{}")));
    frames.push(talk.say(Body::PlanUpdated { steps: Vec::new() }, Some(item(43)), "a plan", None));
    frames.push(talk.say(Body::PlanDelta, Some(item(43)), "that grew once more", None));
    let finished = read_event(&end).body;
    frames.push(talk.say(finished, None, "", None));
    log.append(talk.batch(frames.clone())).await.unwrap();

    let drop_of = async |ended| log.compact(ended).await.unwrap().events;
    assert_eq!(drop_of(at(500)).await, 2 + 3 + 1, "two here, and what other sessions had left");
    let kept = all(log, talk.session, 100, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 5, 6, 7, 8, 9]);
    assert_eq!(fold(&kept), fold(&frames));

    // In the next turn the tool ends, and the session's last event is a delta whose item is final: it stays.
    let next = talk.turn_of(44, &["x"]);
    log.append(talk.batch(next)).await.unwrap();
    talk.turn = Some(turn(44));
    let ended = Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed));
    let late = vec![
        talk.say(ended, Some(outlives), "a tool that outlived its turn", None),
        talk.say(Body::MessageDelta, Some(item(44)), "a late delta", None),
    ];
    log.append(talk.batch(late)).await.unwrap();
    assert_eq!(drop_of(at(500)).await, 2, "the tool's output of the turn before, and this turn's x");
    let kept = all(log, talk.session, 100, WithRaw::Yes).await;
    assert_eq!(seqs(&kept), [1, 2, 5, 7, 8, 9, 10, 11, 13, 14, 15, 16]);
    assert_eq!(log.head(talk.session).await.unwrap(), Seq(16));
}

async fn old_sessions_are_forgotten(log: &dyn Log) {
    let mut talk = Talk::new(50);
    let mut busy = Talk::new(51);
    for (talk, activity) in [(&mut talk, Activity::Closed), (&mut busy, Activity::Working)] {
        let frames = talk.turn_of(50, &["the ", "barnacle"]);
        let info = Some(talk.info(|info| {
            info.activity = activity;
            info.updated_at = at(-100);
        }));
        log.append(Batch { info, ..talk.batch(frames) }).await.unwrap();
    }
    let asked = ApprovalRequest {
        approval: ApprovalId(Uuid::from_u128(0xd)),
        subject: Subject::Permissions { permissions: serde_json::Value::Null },
        options: Vec::new(),
    };
    let ask = vec![talk.say(Body::ApprovalRequested(asked), None, "", None)];
    log.append(talk.batch(ask)).await.unwrap();
    let before = log.stats().await.unwrap();
    assert_eq!(log.search("barnacle".into(), 10).await.unwrap().len(), 2);

    assert_eq!(log.forget(at(-100)).await.unwrap(), 0, "not older than that moment");
    assert_eq!(log.forget(at(-99)).await.unwrap(), 1, "the other one works");

    assert_eq!(log.head(talk.session).await.unwrap(), Seq::ZERO);
    assert!(log.session(talk.session).await.unwrap().is_none());
    assert!(all(log, talk.session, 10, WithRaw::Yes).await.is_empty());
    assert_eq!(log.session_of(Uuid::from_u128(0xd)).await.unwrap(), None);
    let hits = log.search("barnacle".into(), 10).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.session).collect::<Vec<_>>(), [busy.session]);
    let after = log.stats().await.unwrap();
    assert_eq!((after.sessions + 1, after.events + 7), (before.sessions, before.events));

    // Its name can be used again, from the beginning.
    let mut again = Talk::new(50);
    let frames = again.turn_of(52, &["anew"]);
    log.append(again.batch(frames.clone())).await.unwrap();
    assert_eq!(parts(&all(log, again.session, 10, WithRaw::Yes).await), parts(&frames));
}

fn device(number: u8, change: impl FnOnce(&mut Device)) -> StoredDevice {
    let mut device = Device {
        id: DeviceId(Uuid::from_u128(0xde_0000 + u128::from(number))),
        label: format!("phone {number} \u{1f4f1}"),
        mode: DeviceMode::Approve,
        created_at: at(i64::from(number)),
        last_used_at: None,
        revoked_at: None,
        unsaved: false,
    };
    change(&mut device);
    StoredDevice { device, token_hash: [number; 32] }
}

fn push(endpoint: &str, device: Option<DeviceId>) -> StoredPush {
    let keys = PushKeys { p256dh: "p".into(), auth: "a".into() };
    StoredPush { device, subscription: PushSubscription { endpoint: endpoint.into(), keys } }
}

async fn devices_are_kept(log: &dyn Log) {
    assert!(log.devices().await.unwrap().is_empty() && log.pushes().await.unwrap().is_empty());
    for number in [2, 1] {
        log.put_device(device(number, |_| ())).await.unwrap();
    }
    log.put_device(device(1, |device| device.revoked_at = Some(at(9)))).await.unwrap();
    let phone = Some(device(2, |_| ()).device.id);
    for (endpoint, device) in
        [("https://b", None), ("https://a", None), ("https://a", phone), ("https://c", phone)]
    {
        log.put_push(push(endpoint, device)).await.unwrap();
    }
    for endpoint in ["https://c", "https://never"] {
        log.drop_push(endpoint.into()).await.unwrap();
    }
}

async fn devices_are_there_after_a_restart(log: &dyn Log) {
    let revoked = device(1, |device| device.revoked_at = Some(at(9)));
    let (other, phone) = (device(2, |_| ()), device(2, |_| ()).device.id);
    assert_eq!(log.devices().await.unwrap(), [revoked, other]);
    assert_eq!(log.pushes().await.unwrap(), [push("https://a", Some(phone)), push("https://b", None)]);
}

async fn what_was_used_is_added_up(log: &dyn Log) {
    let day = 24 * 3600;
    let begin = 1_000 * day;
    // A turn each: who, where, when, and whether its tokens are known. The last one is a copy of the one before.
    let turns = [
        (60, 1u128, 0, true),
        (60, 2, 10, false),
        (61, 3, day, true),
        (62, 4, day, true),
        (62, 5, 2 * day, true),
    ];
    for (number, name, after, known) in turns.into_iter().chain([(63, 5, 2 * day + 1, true)]) {
        let mut talk = Talk::new(number);
        talk.seq = log.head(talk.session).await.unwrap();
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
        log.append(Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let days = log.usage(at(begin)).await.unwrap();
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
    assert_eq!(log.usage(at(begin + 2 * day)).await.unwrap().len(), 1);
}

async fn a_session_that_is_erased_leaves_nothing_behind(log: &dyn Log) {
    let mut talk = Talk::new(7_001);
    let frames = talk.turn_of(7_001, &["a secret called xyzzyplugh"]);
    let info = Some(talk.info(|info| {
        info.activity = Activity::Working;
        info.native = Some("native-7001".to_owned());
    }));
    log.append(Batch { info, ..talk.batch(frames) }).await.unwrap();
    assert_eq!(log.search("xyzzyplugh".to_owned(), 10).await.unwrap().len(), 1);
    assert!(!log.is_erased("native-7001".to_owned()).await.unwrap());

    assert!(log.erase(talk.session).await.unwrap(), "whatever it does");
    assert!(!log.erase(talk.session).await.unwrap(), "it is gone already");
    assert!(log.search("xyzzyplugh".to_owned(), 10).await.unwrap().is_empty());
    assert_eq!(log.head(talk.session).await.unwrap(), Seq::ZERO);
    assert_eq!(log.session(talk.session).await.unwrap(), None);
    assert!(log.read(talk.session, Seq::ZERO, 10, WithRaw::Yes).await.unwrap().is_empty());
    assert!(log.is_erased("native-7001".to_owned()).await.unwrap());
}

async fn what_a_restart_cut_is_known(log: &dyn Log) {
    let known = |rows: Vec<longshore_model::info::SessionInfo>, talk: &Talk| {
        rows.iter().any(|info| info.session_id == talk.session)
    };
    let mut talk = Talk::new(7_002);
    let frames = talk.turn_of(7_002, &["cut"]);
    let info = Some(talk.info(|info| info.cut_by_restart = true));
    log.append(Batch { info, ..talk.batch(frames) }).await.unwrap();
    assert!(known(log.cut().await.unwrap(), &talk));
    let archived = Some(talk.info(|info| {
        info.cut_by_restart = true;
        info.archived = true;
    }));
    log.append(Batch { info: archived, ..talk.batch(Vec::new()) }).await.unwrap();
    assert!(!known(log.cut().await.unwrap(), &talk), "somebody put it away");
    // A closed one is in the archive, too.
    let closed = Some(talk.info(|info| {
        info.status = Status::Completed;
        info.activity = Activity::Closed;
    }));
    log.append(Batch { info: closed, ..talk.batch(Vec::new()) }).await.unwrap();
    let listed = async |archived| {
        let filter = SessionFilter { archived: Some(archived), limit: 1_000, ..SessionFilter::default() };
        known(log.sessions(filter).await.unwrap().sessions, &talk)
    };
    assert!(listed(true).await && !listed(false).await);
}
