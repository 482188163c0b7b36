//! `kill -9` of the hub at random moments of a turn, again and again: nothing that a client has seen is ever gone.

use std::collections::HashSet;
use std::time::Duration;

use longshore_model::event::{Body, Event};
use longshore_model::id::{ApprovalId, Ids, Seq, SessionId};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::json;

use super::rig::{Rig, Talk};

const KILLS: usize = 50;

#[tokio::test]
async fn nothing_that_a_client_has_seen_is_gone_after_fifty_power_cuts() {
    // Every turn thinks, talks, asks for a command and talks again, for ever.
    let steps = json!([
        { "when": { "contains": "the end" }, "do": [{ "say": "At last." }] },
        { "repeat": "forever", "do": [
            { "reason": "Thinking about it" },
            { "say": "Some words that come one by one, slowly.", "delay_ms": 2 },
            { "call": "exec_command", "args": { "cmd": "echo one; echo two" } },
        ] },
    ]);
    let mut rig = Rig::with(steps).await;
    let mut talk = rig.open("ask").await;
    let session = talk.session;
    let mut seen: Vec<Event> = Vec::new();
    let mut chance = Chance(Ids::seeded(7));
    let mut in_mid_turn = 0;

    for round in 0..KILLS {
        talk.prompt(&format!("round {round}")).await;
        if chance.below(5) > 0 {
            // Most cuts are to be in mid-turn, however long the agent takes to come back.
            talk.until_event("a turn begins", |event| matches!(event.body, Body::TurnStarted { .. })).await;
        }
        // Hear a random number of events, say yes to some approvals, and cut the power.
        let enough = seen.len() + chance.below(45) + 1;
        let patience = Duration::from_millis(700 + chance.below(200) as u64);
        let hearing = async {
            while seen.len() + talk.events.len() < enough && talk.hear().await.is_ok() {
                let asked = talk.events.last().and_then(|event| match &event.body {
                    Body::ApprovalRequested(request) => Some(request.approval),
                    _ => None,
                });
                if let Some(approval) = asked.filter(|_| chance.below(3) > 0) {
                    let yes = json!({ "approval": approval, "decision": "allow_once" });
                    talk.client.send("decide", yes).await.unwrap();
                }
            }
        };
        // A turn that waits for an answer it does not get is a moment like any other.
        let _ = tokio::time::timeout(patience, hearing).await;
        rig.kill().await;
        seen.append(&mut talk.events);
        in_mid_turn += usize::from(is_in_a_turn(&seen));
        rig.start().await;

        let now = everything(&rig, session).await;
        assert!(
            now.len() >= seen.len(),
            "round {round}: {} events were seen, {} are there",
            seen.len(),
            now.len()
        );
        assert_eq!(&now[..seen.len()], &seen[..], "round {round}: what was seen is there, as it was seen");
        for (at, event) in now.iter().enumerate() {
            assert_eq!(event.seq, Seq(at as u64 + 1), "round {round}: seqs are dense");
        }
        // The talk goes on from the last thing that was heard; `hear` itself refuses gaps and doubles.
        talk = rig.follow(session, Seq(seen.len() as u64)).await;
        check_approvals(&mut talk, &now, round).await;
    }

    println!("{in_mid_turn} of {KILLS} cuts were in mid-turn; {} events were seen", seen.len());
    assert!(in_mid_turn >= KILLS / 2, "only {in_mid_turn} cuts were in mid-turn");
    talk.prompt("the end").await;
    let ends = |event: &Event| event.text() == "At last." && matches!(event.body, Body::MessageDone { .. });
    let waiting = async {
        while !talk.events.iter().any(ends) {
            talk.hear().await.unwrap();
            // Prompts that waited through the cuts run first; they ask, and are allowed.
            if let Some(Body::ApprovalRequested(request)) = talk.events.last().map(|event| &event.body) {
                let cancel = json!({ "approval": request.approval, "decision": "cancel" });
                talk.client.send("decide", cancel).await.unwrap();
            }
            // A turn that somebody stopped holds what waits behind it.
            if let Some(Body::QueueHeld) = talk.events.last().map(|event| &event.body) {
                let all = json!({ "session": session, "all": true });
                talk.client.send("sendQueued", all).await.unwrap();
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(120), waiting).await;
    assert!(ended.is_ok(), "the session never answered\n{}", talk.story());
    talk.until_turn_ends(talk.last_turn()).await;
    assert!(talk.messages().contains(&"At last."), "{}", talk.story());
    let mut all = seen;
    all.append(&mut talk.events);
    assert!(all.iter().any(|event| matches!(event.body, Body::SessionRevived { .. })), "it was revived");
    assert!(all.iter().filter(|event| matches!(event.body, Body::SessionSleeping(_))).count() >= KILLS / 2);
}

fn is_in_a_turn(seen: &[Event]) -> bool {
    let last = seen.iter().rev().find_map(|event| match event.body {
        Body::TurnStarted { .. } => Some(true),
        Body::TurnFinished(_) => Some(false),
        _ => None,
    });
    last == Some(true)
}

/// Every approval that was asked is decided, closed with a reason, or still waits in the inbox.
async fn check_approvals(talk: &mut Talk, before: &[Event], round: usize) {
    let asked: Vec<ApprovalId> = before
        .iter()
        .filter_map(|event| match &event.body {
            Body::ApprovalRequested(request) => Some(request.approval),
            _ => None,
        })
        .collect();
    let waiting: HashSet<ApprovalId> =
        talk.info().await.approvals.iter().map(|open| open.request.approval).collect();
    let closed: HashSet<ApprovalId> = everything_of(&mut talk.client, talk.session)
        .await
        .iter()
        .filter_map(|event| match &event.body {
            Body::ApprovalDecided { approval, .. } => Some(*approval),
            Body::ApprovalExpired { approval } => {
                assert!(!event.text().is_empty(), "round {round}: closed without a reason");
                Some(*approval)
            }
            _ => None,
        })
        .collect();
    for approval in asked {
        let fate = (closed.contains(&approval), waiting.contains(&approval));
        assert!(fate.0 != fate.1, "round {round}: an approval is closed or waits, not {fate:?}");
    }
}

async fn everything(rig: &Rig, session: SessionId) -> Vec<Event> {
    everything_of(&mut rig.client().await, session).await
}

async fn everything_of(client: &mut longshore::client::Client, session: SessionId) -> Vec<Event> {
    #[derive(serde::Deserialize)]
    struct Page {
        events: Vec<Event>,
        next: Option<Seq>,
    }
    let (mut all, mut after) = (Vec::new(), Seq::ZERO);
    loop {
        let query = json!({ "session": session, "after": after, "limit": 1000 });
        let page: Page = client.call("events", query).await.unwrap();
        all.extend(page.events);
        match page.next {
            Some(next) => after = next,
            None => return all,
        }
    }
}

/// Random, and the same in every run.
struct Chance(Ids);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        let bits = self.0.next(Timestamp::default()).as_u64_pair().1;
        (bits % limit as u64) as usize
    }
}

/// A hub that is asked to stop tells its sessions why they sleep, and the next one goes on.
#[tokio::test]
async fn a_hub_that_is_stopped_properly_puts_its_sessions_to_sleep() {
    let mut rig = Rig::with(json!([
        { "do": [{ "say": "word ".repeat(400), "delay_ms": 20 }] },
        { "do": [{ "say": "Awake again." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "talk").await;
    talk.until_event("it speaks", |event| matches!(event.body, Body::MessageDelta)).await;
    let turn = talk.last_turn();
    let down = rig.longshore().arg("down").output().await.unwrap();
    assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
    rig.kill().await;
    rig.start().await;
    let last = talk.events.last().unwrap().seq;
    let mut talk = rig.follow(talk.session, last).await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted);
    let turn = talk.prompt("again").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"Awake again."));
}

/// An agent that does not care whether anybody listens.
const STUBBORN: &str = r#"
[agents.stubborn]
driver = "acp"
command = ["sh", "-c", "echo $$ > stubborn.pid; while :; do sleep 0.1; done"]
"#;

#[tokio::test]
async fn a_killed_hub_leaves_no_agent_behind() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    std::fs::write(rig.folder.path().join("longshore/config.toml"), STUBBORN).unwrap();
    rig.start().await;
    rig.open_with("stubborn", "ask").await;
    let pid = rig.work().join("stubborn.pid");
    until("it runs", || std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))).await;
    let pid = std::fs::read_to_string(pid).unwrap();
    let agent = std::path::Path::new("/proc").join(pid.trim());
    assert!(agent.exists());
    rig.kill().await;
    // Gone, or dead and not yet fetched by anybody.
    let is_gone = || std::fs::read_to_string(agent.join("stat")).map_or(true, |stat| stat.contains(") Z "));
    until("it is gone", is_gone).await;
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..1_500 {
        pace.tick().await;
        if is_so() {
            return;
        }
    }
    panic!("never: {what}");
}
