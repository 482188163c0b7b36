//! Turns: how they begin, are spoken into, fail and end.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::id::{Ids, PromptId};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::{FaultCode, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::harness::{DriverHarness, THREAD, TURN, lines, only_draft, only_line};

fn outcome_in(out: &longshore_model::driver::Output) -> longshore_model::lifecycle::TurnEnd {
    let found = out.said.iter().find_map(|(_, draft)| match &draft.body {
        Body::TurnFinished(end) => Some(end.clone()),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no end in {:?}", out.said))
}

#[test]
fn an_error_has_a_word_that_is_the_same_for_every_agent() {
    let status = |word: &str, status: Value| json!({word: {"httpStatusCode": status}});
    for (info, message, code) in [
        (json!("usageLimitExceeded"), "limit", TurnErrorCode::UsageLimit),
        (json!("rateLimitExceeded"), "slow down", TurnErrorCode::RateLimited),
        (status("responseTooManyFailedAttempts", json!(429)), "429", TurnErrorCode::RateLimited),
        (json!("serverOverloaded"), "busy", TurnErrorCode::Overloaded),
        (status("httpConnectionFailed", json!(503)), "503", TurnErrorCode::Overloaded),
        (
            status("responseStreamDisconnected", Value::Null),
            "We're currently experiencing high demand",
            TurnErrorCode::Overloaded,
        ),
        (json!("contextWindowExceeded"), "full", TurnErrorCode::ContextWindow),
        (json!("unauthorized"), "who", TurnErrorCode::Unauthorized),
        (status("httpConnectionFailed", json!(401)), "401", TurnErrorCode::Unauthorized),
        (status("responseStreamConnectionFailed", Value::Null), "gone", TurnErrorCode::Network),
        (
            json!("other"),
            "stream disconnected before completion: stream closed before response.completed",
            TurnErrorCode::Network,
        ),
        (json!("other"), "stream disconnected before completion: The model exploded", TurnErrorCode::Other),
        (json!("aWordOfTomorrow"), "new", TurnErrorCode::Other),
        (json!({"aWordOfTomorrow": 5}), "new", TurnErrorCode::Other),
        (json!([1, 2]), "odd", TurnErrorCode::Other),
        (Value::Null, "bare", TurnErrorCode::Other),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let error = json!({"message": message, "codexErrorInfo": info, "additionalDetails": null});
        let said = harness.note("error", json!({"error": error, "willRetry": false, "turnId": TURN}));
        assert!(matches!(only_draft(&said).body, Body::Raw { .. }), "told twice");
        let out =
            harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "failed", "error": error}}));
        let end = outcome_in(&out);
        assert_eq!(end.outcome, TurnOutcome::Failed);
        let told = end.error.unwrap();
        assert_eq!((told.code, told.message.as_str()), (code, message), "of {info}");
        assert_eq!(told.details, info);
        assert_eq!(only_draft(&out).text.as_deref(), Some(message));
    }
}

#[test]
fn a_network_that_stays_away_ends_the_turn() {
    let waiting = json!({"error": {"message": "Reconnecting... waiting for network"}, "willRetry": true, "turnId": TURN});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.note("error", waiting.clone());
    assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Warning });
    harness.wait(60);
    harness.note("error", waiting.clone());
    assert!(harness.wait(59).said.is_empty());
    let out = harness.wait(1);
    assert_eq!(outcome_in(&out).error.unwrap().code, TurnErrorCode::Network);
    let stop = only_line(&out);
    assert_eq!((&stop["method"], &stop["params"]["turnId"]), (&json!("turn/interrupt"), &json!(TURN)));
    // The end that codex then tells is not a second one.
    harness.answer_ok("turn/interrupt", json!({}));
    let out = harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "interrupted"}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));

    // A network that comes back ends the wait.
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.note("error", waiting);
    harness.note("item/agentMessage/delta", json!({"turnId": TURN, "itemId": "m", "delta": "hi"}));
    assert_eq!(harness.deadline(), None);
}

#[test]
fn what_comes_too_late_for_a_turn_begins_the_next() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let steer = only_line(&harness.steer("also this"));
    assert_eq!((&steer["method"], &steer["params"]["expectedTurnId"]), (&json!("turn/steer"), &json!(TURN)));
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "completed"}}));
    let out = harness.answer_error("turn/steer", "no active turn to steer");
    let start = only_line(&out);
    assert_eq!(start["method"], "turn/start");
    assert_eq!(start["params"]["clientUserMessageId"], steer["params"]["clientUserMessageId"]);
    let out = harness.answer_ok("turn/start", json!({"turn": {"id": "turn-2"}}));
    assert!(matches!(only_draft(&out).body, Body::TurnStarted { prompt: Some(_) }));
    // The echo of it is not a second message.
    let echo = json!({"turnId": "turn-2", "item": {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "also this"}]}});
    assert!(matches!(only_draft(&harness.note("item/started", echo)).body, Body::Raw { .. }));
}

#[test]
fn what_is_said_into_a_turn_ends_what_the_agent_was_saying() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let item = |kind: &str, id: &str| json!({"turnId": TURN, "item": {"type": kind, "id": id}});
    let said = |id: &str, words: &str| json!({"turnId": TURN, "itemId": id, "delta": words});
    harness.note("item/started", item("reasoning", "r"));
    harness.note("item/reasoning/summaryTextDelta", said("r", "Let me"));
    harness.note("item/started", item("agentMessage", "m"));
    harness.note("item/agentMessage/delta", said("m", "one "));
    harness.note("item/agentMessage/delta", said("m", "two"));
    harness.note("item/started", item("commandExecution", "c"));
    harness.steer("rather three");
    harness.answer_ok("turn/steer", json!({"turnId": TURN}));
    let out = harness.note("item/started", item("userMessage", "u"));
    let ends: Vec<(&Body, Option<&str>)> =
        out.said.iter().map(|(_, draft)| (&draft.body, draft.text.as_deref())).collect();
    assert!(
        matches!(
            ends[..],
            [
                (Body::ReasoningDone { partial: true }, Some("Let me")),
                (Body::MessageDone { partial: true, .. }, Some("one two")),
                (Body::Raw { .. }, None),
            ]
        ),
        "{ends:?}"
    );
    // What comes after that is none of its words.
    let out = harness.note("item/agentMessage/delta", said("m", " late"));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{out:?}");
    harness.note("item/started", item("agentMessage", "n"));
    let whole = json!({"turnId": TURN, "item": {"type": "agentMessage", "id": "n", "text": "Three."}});
    let out = harness.note("item/completed", whole);
    assert!(matches!(only_draft(&out).body, Body::MessageDone { partial: false, .. }), "{out:?}");
}

#[test]
fn a_turn_that_will_not_be_steered_says_so() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.steer("also this");
    let out = harness.answer_error("turn/steer", "a review cannot be steered");
    assert!(matches!(only_draft(&out).body, Body::SessionError(fault) if fault.code == FaultCode::Refused));
}

#[test]
fn what_is_told_to_a_turn_without_a_name_waits_for_it() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    assert!(harness.steer("quick").lines.is_empty());
    assert!(harness.tell(AgentCommand::Interrupt { turn: harness.turn }).lines.is_empty());
    let out = harness.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
    let methods: Vec<Value> = lines(&out).iter().map(|line| line["method"].clone()).collect();
    assert_eq!(methods, ["turn/steer", "turn/interrupt"]);
}

#[test]
fn a_turn_may_begin_before_it_is_answered() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    let out = harness.note("turn/started", json!({"turn": {"id": TURN}}));
    assert_eq!(
        (&only_draft(&out).body, only_draft(&out).turn),
        (&Body::Raw { kind: "turn/started".to_owned(), fault: None }, Some(harness.turn))
    );
    let out = harness.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    let out = harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "completed"}}));
    assert_eq!(only_draft(&out).turn, Some(harness.turn));
}

#[test]
fn there_is_nothing_to_interrupt_when_codex_says_so() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    let out = harness.answer_error("turn/interrupt", "no active turn to interrupt");
    assert_eq!(outcome_in(&out).outcome, TurnOutcome::Interrupted);
}

#[test]
fn a_turn_that_codex_has_not_begun_is_interrupted_when_it_begins() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    harness.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    let out = harness.answer_error("turn/interrupt", "no active turn to interrupt");
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "it goes on");
    let stop = only_line(&harness.note("turn/started", json!({"turn": {"id": TURN}})));
    assert_eq!((&stop["method"], &stop["params"]["turnId"]), (&json!("turn/interrupt"), &json!(TURN)));
    let out = harness.answer_error("turn/interrupt", "no active turn to interrupt");
    assert_eq!(outcome_in(&out).outcome, TurnOutcome::Interrupted, "now it is over");
}

#[test]
fn a_thread_that_was_unloaded_is_resumed_before_it_hears_anything() {
    let mut harness = DriverHarness::in_turn(Mode::Full);
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "completed"}}));
    harness.tell(AgentCommand::Archive(true));
    harness.note("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
    assert!(matches!(only_draft(&harness.note("thread/archived", json!({}))).body, Body::Raw { .. }));
    harness.tell(AgentCommand::Archive(false));
    let resume = only_line(&harness.say("again"));
    assert_eq!(
        (&resume["method"], &resume["params"]["approvalPolicy"]),
        (&json!("thread/resume"), &json!("never"))
    );
    let out = harness.answer_ok("thread/resume", json!({"thread": {"id": THREAD}}));
    assert_eq!(only_line(&out)["method"], "turn/start");

    // Nobody may have said that it was.
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    let out = harness.answer_error("turn/start", "thread not found: thread-1");
    assert_eq!(only_line(&out)["method"], "thread/resume");
    let out = harness.answer_ok("thread/resume", json!({"thread": {"id": THREAD}}));
    assert_eq!(only_line(&out)["method"], "turn/start");
    let out = harness.answer_error("turn/start", "thread not found: thread-1");
    assert_eq!(outcome_in(&out).error.unwrap().message, "thread not found: thread-1");
}

#[test]
fn a_title_waits_until_there_is_something_to_entitle() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    assert!(harness.tell(AgentCommand::Rename("mine".to_owned())).lines.is_empty());
    harness.say("go");
    harness.answer_ok("turn/start", json!({"turn": {"id": TURN}}));
    let out = harness.note("turn/started", json!({"turn": {"id": TURN}}));
    let rename = only_line(&out);
    assert_eq!((&rename["method"], &rename["params"]["name"]), (&json!("thread/name/set"), &json!("mine")));
    assert!(matches!(
        only_draft(&harness.note("thread/name/updated", json!({"threadName": "mine"}))).body,
        Body::Raw { .. }
    ));
    let out = harness.note("thread/name/updated", json!({"threadName": "theirs"}));
    assert_eq!(
        (&only_draft(&out).body, only_draft(&out).text.as_deref()),
        (&Body::TitleChanged, Some("theirs"))
    );
}

#[test]
fn attachments_are_images_and_files_of_the_machine() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let prompt = PromptId(Ids::seeded(3).next(harness.now));
    let attach = |name: &str, media_type: &str, source| Attachment {
        name: Some(name.to_owned()),
        media_type: media_type.to_owned(),
        source,
    };
    let attachments = vec![
        attach("a.png", "image/png", AttachmentSource::Data("QUJD".to_owned())),
        attach("b.png", "image/png", AttachmentSource::Path("/w/b.png".to_owned())),
        attach("c.rs", "text/plain", AttachmentSource::Path("/w/c.rs".to_owned())),
        attach("d.pdf", "application/pdf", AttachmentSource::Data("QUJD".to_owned())),
    ];
    let out = harness.tell(AgentCommand::Prompt {
        turn: harness.turn,
        prompt,
        text: "look".to_owned(),
        attachments,
    });
    assert_eq!(
        only_line(&out)["params"]["input"],
        json!([
            {"type": "text", "text": "look"},
            {"type": "image", "url": "data:image/png;base64,QUJD"},
            {"type": "localImage", "path": "/w/b.png"},
            {"type": "mention", "name": "c.rs", "path": "/w/c.rs"},
        ])
    );
    assert!(only_draft(&out).text.as_deref().unwrap().contains("d.pdf was not passed on"));
}

#[test]
fn usage_of_a_turn_leaves_out_what_the_thread_had_used_before() {
    let count =
        |total: u64| json!({"totalTokens": total * 12 / 10, "inputTokens": total, "outputTokens": total / 5});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    // The first word of a thread that was resumed: 1000 before, 100 now.
    for (total, last) in [(1_100, 100), (1_300, 200)] {
        let usage = json!({"total": count(total), "last": count(last), "modelContextWindow": 1_000});
        let out = harness.note("thread/tokenUsage/updated", json!({"turnId": TURN, "tokenUsage": usage}));
        let Body::UsageUpdated(usage) = &only_draft(&out).body else { panic!("{out:?}") };
        assert_eq!((usage.input, usage.context_used), (Some(total), Some(last * 12 / 10)));
    }
    let out =
        harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "completed", "durationMs": 5}}));
    let end = outcome_in(&out);
    assert_eq!(
        (end.usage.unwrap().input, end.usage.unwrap().output, end.duration_ms),
        (Some(300), Some(60), Some(5))
    );
}

#[test]
fn an_allowance_is_told_when_it_changes() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let limits = |used: f64| {
        let primary = json!({"usedPercent": used, "windowDurationMins": 300, "resetsAt": 1_800_000_000});
        json!({"rateLimits": {"limitId": "codex", "primary": primary, "secondary": {"usedPercent": 3.5, "windowDurationMins": 10_080}}})
    };
    let out = harness.note("account/rateLimits/updated", limits(12.0));
    let names: Vec<String> = out
        .said
        .iter()
        .map(|(_, draft)| match &draft.body {
            Body::UsageLimited(limit) => limit.name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["codex 5 h", "codex 7 d"]);
    assert_eq!(out.said.iter().filter(|(_, draft)| draft.raw.is_some()).count(), 1);
    assert!(matches!(
        only_draft(&harness.note("account/rateLimits/updated", limits(12.0))).body,
        Body::Raw { .. }
    ));
    assert!(matches!(
        only_draft(&harness.note("account/rateLimits/updated", limits(13.0))).body,
        Body::UsageLimited(_)
    ));
}

#[test]
fn codex_may_change_its_model_by_itself() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.note(
        "model/rerouted",
        json!({"turnId": TURN, "fromModel": "gpt-5.5", "toModel": "gpt-6", "reason": "safety"}),
    );
    assert_eq!(only_draft(&out).body, Body::ModelChanged { model: "gpt-6".to_owned() });
    let out = harness.note("thread/settings/updated", json!({"threadSettings": {"model": "gpt-6"}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
}

#[test]
fn an_interrupted_turn_is_over_when_the_commands_that_it_began_are() {
    let command = |id: &str, status: &str| {
        json!({"turnId": TURN, "item": {"type": "commandExecution", "id": id, "command": "sleep 25", "cwd": "/w",
               "processId": "7", "status": status, "aggregatedOutput": "start\n", "exitCode": 137}})
    };
    let mut harness = DriverHarness::in_turn(Mode::Full);
    let begun = harness.note("item/started", command("c", "inProgress"));
    let item = only_draft(&begun).item;
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    harness.answer_ok("turn/interrupt", json!({}));
    let out = harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "interrupted"}}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "its command still runs");
    assert_eq!(only_line(&out)["method"], "thread/backgroundTerminals/list");
    // Whoever is impatient does not change that.
    assert!(harness.tell(AgentCommand::Interrupt { turn: harness.turn }).said.is_empty());
    let out = harness.answer_ok(
        "thread/backgroundTerminals/list",
        json!({"data": [{"itemId": "c", "processId": "7"}, {"itemId": "unheard of", "processId": "8"}]}),
    );
    let ended: Vec<Value> = lines(&out).iter().map(|line| line["params"]["processId"].clone()).collect();
    assert_eq!(ended, ["7", "8"]);
    for id in [
        harness.sent[harness.sent.len() - 2]["id"].clone(),
        harness.sent[harness.sent.len() - 1]["id"].clone(),
    ] {
        let out = harness.line(&json!({"id": id, "result": {"terminated": true}}));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    }
    let out = harness.note("item/completed", command("c", "failed"));
    let (first, second) = (&out.said[0].1, &out.said[1].1);
    assert!(matches!(&first.body, Body::ToolFinished(end) if end.status == ToolStatus::Cancelled));
    assert_eq!((first.item, first.turn, first.text.as_deref()), (item, Some(harness.turn), Some("start\n")));
    assert!(matches!(&second.body, Body::TurnFinished(end) if end.outcome == TurnOutcome::Interrupted));
    assert_eq!((second.turn, harness.deadline()), (Some(harness.turn), None));
    // What comes now comes too late to be a thing of its own.
    let late = harness
        .note("item/commandExecution/outputDelta", json!({"turnId": TURN, "itemId": "c", "delta": "x"}));
    assert!(matches!(only_draft(&late).body, Body::Raw { .. }));
}

#[test]
fn what_an_earlier_turn_left_running_survives_an_interrupt() {
    let mut harness = DriverHarness::in_turn(Mode::Full);
    let server = json!({"type": "commandExecution", "id": "server", "command": "serve", "cwd": "/w",
                        "processId": "1", "status": "inProgress"});
    harness.note("item/started", json!({"turnId": TURN, "item": server}));
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "completed"}}));
    harness.begin("more", Vec::new());
    harness.answer_ok("turn/start", json!({"turn": {"id": "turn-2"}}));
    let turn = harness.turn;
    harness.tell(AgentCommand::Interrupt { turn });
    let out = harness.note("turn/completed", json!({"turn": {"id": "turn-2", "status": "interrupted"}}));
    assert_eq!(outcome_in(&out).outcome, TurnOutcome::Interrupted, "nothing of it runs");
    let out = harness.answer_ok(
        "thread/backgroundTerminals/list",
        json!({"data": [{"itemId": "server", "processId": "1"}, {"itemId": "late", "processId": "2"}]}),
    );
    assert_eq!(only_line(&out)["params"]["processId"], "2", "one that was only just being started ends");
}

#[test]
fn a_codex_that_does_not_end_its_commands_does_not_hold_the_turn_for_ever() {
    let mut harness = DriverHarness::in_turn(Mode::Full);
    harness.note("item/started", json!({"turnId": TURN, "item": command_of("c")}));
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "interrupted"}}));
    assert!(harness.wait(2).said.is_empty());
    let out = harness.wait(1);
    assert_eq!(outcome_in(&out).outcome, TurnOutcome::Interrupted);
    // An older codex has no such list, and says so.
    let mut harness = DriverHarness::in_turn(Mode::Full);
    harness.note("item/started", json!({"turnId": TURN, "item": command_of("c")}));
    harness.note("turn/completed", json!({"turn": {"id": TURN, "status": "interrupted"}}));
    let out = harness.answer_error("thread/backgroundTerminals/list", "unknown variant");
    assert_eq!(outcome_in(&out).outcome, TurnOutcome::Interrupted);
}

fn command_of(id: &str) -> Value {
    json!({"type": "commandExecution", "id": id, "command": "sleep 25", "cwd": "/w", "status": "inProgress"})
}
