//! The verbs with which a person steers a session: what its agent runs with, what waits, and the stop.

use longshore_model::event::{Body, Event};
use longshore_model::id::Seq;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::{Rig, Talk};
use super::verbs::{err, json_of, longshore, out};

/// A verb that must end well and say these words.
async fn says(rig: &Rig, arguments: &[&str], words: &str) -> String {
    let output = longshore(rig, arguments).await;
    let told = format!("{}{}", out(&output), err(&output));
    assert!(
        output.status.code() == Some(0) && told.contains(words),
        "{arguments:?}: {:?} {told}",
        output.status
    );
    told
}

/// A verb that is refused with this code, in these words.
async fn refuses(rig: &Rig, arguments: &[&str], code: i32, words: &str) {
    let output = longshore(rig, arguments).await;
    let told = err(&output);
    assert!(
        output.status.code() == Some(code) && told.contains(words),
        "{arguments:?}: {:?} {told}",
        output.status
    );
}

fn turns_that_ended(talk: &Talk) -> usize {
    talk.events.iter().filter(|event| matches!(event.body, Body::TurnFinished(_))).count()
}

#[tokio::test]
async fn a_turn_is_stopped_and_what_waited_is_moved_sent_and_discarded() {
    let slow = json!({ "say": "It goes on. ".repeat(400), "delay_ms": 40 });
    let rig = Rig::with(json!([{ "do": [slow] }, { "do": [{ "say": "Sent on." }] }])).await;
    let mut talk = rig.open("full").await;
    let first = talk.prompt("deploy").await;
    talk.until_event("it works", |event| matches!(event.body, Body::MessageDelta)).await;
    for words in ["one", "two", "three"] {
        says(&rig, &["prompt", "-", words, "--detach"], "queued: it runs when the running turn ends").await;
    }
    says(&rig, &["queue", "move", "-", "3", "1"], "the prompt was moved").await;
    says(&rig, &["queue"], "1  three\n2  one\n3  two\n").await;
    refuses(&rig, &["queue", "move", "-", "1", "4"], 2, "the queue has no position 4; 3 prompts are queued")
        .await;
    refuses(&rig, &["queue", "send", "-", "--all"], 5, "no prompt is held").await;
    says(&rig, &["interrupt", "-"], "the agent was told to stop the turn").await;
    assert_eq!(talk.until_turn_ends(first).await, TurnOutcome::Interrupted, "{}", talk.story());
    says(&rig, &["queue", "-"], "held since a turn was stopped; `longshore queue send ").await;
    let inbox = says(&rig, &["inbox"], "3 held: three; one; two").await;
    assert!(inbox.starts_with("send\t"), "{inbox}");
    let listed = says(&rig, &["ls", "--status", "interrupted"], "\tinterrupted\tcodex\t").await;
    assert!(listed.ends_with("\t0\t0\t3\n"), "{listed}");

    says(&rig, &["queue", "send", "-"], "1 prompt is sent").await;
    talk.until("the next one was sent", |talk| turns_that_ended(talk) == 2).await;
    let said = |body: &Body| matches!(body, Body::UserMessage { .. });
    assert_eq!(talk.said(said), ["deploy", "three"], "one of them, and the first: {}", talk.story());
    says(&rig, &["queue"], "1  [held] one\n2  [held] two\n").await;
    says(&rig, &["queue", "discard", "-"], "the queue is empty").await;
    says(&rig, &["queue"], "no prompt is queued").await;
    refuses(&rig, &["queue", "send", "-", "--all"], 5, "no prompt is queued").await;
    assert_eq!(talk.messages().last(), Some(&"Sent on."), "{}", talk.story());
    refuses(&rig, &["interrupt"], 5, "no turn").await;
    refuses(&rig, &["queue", "move", "-", "1", "2"], 3, "longshore queue").await;
}

#[tokio::test]
async fn a_session_that_is_closed_drops_what_waited_and_says_so() {
    let slow = json!({ "say": "It goes on. ".repeat(400), "delay_ms": 40 });
    let rig = Rig::with(json!([{ "do": [slow] }])).await;
    let mut talk = rig.open("full").await;
    talk.prompt("deploy").await;
    talk.until_event("it works", |event| matches!(event.body, Body::MessageDelta)).await;
    for words in ["one", "two"] {
        says(&rig, &["prompt", "-", words, "--detach"], "queued: it runs when the running turn ends").await;
    }
    let session = talk.session.to_string();
    says(&rig, &["close", &session], "ended; 2 queued prompts were removed; its history is kept").await;
    says(&rig, &["queue", &session], "no prompt is queued").await;
}

#[tokio::test]
async fn what_waited_when_the_hub_was_killed_stands_in_the_inbox_and_is_sent_with_a_resume() {
    let slow = json!({ "say": "It goes on. ".repeat(400), "delay_ms": 40 });
    let mut rig =
        Rig::with(json!([{ "do": [slow] }, { "do": [{ "say": "On." }], "repeat": "forever" }])).await;
    let mut talk = rig.open_with("react", "full").await;
    talk.prompt("deploy").await;
    talk.until_event("it works", |event| matches!(event.body, Body::MessageDelta)).await;
    for words in ["then test", "then push"] {
        says(&rig, &["prompt", "-", words, "--detach"], "queued").await;
    }
    rig.kill().await;
    rig.start().await;
    let inbox =
        says(&rig, &["inbox"], "interrupted by a restart: deploy; then 2 held: then test; then push").await;
    assert!(inbox.starts_with("resume\t") && inbox.lines().count() == 1, "{inbox}");
    let queue = says(&rig, &["queue"], "1  [held] then test\n2  [held] then push\n").await;
    assert!(
        queue.contains("held since a restart of the hub interrupted the turn; `longshore resume "),
        "{queue}"
    );
    says(&rig, &["resume", "--all"], "2 prompts that were held follow").await;
    let mut talk = rig.follow(talk.session, Seq::ZERO).await;
    let said = |body: &Body| matches!(body, Body::UserMessage { .. });
    talk.until("they are sent", |talk| talk.said(said).contains(&"then push")).await;
    says(&rig, &["inbox"], "").await;
}

#[tokio::test]
async fn the_model_of_a_session_and_its_effort_are_told_and_changed() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "One." }] },
        // Codex may have the conversation summed up for the other model first.
        { "do": [{ "say": "Two." }], "repeat": "forever" },
    ]))
    .await;
    says(&rig, &["run", "codex", "first", "--mode", "full"], "One.").await;
    let known = json_of(&longshore(&rig, &["model", "-", "--json"]).await);
    let models: Vec<&str> =
        known["models"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    let other = *models.iter().find(|id| known["model"] != **id).unwrap_or_else(|| panic!("{known}"));
    let listed = says(&rig, &["model", "-"], other).await;
    assert!(listed.starts_with(known["model"].as_str().unwrap_or("default")), "{listed}");
    says(&rig, &["model", "-", other], &format!("model {other}")).await;
    says(&rig, &["effort", "-", "high"], "effort high").await;
    let listed = says(&rig, &["effort", "-"], "high\n").await;
    assert!(listed.starts_with("high\n") && listed.contains("\n  low\n"), "{listed}");
    let effort = json_of(&longshore(&rig, &["effort", "-", "--json"]).await);
    assert!(effort["effort"] == "high" && effort["efforts"].as_array().unwrap().len() > 1, "{effort}");
    says(&rig, &["show", "-"], "effort high").await;
    refuses(&rig, &["effort", "-", "silly"], 2, "its efforts are low, ").await;
    refuses(&rig, &["run", "codex", "hi", "--effort", "silly"], 2, "its efforts are ").await;
    says(&rig, &["prompt", "-", "second"], "Two.").await;
    assert_eq!(json_of(&longshore(&rig, &["model", "-", "--json"]).await)["model"], *other);
    let told: Value = serde_json::from_str(&rig.last_heard_by_model()).unwrap();
    assert_eq!((&told["model"], &told["reasoning"]["effort"]), (&json!(other), &json!("high")), "{told}");

    // The hint is about the verb that was used.
    refuses(&rig, &["effort", "high"], 2, "longshore effort - high").await;
    refuses(&rig, &["mode", "plan"], 2, "longshore mode - plan").await;
    refuses(&rig, &["model", "gpt-9"], 2, "longshore model - gpt-9").await;
    std::fs::write(rig.work().join("script.json"), "[]").unwrap();
    refuses(&rig, &["model", "script.json"], 2, "longshore model --script script.json").await;
    // It may be one that another service has.
    says(&rig, &["model", "-", "gpt-9"], "codex does not list `gpt-9`").await;
    let run = longshore(&rig, &["run", "codex", "third", "--mode", "full", "--model", "gpt-9"]).await;
    assert!(err(&run).contains("codex does not list `gpt-9`"), "{}", err(&run));
}

#[tokio::test]
async fn a_dash_is_the_latest_session_for_what_waits_in_it_too() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch one" } }] },
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch two" } }] },
        { "do": [{ "say": "Done." }], "repeat": "forever" },
    ]))
    .await;
    let mut first = rig.talk("ask", "the first").await;
    first.until_asked(1).await;
    let mut second = rig.talk("ask", "the second").await;
    second.until_asked(1).await;
    refuses(&rig, &["approve"], 2, "2 approvals wait").await;
    let allowed = says(&rig, &["approve", "-"], "allowed: run").await;
    assert!(allowed.contains("touch two"), "it is shown, since nobody named it: {allowed}");
    second.until_turn_ends(second.last_turn()).await;
    assert!(rig.work().join("two").exists() && !rig.work().join("one").exists());
    refuses(&rig, &["deny", "-"], 3, "no approval waits in this session").await;
    refuses(&rig, &["approve", &second.session.to_string()], 3, "no approval waits in this session").await;
    let short = &second.session.to_string()[28..];
    refuses(&rig, &["approve", short], 3, "no approval waits in this session").await;
    refuses(&rig, &["answer", short, "yes"], 3, "no question waits in this session").await;
    says(&rig, &["deny"], "denied").await;
    let decided = |event: &Event| matches!(event.body, Body::ApprovalDecided { .. });
    first.until_event("the other one is decided", decided).await;
}
