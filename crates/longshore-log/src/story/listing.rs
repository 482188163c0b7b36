//! The story of lists: filters, pages, and what waits for somebody.

use longshore_model::event::Body;
use longshore_model::id::PromptId;
use longshore_model::info::{Activity, QueuedPrompt, Status};
use uuid::Uuid;

use super::sample::{Talk, append, at, turn};
use crate::{Batch, LogError, SessionFilter, Stores};

pub(super) async fn sessions_are_listed_filtered_and_paged(log: &Stores) {
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
        append(&*log.journal, Batch { info: Some(info), ..talk.batch(frames) }).await.unwrap();
    }
    let list = async |filter: SessionFilter| {
        let page = log.catalog.sessions(filter).await.unwrap();
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
        let page = log.catalog.sessions(SessionFilter { limit: 3, cursor, ..filter() }).await.unwrap();
        paged.extend(page.sessions);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(cursor, None);
    assert_eq!(paged, log.catalog.sessions(filter()).await.unwrap().sessions);
    assert_eq!(log.catalog.sessions(SessionFilter { limit: 0, ..filter() }).await.unwrap().sessions.len(), 1);
    let bad =
        log.catalog.sessions(SessionFilter { cursor: Some("page 2".into()), ..filter() }).await.unwrap_err();
    assert!(matches!(bad, LogError::BadCursor { .. }), "{bad}");
}

pub(super) async fn what_is_unfinished_is_known(log: &Stores) {
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
            append(&*log.journal, Batch { info: Some(info.clone()), ..talk.batch(Vec::new()) })
                .await
                .unwrap();
            let unfinished = log.catalog.unfinished().await.unwrap();
            let expected = if expected || queued { vec![(*info).clone()] } else { Vec::new() };
            assert_eq!(unfinished, expected, "{activity:?}, queued: {queued}");
        }
    }
    let info = Some(talk.info(|_| ()));
    append(&*log.journal, Batch { info, ..talk.batch(Vec::new()) }).await.unwrap();
}

pub(super) async fn what_a_restart_cut_is_known(log: &Stores) {
    let known = |rows: Vec<longshore_model::info::SessionInfo>, talk: &Talk| {
        rows.iter().any(|info| info.session_id == talk.session)
    };
    let mut talk = Talk::new(7_002);
    let frames = talk.turn_of(7_002, &["cut"]);
    let info = Some(talk.info(|info| info.cut_by_restart = true));
    append(&*log.journal, Batch { info, ..talk.batch(frames) }).await.unwrap();
    assert!(known(log.catalog.cut().await.unwrap(), &talk));
    let archived = Some(talk.info(|info| {
        info.cut_by_restart = true;
        info.archived = true;
    }));
    append(&*log.journal, Batch { info: archived, ..talk.batch(Vec::new()) }).await.unwrap();
    assert!(!known(log.catalog.cut().await.unwrap(), &talk), "somebody put it away");
    // A closed session is in the archive, too.
    let closed = Some(talk.info(|info| {
        info.status = Status::Completed;
        info.activity = Activity::Closed;
    }));
    append(&*log.journal, Batch { info: closed, ..talk.batch(Vec::new()) }).await.unwrap();
    let listed = async |archived| {
        let filter = SessionFilter { archived: Some(archived), limit: 1_000, ..SessionFilter::default() };
        known(log.catalog.sessions(filter).await.unwrap().sessions, &talk)
    };
    assert!(listed(true).await && !listed(false).await);
}
