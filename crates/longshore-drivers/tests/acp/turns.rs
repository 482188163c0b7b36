//! Turns: what is said in them, and how they end.

use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, NoticeLevel, RawFault};
use longshore_model::id::{Ids, PromptId};
use longshore_model::lifecycle::{TurnEnd, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::harness::{
    DriverHarness, NATIVE, bodies, greeting, last_draft, only_draft, only_line, with_modes,
};

fn end_of(out: &Output) -> &TurnEnd {
    match &last_draft(out).body {
        Body::TurnFinished(end) => end,
        other => panic!("{other:?}"),
    }
}

fn texts(out: &Output) -> Vec<Option<&str>> {
    out.said.iter().map(|(_, draft)| draft.text.as_deref()).collect()
}

#[test]
fn a_stop_reason_is_an_outcome() {
    for (reason, outcome) in [
        ("end_turn", TurnOutcome::Completed),
        ("max_tokens", TurnOutcome::Completed),
        ("max_turn_requests", TurnOutcome::Completed),
        ("refusal", TurnOutcome::Failed),
        ("cancelled", TurnOutcome::Interrupted),
        ("unheard_of", TurnOutcome::Completed),
    ] {
        let mut harness = DriverHarness::in_turn();
        let out = harness.answer_ok("session/prompt", json!({"stopReason": reason}));
        assert_eq!(end_of(&out).outcome, outcome, "{reason}");
        assert_eq!(end_of(&out).usage, None, "unknown is unknown");
        assert_eq!(last_draft(&out).turn, Some(harness.turn));
        let noted = bodies(&out).contains(&&Body::Notice { level: NoticeLevel::Warning });
        assert_eq!(noted, reason.starts_with("max_"), "{reason}");
    }
}

#[test]
fn an_error_is_a_failed_turn_with_its_reason() {
    let mut harness = DriverHarness::in_turn();
    let out = harness.answer_error("session/prompt", 429, "Slow down");
    let error = end_of(&out).error.as_ref().unwrap();
    assert_eq!((error.code, error.message.as_str()), (TurnErrorCode::RateLimited, "Slow down"));
    assert_eq!(last_draft(&out).text.as_deref(), Some("Slow down"));

    let mut harness = DriverHarness::in_turn();
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    let out = harness.answer_error("session/prompt", -32800, "cancelled");
    assert_eq!(end_of(&out).outcome, TurnOutcome::Interrupted);
}

#[test]
fn an_error_that_is_told_as_a_message_is_an_error() {
    let usage = json!({"inputTokens": 1, "outputTokens": 1});
    for (said, usage, failed) in [
        ("Error: 400 scripted failure", Value::Null, true),
        ("Error: 400 scripted failure", usage, false),
        ("An Error: none", Value::Null, false),
    ] {
        let mut harness = DriverHarness::of("copilot").ready(Mode::Ask, json!({"sessionId": NATIVE}));
        harness.prompt("go");
        harness.chunk(said);
        let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn", "usage": usage}));
        assert_eq!(end_of(&out).outcome == TurnOutcome::Failed, failed, "{said}");
    }
}

#[test]
fn a_message_ends_where_another_begins() {
    let mut harness = DriverHarness::in_turn();
    let first = harness.chunk("Hel");
    let more = harness.chunk("lo");
    assert_eq!(only_draft(&first).item, only_draft(&more).item);
    // Nothing at all is no message.
    assert!(matches!(only_draft(&harness.chunk("")).body, Body::Raw { .. }));
    // A thought is another kind.
    let out = harness.update("agent_thought_chunk", json!({"content": {"type": "text", "text": "hm"}}));
    assert!(matches!(bodies(&out)[..], [Body::MessageDone { partial: false, .. }, Body::ReasoningDelta]));
    assert_eq!(texts(&out), [Some("Hello"), Some("hm")]);
    assert_eq!((out.said[0].1.item, out.said[0].1.raw.is_some()), (only_draft(&first).item, false));
    // A call ends what was said before it, its updates do not.
    let out = harness.update("tool_call", json!({"toolCallId": "t", "title": "x"}));
    assert!(matches!(bodies(&out)[..], [Body::ReasoningDone { .. }, Body::ToolStarted(_)]));
    harness.chunk("while ");
    harness.update("tool_call_update", json!({"toolCallId": "t", "status": "in_progress", "title": "y"}));
    harness.chunk("it runs");
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(texts(&out)[0], Some("while it runs"));
    assert!(last_draft(&out).raw.is_some());
}

#[test]
fn a_message_that_the_agent_names_ends_with_its_name() {
    let mut harness = DriverHarness::in_turn();
    let mut say = |id: &str, text: &str| {
        let chunk = json!({"messageId": id, "content": {"type": "text", "text": text}});
        harness.update("agent_message_chunk", chunk).said.len()
    };
    assert_eq!((say("a", "one "), say("a", "more"), say("b", "two")), (1, 1, 2));
}

#[test]
fn a_message_without_end_is_told_as_several() {
    let mut harness = DriverHarness::in_turn();
    let long = "x".repeat(700_000);
    assert_eq!(harness.chunk(&long).said.len(), 1);
    assert_eq!(harness.chunk(&long).said.len(), 1);
    let out = harness.chunk("y");
    assert!(matches!(bodies(&out)[..], [Body::MessageDone { .. }, Body::MessageDelta]));
    assert_eq!(out.said[0].1.text.as_ref().unwrap().len(), 1_400_000);
}

#[test]
fn what_is_said_in_pictures_is_told_in_words() {
    for (content, words) in [
        (json!({"type": "resource_link", "uri": "file:///w/a", "name": "a"}), "[a](file:///w/a)"),
        (json!({"type": "resource", "resource": {"uri": "u", "text": "inside"}}), "inside"),
        (json!({"type": "image", "mimeType": "image/png", "data": "AAAA"}), "[image/png]"),
    ] {
        let mut harness = DriverHarness::in_turn();
        let out = harness.update("agent_message_chunk", json!({"content": content}));
        assert_eq!(only_draft(&out).text.as_deref(), Some(words));
    }
}

#[test]
fn what_is_said_between_turns_belongs_to_none() {
    let mut harness = DriverHarness::unknown().ready(Mode::Ask, json!({"sessionId": NATIVE}));
    let out = harness.chunk("by the way");
    assert_eq!((&only_draft(&out).body, only_draft(&out).turn), (&Body::MessageDelta, None));
    let out = harness.prompt("go");
    assert!(matches!(only_draft(&out).body, Body::MessageDone { .. }));
    assert_eq!(only_draft(&out).turn, None);

    // What only repeats what we told it is nothing that was said.
    let mut harness =
        DriverHarness::of("gemini").ready(Mode::Ask, with_modes("default", &["default", "yolo"]));
    harness.tell(AgentCommand::SetMode(Mode::Full));
    assert!(matches!(only_draft(&harness.chunk("[MODE_UPDATE] yolo")).body, Body::Raw { .. }));
    // Even when a prompt waits for it; and once it runs, it says what it likes.
    harness.prompt("go");
    assert!(matches!(only_draft(&harness.chunk("[MODE_UPDATE] yolo")).body, Body::Raw { .. }));
    harness.answer_ok("session/set_mode", json!({}));
    assert_eq!(only_draft(&harness.chunk("[MODE_UPDATE] yolo")).body, Body::MessageDelta);
}

#[test]
fn a_turn_that_is_stopped_has_10_seconds_to_stop() {
    let mut harness = DriverHarness::in_turn();
    assert_eq!(harness.deadline(), None, "a turn may take for ever");
    assert_eq!(
        only_line(&harness.tell(AgentCommand::Interrupt { turn: harness.turn }))["method"],
        "session/cancel"
    );
    harness.chunk("last words");
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "cancelled"}));
    assert!(matches!(bodies(&out)[..], [Body::MessageDone { partial: true, .. }, Body::TurnFinished(_)]));
    assert_eq!(end_of(&out).outcome, TurnOutcome::Interrupted);

    let mut harness = DriverHarness::in_turn();
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    harness.wait(5);
    harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    let out = harness.wait(25);
    assert_eq!(end_of(&out).outcome, TurnOutcome::Interrupted);
    assert!(out.finished.as_ref().unwrap().contains("did not stop"));

    // A turn that is over is over.
    let out = harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    assert_eq!(end_of(&out).outcome, TurnOutcome::Interrupted);
    assert!(out.lines.is_empty());
}

#[test]
fn one_prompt_at_a_time() {
    let mut harness = DriverHarness::in_turn();
    let first = harness.turn;
    let out = harness.prompt("and another");
    assert_eq!(end_of(&out).outcome, TurnOutcome::Failed);
    assert!(out.lines.is_empty());
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(last_draft(&out).turn, Some(first));
    assert_eq!(harness.count("session/prompt"), 1);
}

#[test]
fn attachments_go_as_far_as_the_agent_takes_them() {
    let attachment = |media_type: &str, source| Attachment {
        name: Some("a".to_owned()),
        media_type: media_type.to_owned(),
        source,
    };
    let all = vec![
        attachment("image/png", AttachmentSource::Data("AAAA".to_owned())),
        attachment("text/plain", AttachmentSource::Data("AAAA".to_owned())),
        attachment("text/plain", AttachmentSource::Path("/w/a".to_owned())),
        attachment("text/html", AttachmentSource::Url("https://x.org".to_owned())),
    ];
    for (capabilities, kinds, refused) in [
        (json!({}), &["text", "resource_link", "resource_link"][..], 2),
        (json!({"image": true}), &["text", "image", "resource_link", "resource_link"], 1),
        (
            json!({"image": true, "embeddedContext": true}),
            &["text", "image", "resource", "resource_link", "resource_link"],
            0,
        ),
    ] {
        let mut harness = DriverHarness::unknown();
        harness.open(Mode::Ask, longshore_model::anchor::Start::New);
        harness.answer_ok("initialize", greeting(json!({"promptCapabilities": capabilities})));
        harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
        let out = harness.begin("look", all.clone());
        let prompt = only_line(&out)["params"]["prompt"].clone();
        let told: Vec<&str> =
            prompt.as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
        assert_eq!((told.as_slice(), out.said.len()), (kinds, refused));
    }
}

#[test]
fn what_a_turn_used_is_counted_as_each_agent_counts() {
    let end = |harness: &mut DriverHarness, answer: Value| {
        let out = harness.answer_ok("session/prompt", answer);
        let used = end_of(&out).usage.map(|usage| (usage.input, usage.output));
        harness.prompt("more");
        used
    };
    let both = |input, output| Some((Some(input), Some(output)));
    let usage = |input: u64, output: u64| json!({"stopReason": "end_turn", "usage": {"inputTokens": input, "outputTokens": output}});
    let mut harness = DriverHarness::of("copilot").ready(Mode::Ask, json!({"sessionId": NATIVE}));
    harness.prompt("go");
    assert_eq!(end(&mut harness, usage(200, 10)), both(200, 10));
    assert_eq!(end(&mut harness, usage(500, 30)), both(300, 20));
    assert_eq!(end(&mut harness, json!({"stopReason": "end_turn"})), None);

    let quota = |input: u64| {
        json!({"stopReason": "end_turn",
        "_meta": {"quota": {"token_count": {"input_tokens": input, "output_tokens": 5}}}})
    };
    let mut harness = DriverHarness::of("gemini").ready(Mode::Ask, json!({"sessionId": NATIVE}));
    harness.prompt("go");
    assert_eq!(end(&mut harness, quota(100)), both(100, 5));
    let out = harness.answer_ok("session/prompt", quota(300));
    assert_eq!(end_of(&out).usage.unwrap().input, Some(300));
    assert!(matches!(bodies(&out)[0], Body::UsageUpdated(usage) if usage.input == Some(400)));

    let mut harness = DriverHarness::of("opencode-acp").ready(Mode::Ask, json!({"sessionId": NATIVE}));
    harness.prompt("go");
    assert_eq!(end(&mut harness, usage(100, 5)), None, "the last answer of the model is not the turn");
}

#[test]
fn a_turn_costs_what_the_session_costs_more_than_before() {
    let told = |amount: f64, currency: &str| json!({"used": 10, "size": 100, "cost": {"amount": amount, "currency": currency}});
    let mut harness = DriverHarness::in_turn();
    let mut costs = Vec::new();
    for amount in [0.25, 0.75, 0.75] {
        harness.update("usage_update", told(amount, "USD"));
        let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
        costs.push(end_of(&out).cost_usd);
        harness.prompt("more");
    }
    assert_eq!(costs, [Some(0.25), Some(0.5), Some(0.0)]);

    let mut harness = DriverHarness::in_turn();
    let out = harness.update("usage_update", told(3.0, "EUR"));
    let Body::UsageUpdated(usage) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!((usage.context_used, usage.context_window, usage.input), (Some(10), Some(100), None));
    // The same again is no news.
    assert!(matches!(only_draft(&harness.update("usage_update", told(3.0, "EUR"))).body, Body::Raw { .. }));
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(end_of(&out).cost_usd, None, "nobody knows what that is in dollars");
}

#[test]
fn a_title_of_the_agent_gives_way_to_one_of_a_person() {
    let mut harness = DriverHarness::in_turn();
    let title = |title: Value| json!({"title": title, "updatedAt": "2026-11-15T18:55:47.705Z"});
    let out = harness.update("session_info_update", title(json!("Files")));
    assert_eq!(
        (&only_draft(&out).body, only_draft(&out).text.as_deref()),
        (&Body::TitleChanged, Some("Files"))
    );
    for told in [title(json!("Files")), title(json!(null))] {
        assert!(matches!(only_draft(&harness.update("session_info_update", told)).body, Body::Raw { .. }));
    }
    harness.tell(AgentCommand::Rename("Mine".to_owned()));
    let out = harness.update("session_info_update", title(json!("Better files")));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
}

#[test]
fn lines_that_say_nothing_we_know_are_kept_where_they_belong() {
    let mut harness = DriverHarness::in_turn();
    for (line, kind, fault) in [
        (
            json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": NATIVE, "update": {"sessionUpdate": "new_thing"}}}),
            "session/update:new_thing",
            None,
        ),
        (
            json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": NATIVE, "update": {"sessionUpdate": "plan", "entries": 7}}}),
            "session/update:plan",
            Some(RawFault::Malformed),
        ),
        (
            json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "another", "update": {"sessionUpdate": "plan"}}}),
            "session/update:plan",
            None,
        ),
        (json!({"jsonrpc": "2.0", "method": "_mine/note", "params": {}}), "_mine/note", None),
        (
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}),
            "error",
            None,
        ),
        (json!({"error": {"code": -32601, "message": "Method not found"}}), "error", None),
        (json!({"jsonrpc": "2.0", "id": 4711, "result": {}}), "response", None),
        (json!({"jsonrpc": "2.0", "id": "1", "result": {}}), "response", None),
        (json!([]), "line", None),
        (json!("hello"), "malformed", Some(RawFault::Malformed)),
    ] {
        let out = harness.line(&line);
        assert_eq!(only_draft(&out).body, Body::Raw { kind: kind.to_owned(), fault }, "{line}");
        assert_eq!(only_draft(&out).raw.as_deref(), Some(line.to_string().as_str()));
        assert!(out.lines.is_empty(), "{line}");
    }
    let garbled = Input::Garbled { text: "a\u{fffd}".into(), fault: RawFault::InvalidUtf8 };
    assert!(matches!(
        &only_draft(&harness.handle(garbled)).body,
        Body::Raw { fault: Some(RawFault::InvalidUtf8), .. }
    ));
    // A steer, which the session never sends to an agent that cannot take it, is not lost either.
    harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    let prompt = PromptId(Ids::seeded(1).next(harness.now));
    let steer =
        AgentCommand::Steer { turn: harness.turn, prompt, text: "left".to_owned(), attachments: Vec::new() };
    assert_eq!(only_line(&harness.tell(steer))["method"], "session/prompt");
}

#[test]
fn what_an_agent_tells_answer_by_answer_is_summed_up() {
    let mut harness = DriverHarness::in_turn();
    let usage = json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "thoughtTokens": 5, "cachedReadTokens": 40});
    let answer = json!({"content": {"type": "text", "text": ""}, "_meta": {"usage": usage}});
    for times in 1..=2 {
        let out = harness.update("agent_message_chunk", answer.clone());
        let Body::UsageUpdated(used) = &only_draft(&out).body else { panic!("{out:?}") };
        assert_eq!(
            (used.input, used.output, used.context_used),
            (Some(100 * times), Some(20 * times), Some(120))
        );
    }
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    let used = end_of(&out).usage.unwrap();
    assert_eq!(
        (used.input, used.cached_input, used.output, used.reasoning),
        (Some(200), Some(80), Some(40), Some(10))
    );
    harness.prompt("more");
    harness.update("agent_message_chunk", answer);
    let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn"}));
    assert_eq!(end_of(&out).usage.unwrap().input, Some(100));
}

#[test]
fn the_input_holds_what_came_from_the_cache_whoever_counts() {
    for (cached, write, total, input) in
        [(120, 0, 360, 300), (120, 30, 390, 330), (120, 0, 240, 180), (0, 0, 240, 180)]
    {
        let mut harness = DriverHarness::in_turn();
        let usage = json!({"inputTokens": 180, "outputTokens": 60, "cachedReadTokens": cached, "cachedWriteTokens": write, "totalTokens": total});
        let out = harness.answer_ok("session/prompt", json!({"stopReason": "end_turn", "usage": usage}));
        assert_eq!(end_of(&out).usage.unwrap().input, Some(input), "{cached} {write} {total}");
    }
}
