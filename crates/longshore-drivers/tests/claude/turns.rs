//! Turns begin, are steered, interrupted, fail and end; what they use and cost.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::id::TurnId;
use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use super::harness::{DriverHarness, bodies, end_in, lines, only_draft, only_line};

fn subtypes(out: &longshore_model::driver::Output) -> Vec<String> {
    lines(out).iter().map(|line| line["request"]["subtype"].as_str().unwrap_or("user").to_owned()).collect()
}

#[test]
fn a_prompt_has_our_name_and_its_turn_ends_with_the_result() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let line = only_line(&harness.say("go"));
    assert_eq!((&line["type"], &line["message"]["content"]), (&json!("user"), &json!("go")));
    assert_eq!(line["uuid"], json!(harness.prompt.to_string()));
    assert!(harness.deadline().is_none(), "a turn may take for ever");
    harness.init();
    let out = harness.result(json!({"duration_ms": 5}));
    let (turn, end) = end_in(&out).unwrap();
    assert_eq!((turn, end.outcome), (Some(harness.turn), TurnOutcome::Completed));
    assert_eq!((end.usage, end.cost_usd, end.duration_ms), (None, None, Some(5)));
    // A result that ends nothing is kept.
    assert!(matches!(only_draft(&harness.result(json!({}))).body, Body::Raw { .. }));
}

#[test]
fn what_it_takes_with_a_prompt() {
    let attach = |media_type: &str, source| Attachment {
        name: Some("a".to_owned()),
        media_type: media_type.to_owned(),
        source,
    };
    let data = || AttachmentSource::Data("AAAA".to_owned());
    let base64 = |kind: &str, media: &str| json!({"type": kind, "source": {"type": "base64", "media_type": media, "data": "AAAA"}});
    for (attachment, block) in [
        (attach("image/png", data()), Some(base64("image", "image/png"))),
        (attach("application/pdf", data()), Some(base64("document", "application/pdf"))),
        (
            attach("text/plain", AttachmentSource::Path("/w/a".to_owned())),
            Some(json!({"type": "text", "text": "@/w/a"})),
        ),
        (
            attach("image/png", AttachmentSource::Url("https://x/y".to_owned())),
            Some(json!({"type": "image", "source": {"type": "url", "url": "https://x/y"}})),
        ),
        (attach("text/plain", data()), None),
    ] {
        let mut harness = DriverHarness::ready(Mode::Ask);
        let (turn, prompt) = (harness.turn, harness.prompt);
        let attachments = vec![attachment];
        let out = harness.tell(AgentCommand::Prompt { turn, prompt, text: "see".to_owned(), attachments });
        let content = only_line(&out)["message"]["content"].clone();
        assert_eq!(content[0], json!({"type": "text", "text": "see"}));
        match block {
            Some(block) => assert_eq!(content[1], block),
            None => {
                assert_eq!(content.as_array().unwrap().len(), 1);
                assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Warning });
            }
        }
    }
}

#[test]
fn what_is_said_into_a_turn_and_taken_belongs_to_it() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    assert_eq!(only_line(&harness.steer("more"))["message"]["content"], "more");
    harness.replay();
    assert!(end_in(&harness.result(json!({}))).is_some());
}

/// There was no tool boundary left: the answer comes in a turn of theirs that is still the same one of ours.
#[test]
fn what_is_said_too_late_is_answered_in_the_same_turn() {
    let used = json!({"input_tokens": 10, "output_tokens": 1});
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.steer("more");
    let out = harness.result(json!({"total_cost_usd": 0.5, "usage": used, "duration_ms": 3}));
    assert!(end_in(&out).is_none(), "the turn ended before it was answered");
    assert!(harness.deadline().is_some());
    assert!(
        bodies(&harness.init(), harness.session).iter().all(|body| !matches!(body, Body::TurnStarted { .. }))
    );
    assert!(harness.deadline().is_none());
    harness.replay();
    let out = harness.result(json!({"total_cost_usd": 0.75, "usage": used, "duration_ms": 4}));
    let (turn, end) = end_in(&out).unwrap();
    assert_eq!(turn, Some(harness.turn));
    assert_eq!((end.cost_usd, end.duration_ms), (Some(0.75), Some(7)));
    assert_eq!(end.usage.unwrap().input, Some(20));
}

#[test]
fn newer_ones_say_themselves_what_they_took() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let moved = |harness: &mut DriverHarness, state: &str| {
        let uuid = harness.prompt.to_string();
        harness.line(&json!({"type": "command_lifecycle", "command_uuid": uuid, "state": state}))
    };
    harness.say("go");
    moved(&mut harness, "started");
    harness.init();
    harness.steer("more");
    moved(&mut harness, "queued");
    assert!(end_in(&harness.result(json!({}))).is_none());
    moved(&mut harness, "started");
    harness.init();
    assert!(end_in(&harness.result(json!({}))).is_some());
}

#[test]
fn a_slash_command_said_into_a_turn_is_answered_though_never_repeated() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.steer("/context");
    assert!(end_in(&harness.result(json!({}))).is_none());
    harness.init();
    assert!(end_in(&harness.result(json!({}))).is_some());
}

#[test]
fn a_turn_does_not_wait_for_ever_for_an_answer_that_does_not_come() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.steer("more");
    harness.result(json!({}));
    assert!(end_in(&harness.wait(29)).is_none());
    assert_eq!(end_in(&harness.wait(2)).unwrap().1.outcome, TurnOutcome::Completed);
}

/// One that repeats nothing cannot be waited for.
#[test]
fn without_repeated_prompts_the_result_is_the_end() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    harness.init();
    harness.steer("more");
    assert!(end_in(&harness.result(json!({}))).is_some());
    let out = harness.init();
    assert_eq!(only_draft(&out).body, Body::TurnStarted { prompt: None });
}

#[test]
fn an_interrupt_takes_back_what_was_not_taken() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.steer("more");
    let out = harness.interrupt();
    assert_eq!(subtypes(&out), ["cancel_async_message", "interrupt"]);
    assert_eq!(lines(&out)[0]["request"]["message_uuid"], json!(harness.prompt.to_string()));
    let out = harness.answer_ok("cancel_async_message", json!({"cancelled": true}));
    assert_eq!(only_draft(&out).text.as_deref(), Some("Claude Code never heard this: more"));
    harness.answer_ok("interrupt", Value::Null);
    let aborted = json!({"subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_streaming"});
    let (_, end) = end_in(&harness.result(aborted)).unwrap();
    assert_eq!((end.outcome, end.error), (TurnOutcome::Interrupted, None));
}

/// The prompt itself was still waiting inside the agent: there will be no result.
#[test]
fn a_prompt_that_is_taken_back_ends_its_turn() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    assert_eq!(subtypes(&harness.interrupt()), ["cancel_async_message", "interrupt"]);
    let out = harness.answer_ok("cancel_async_message", json!({"cancelled": true}));
    assert_eq!(end_in(&out).unwrap().1.outcome, TurnOutcome::Interrupted);
    // Of a turn that is over, or never was, the end is said at once.
    let turn = TurnId(harness.session.0);
    let out = harness.tell(AgentCommand::Interrupt { turn });
    assert_eq!(end_in(&out).unwrap().0, Some(turn));
    assert!(out.lines.is_empty());
}

#[test]
fn an_interrupt_that_came_too_late_leaves_a_good_end() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    harness.interrupt();
    assert_eq!(end_in(&harness.result(json!({}))).unwrap().1.outcome, TurnOutcome::Completed);
}

#[test]
fn it_begins_turns_by_itself() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let out = harness.init();
    let began = only_draft(&out);
    assert_eq!(began.body, Body::TurnStarted { prompt: None });
    let turn = began.turn;
    let (ended, _) = end_in(&harness.result(json!({"origin": {"kind": "task-notification"}}))).unwrap();
    assert_eq!(ended, turn);
}

/// A task ended in the background in the moment in which a prompt was sent.
#[test]
fn its_own_turn_is_not_the_end_of_a_prompt_that_it_has_not_taken() {
    let own = json!({"origin": {"kind": "task-notification"}});
    // The prompt was there first.
    let mut harness = DriverHarness::ready(Mode::Ask);
    harness.say("go");
    harness.init();
    assert!(end_in(&harness.result(own.clone())).is_none());
    harness.init();
    harness.replay();
    assert!(end_in(&harness.result(json!({}))).is_some());
    // Its own turn was there first: the session took that for the end of the prompt's.
    let mut harness = DriverHarness::ready(Mode::Ask);
    let own_turn = only_draft(&harness.init()).turn;
    let out = harness.say("go");
    assert_eq!(end_in(&out).unwrap().0, own_turn);
    let again = out.said.last().unwrap();
    assert_eq!(again.1.body, Body::TurnStarted { prompt: Some(harness.prompt) });
    assert_eq!(again.1.turn, Some(harness.turn));
    assert!(end_in(&harness.result(own)).is_none());
    harness.init();
    harness.replay();
    assert_eq!(end_in(&harness.result(json!({}))).unwrap().0, Some(harness.turn));
}

#[test]
fn every_failure_has_a_word() {
    use TurnErrorCode::{
        ContextWindow, Network, Other, Overloaded, RateLimited, Timeout, Unauthorized, UsageLimit,
    };
    for (status, word, text, code) in [
        (Some(400), "invalid_request", "API Error: 400", Other),
        (Some(500), "server_error", "API Error: 500", Other),
        (Some(401), "authentication_failed", "API Error: 401", Unauthorized),
        (None, "authentication_failed", "Not logged in · Please run /login", Unauthorized),
        (None, "", "Invalid API key · Please run /login", Unauthorized),
        (Some(429), "rate_limit", "API Error: 429", RateLimited),
        (None, "rate_limit", "Slow down", RateLimited),
        (Some(429), "rate_limit", "Claude usage limit reached", UsageLimit),
        (None, "billing_error", "Pay", UsageLimit),
        (Some(529), "", "API Error: 529", Overloaded),
        (None, "server_error", "API Error: Repeated 529 Overloaded errors.", Overloaded),
        (Some(400), "invalid_request", "Prompt is too long", ContextWindow),
        (None, "server_error", "API Error: Unable to connect to API (ConnectionRefused)", Network),
        (None, "server_error", "API Error: Connection to the API was lost (ECONNRESET).", Network),
        (None, "server_error", "API Error: Request timed out.", Timeout),
        (None, "", "something", Other),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        if !word.is_empty() {
            let content = json!([{"type": "text", "text": text}]);
            let out = harness.line(
                &json!({"type": "assistant", "error": word, "message": {"id": "e", "content": content}}),
            );
            assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "the end of the turn says it");
        }
        let out = harness.result(json!({"is_error": true, "api_error_status": status, "result": text}));
        let (_, end) = end_in(&out).unwrap();
        let error = end.error.unwrap();
        assert_eq!((end.outcome, error.code, error.message.as_str()), (TurnOutcome::Failed, code, text));
    }
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness.result(json!({"subtype": "error_max_turns", "is_error": true}));
    assert_eq!(end_in(&out).unwrap().1.error.unwrap().message, "error max turns");
}

#[test]
fn a_retry_is_told_and_nothing_ends_it() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let out = harness
        .line(&json!({"type": "system", "subtype": "api_retry", "attempt": 7, "max_retries": 10,
        "retry_delay_ms": 34415.4, "error_status": 401, "error": "authentication_failed"}));
    let draft = only_draft(&out);
    assert_eq!(draft.body, Body::Notice { level: NoticeLevel::Warning });
    let text = "The model's service answered 401 (authentication failed); retry 7 of 10 in 34.4 s.";
    assert_eq!(draft.text.as_deref(), Some(text));
    assert!(harness.deadline().is_none());
    // All tries of one request are one line; those of another are another.
    let mut retry = |attempt: u64| {
        let line = json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 10});
        only_draft(&harness.line(&line)).item.unwrap()
    };
    let (first, second, other) = (retry(1), retry(2), retry(1));
    assert_eq!(first, second);
    assert_ne!(first, other);
}

#[test]
fn cost_is_that_of_the_turn_and_unknown_is_unknown() {
    let mut harness = DriverHarness::ready(Mode::Ask);
    let used = json!({"input_tokens": 100, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11, "output_tokens": 10});
    let nothing = json!({"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0});
    for (total, usage, cost) in [
        (json!(0.25), &used, Some(0.25)),
        (json!(0.75), &used, Some(0.5)),
        (json!(0.75), &nothing, None),
        (Value::Null, &nothing, None),
        // Something began to count anew.
        (json!(0.125), &used, Some(0.125)),
    ] {
        harness.say("go");
        harness.init();
        let models = json!({"opus-9": {"contextWindow": 1000}, "small": {"contextWindow": 5000}});
        let out = harness.result(json!({"total_cost_usd": total, "usage": usage, "modelUsage": models}));
        let (_, end) = end_in(&out).unwrap();
        assert_eq!(end.cost_usd, cost, "of {total}");
        match usage == &used {
            true => {
                let usage = end.usage.unwrap();
                assert_eq!((usage.input, usage.cached_input, usage.output), (Some(118), Some(11), Some(10)));
                assert_eq!(usage.context_window, Some(1000));
            }
            false => assert_eq!(end.usage, None),
        }
    }
}

#[test]
fn what_the_session_used_grows_with_every_message() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let totals = |harness: &mut DriverHarness, id: &str| {
        let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 1});
        harness.stream(json!({"type": "message_start", "message": {"id": id, "usage": usage}}));
        let out = harness.stream(json!({"type": "message_delta", "usage": {"output_tokens": 30}}));
        match &only_draft(&out).body {
            Body::UsageUpdated(usage) => *usage,
            other => panic!("{other:?}"),
        }
    };
    let first = Usage {
        input: Some(120),
        cached_input: Some(20),
        output: Some(30),
        context_used: Some(150),
        ..Usage::default()
    };
    assert_eq!(totals(&mut harness, "a"), first);
    let second = Usage { input: Some(240), cached_input: Some(40), output: Some(60), ..first };
    assert_eq!(totals(&mut harness, "b"), second);
}
