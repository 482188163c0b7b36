//! Timelines as they are asked for: whole, up to date, and the same whether they were kept or not.

use std::sync::Arc;

use longshore_log::{MemoryLog, WithRaw};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Seq, SessionId};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Timeline;

use crate::rig::Rig;

async fn turn(rig: &mut Rig, session: SessionId, words: &str) {
    let turn = rig.prompt(session, words).await.unwrap();
    let done = Body::MessageDone { phase: None, partial: false };
    let item = rig.item();
    rig.say(session, vec![Draft::new(done).turn(turn).item(item).text(format!("{words}, indeed"))]).await;
    rig.finish(session, turn, TurnOutcome::Completed).await;
    rig.hub.settle().await;
    rig.left();
}

async fn folded_anew(rig: &Rig, session: SessionId) -> Timeline {
    let mut timeline = Timeline::default();
    for frame in rig.hub.events(session, Seq::ZERO, 10_000, WithRaw::No).await.unwrap() {
        timeline.apply(frame.event().unwrap());
    }
    timeline
}

#[tokio::test]
async fn a_timeline_goes_on_from_where_it_was_looked_at() {
    let mut rig = Rig::over(Arc::new(MemoryLog::default()));
    let mut sessions = Vec::new();
    // More than are kept, so that some are folded anew.
    for _ in 0..12 {
        sessions.push(rig.ready().await);
    }
    for round in 0..3 {
        for session in &sessions {
            turn(&mut rig, *session, &format!("round {round}")).await;
            let shown = rig.hub.timeline(*session).await.unwrap();
            assert_eq!(*shown, folded_anew(&rig, *session).await);
            assert!(shown.items.iter().any(|item| item.text == format!("round {round}, indeed")));
        }
    }
    let (held, again) =
        (rig.hub.timeline(sessions[11]).await.unwrap(), rig.hub.timeline(sessions[11]).await.unwrap());
    assert!(Arc::ptr_eq(&held, &again), "it was not folded twice");
    turn(&mut rig, sessions[11], "while somebody reads").await;
    let later = rig.hub.timeline(sessions[11]).await.unwrap();
    assert_eq!(*later, folded_anew(&rig, sessions[11]).await);
    assert!(held.head < later.head, "what somebody reads does not change under their eyes");
}
