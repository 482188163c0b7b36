//! The pure half of the scripted model: reading a script, choosing a step, rendering it. No socket, no clock.

use std::time::Duration;

use longshore_models::script::{
    Api, Delivery, EXHAUSTED, Exchange, RequestCue, Script, ScriptAnswer, ScriptFrame, ScriptPlayer,
};
use serde_json::{Value, json};

fn script(value: Value) -> Script {
    Script::from_value(value).expect("a good script")
}

/// Renders the first step of a script as the first answer of a server.
fn render(step: Value) -> ScriptAnswer {
    let delivery = Delivery::Stream { usage: true };
    let exchange = Exchange { number: 1, model: "gpt".into(), created_at: 1_700_000_000, delivery };
    Api::Responses.render(&script(json!([step])).steps[0], &exchange)
}

fn frames(actions: Value) -> Vec<ScriptFrame> {
    match render(json!({"do": actions})) {
        ScriptAnswer::Stream { frames, .. } => frames,
        plain => panic!("not a stream: {plain:?}"),
    }
}

/// The JSON of the events, without the waits.
fn events(frames: &[ScriptFrame]) -> Vec<Value> {
    let data = frames.iter().filter_map(|frame| match frame {
        ScriptFrame::Event(event) => Some(&event.data),
        _ => None,
    });
    data.map(|data| serde_json::from_str(data).expect("an event is JSON")).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn deltas(events: &[Value], kind: &str) -> Vec<String> {
    of_type(events, kind)
        .iter()
        .map(|event| event["delta"].as_str().expect("a delta is text").to_owned())
        .collect()
}

#[test]
fn every_script_in_the_documentation_can_be_played() {
    let page = include_str!("../../../docs/model-script.md");
    let examples: Vec<&str> =
        page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 3, "the page has lost its examples");
    for example in examples {
        let script = Script::parse(example).unwrap_or_else(|fault| panic!("{fault}\n{example}"));
        assert!(!script.steps.is_empty());
    }
}

#[test]
fn a_fault_names_its_place_and_what_to_write() {
    let say = json!({"say": "x"});
    let faults = [
        (json!(7), "the script: it must be a list of steps, or an object with \"steps\", not this number"),
        (
            json!({"steps": [], "model": "x"}),
            "the script: \"model\" is not known here; known are insist, models, steps",
        ),
        (json!([{"do": []}, 3]), "step 2: a step must be an object, not this number"),
        (json!([{"note": "x"}]), "step 1: nothing says what to do; write one of do, http"),
        (json!([{"do": [], "http": 500}]), "step 1: \"do\" and \"http\" exclude each other"),
        (
            json!([{"do": [], "body": 1}]),
            "step 1: \"body\" is not known here; known are do, headers, note, repeat, usage, when",
        ),
        (json!([{"http": 99}]), "step 1: \"http\" must be a status code from 200 to 599, not this number"),
        (
            json!([{"http": 500, "headers": {"a b": "x"}}]),
            "step 1: the header \"a b\" is not legal in HTTP, or is one that the server must set itself",
        ),
        (
            json!([{"do": [], "headers": {"Content-Length": "3"}}]),
            "step 1: the header \"Content-Length\" is not legal in HTTP, or is one that the server must set itself",
        ),
        (
            json!([{"do": [], "repeat": 0}]),
            "step 1: \"repeat\" must be a number from 1 or \"forever\", not this number",
        ),
        (
            json!([{"do": [], "when": {"contains": ""}}]),
            "step 1: \"contains\" must be a text that is not empty, not an empty text",
        ),
        (json!([{"do": [], "when": {}}]), "step 1: \"contains\" is missing"),
        (
            json!([{"do": [], "when": {"tools": "no"}}]),
            "step 1: \"tools\" must be true or false, not this text",
        ),
        (
            json!([{"do": [], "usage": {"in": 1}}]),
            "step 1: \"in\" is not known here; known are cached, input, output, reasoning",
        ),
        (json!([{"do": say}]), "step 1: \"do\" must be a list of actions, not an object"),
        (
            json!([{"do": [say, {"sya": "x"}]}]),
            "step 1, action 2: nothing says what to do; write one of say, reason, call, custom, item, event, sleep_ms, cut, end, hang, fail, incomplete",
        ),
        (
            json!([{"do": [{"say": "x", "cut": true}]}]),
            "step 1, action 1: \"say\" and \"cut\" exclude each other",
        ),
        (
            json!([{"do": [{"say": "x", "chunk": 3}]}]),
            "step 1, action 1: \"chunk\" is not known here; known are chunks, delay_ms, id, phase, say, unfinished",
        ),
        (
            json!([{"do": [{"say": ["x", 1]}]}]),
            "step 1, action 1: a piece of \"say\" must be a text, not this number",
        ),
        (
            json!([{"do": [{"say": "x", "chunks": "letters"}]}]),
            "step 1, action 1: \"chunks\" must be a number from 1, \"words\" or \"lines\", not this text",
        ),
        (
            json!([{"do": [{"sleep_ms": 3_600_001}]}]),
            "step 1, action 1: \"sleep_ms\" must be milliseconds from 0 to 3600000, not this number",
        ),
        (
            json!([{"do": [{"call": "f", "args": [1]}]}]),
            "step 1, action 1: \"args\" must be an object or a text, not a list",
        ),
        (json!([{"do": [{"custom": "apply_patch"}]}]), "step 1, action 1: \"input\" is missing"),
        (json!([{"do": [{"cut": false}]}]), "step 1, action 1: \"cut\" must be true, not false"),
        (
            json!([{"do": [{"hang": true}, say]}]),
            "step 1, action 2: never plays, because the action before it ends the stream",
        ),
        (json!([{"do": [{"fail": {"code": "x"}}]}]), "step 1, action 1: \"message\" is missing"),
    ];
    for (value, wanted) in faults {
        let fault = Script::from_value(value.clone()).expect_err(wanted);
        assert_eq!(fault.to_string(), wanted, "for {value}");
    }
    let fault = Script::parse("[{]").expect_err("not JSON");
    assert!(fault.to_string().starts_with("the script is not JSON: "), "{fault}");
    let fault = Script::load("/no/such/script.json").expect_err("no file");
    assert!(fault.to_string().contains("/no/such/script.json"), "{fault}");
}

fn heard(text: &str) -> RequestCue<'_> {
    RequestCue { text, tools: true, ..RequestCue::default() }
}

#[test]
fn a_step_may_want_what_a_tool_has_said() {
    let mut player = ScriptPlayer::new(script(json!([
        {"do": [], "note": "no", "when": {"contains": "alpha", "result": "declined"}},
        {"do": [], "note": "go", "when": {"contains": "alpha"}, "repeat": "forever"},
    ])));
    let mut note = |results| player.next(&RequestCue { results, ..heard("alpha") }).step.note.clone();
    assert_eq!(note("").as_deref(), Some("go"));
    assert_eq!(note("the user declined this").as_deref(), Some("no"));
    assert_eq!(note("done").as_deref(), Some("go"));
}

#[test]
fn steps_are_chosen_by_the_message_and_otherwise_in_order() {
    let mut player = ScriptPlayer::new(script(json!([
        {"do": [], "note": "plain 1"},
        {"do": [], "note": "beta 1", "when": {"contains": "beta"}},
        {"do": [], "note": "alpha 1", "when": {"contains": "alpha"}, "repeat": 2},
        {"do": [], "note": "alpha 2", "when": {"contains": "alpha"}},
        {"do": [], "note": "plain 2"},
    ])));
    let mut note = |text: &str| player.next(&heard(text)).step.note.clone();
    let asked = ["alpha", "beta", "do alpha now", "other", "alpha", "beta", "alpha"];
    let played: Vec<Option<String>> = asked.into_iter().map(&mut note).collect();
    let wanted = ["alpha 1", "beta 1", "alpha 1", "plain 1", "alpha 2", "plain 2"];
    let played: Vec<&str> = played.iter().flatten().map(String::as_str).collect();
    assert_eq!(played, wanted, "the last request found nothing left");
    assert_eq!(player.next(&heard("alpha")).number, None);
    assert!(player.left().is_empty());
}

#[test]
fn what_is_left_is_shown_in_the_words_of_the_author() {
    let mut player = ScriptPlayer::new(script(json!([
        {"do": [{"say": "a"}], "repeat": 3},
        {"http": 500, "repeat": "forever"},
    ])));
    assert_eq!(player.next(&heard("")).number, Some(1));
    player.push(script(json!([{"do": []}])));
    let left = serde_json::to_value(player.left()).expect("left is JSON");
    let wanted = json!([
        {"number": 1, "times": 2, "step": {"do": [{"say": "a"}], "repeat": 3}},
        {"number": 2, "times": null, "step": {"http": 500, "repeat": "forever"}},
        {"number": 3, "times": 1, "step": {"do": []}},
    ]);
    assert_eq!(left, wanted);
}

#[test]
fn a_script_that_is_used_up_says_so() {
    let chosen = ScriptPlayer::default().next(&heard("anything"));
    assert_eq!(chosen.number, None);
    assert_eq!(chosen.step.source["do"][0]["say"], EXHAUSTED);
}

#[test]
fn an_answer_is_created_grows_and_completes() {
    let frames = frames(json!([
        {"reason": ["One two", "three"], "raw": "raw thoughts"},
        {"say": "Hello there, you", "chunks": 2, "phase": "final_answer"},
    ]));
    let events = events(&frames);
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
    assert_eq!(events[0]["type"], "response.created");
    assert_eq!(events[0]["response"]["status"], "in_progress");
    let summary = deltas(&events, "response.reasoning_summary_text.delta");
    assert_eq!(summary, ["One ", "two", "three"]);
    let raw = deltas(&events, "response.reasoning_text.delta");
    assert_eq!(raw, ["raw ", "thoughts"]);
    let text = deltas(&events, "response.output_text.delta");
    assert_eq!(text, ["Hello th", "ere, you"]);

    let done = of_type(&events, "response.output_item.done");
    assert_eq!(done[0]["item"]["id"], "rs_1_0");
    assert_eq!(done[0]["item"]["summary"][1]["text"], "three");
    assert_eq!(done[0]["item"]["content"][0]["text"], "raw thoughts");
    assert_eq!(done[1]["output_index"], 1);
    assert_eq!(done[1]["item"]["id"], "msg_1_1");
    assert_eq!(done[1]["item"]["phase"], "final_answer");
    assert_eq!(done[1]["item"]["content"][0]["text"], "Hello there, you");

    let last = &events[events.len() - 1];
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["model"], "gpt");
    assert_eq!(last["response"]["output"], json!([done[0]["item"], done[1]["item"]]));
    assert_eq!(last["response"]["usage"]["total_tokens"], 120);
}

#[test]
fn calls_carry_their_arguments_as_text() {
    let frames = frames(json!([
        {"call": "exec_command", "args": {"cmd": "ls"}, "id": "call_ls"},
        {"call": "confirm", "namespace": "mcp__demo", "args": "{broken"},
        {"custom": "apply_patch", "input": "one\ntwo\n", "chunks": "lines"},
    ]));
    let events = events(&frames);
    let added = of_type(&events, "response.output_item.added");
    assert_eq!(added[0]["item"]["arguments"], "");
    assert_eq!(added[0]["item"]["status"], "in_progress");
    let done: Vec<&Value> =
        of_type(&events, "response.output_item.done").into_iter().map(|event| &event["item"]).collect();
    assert_eq!(done[0]["call_id"], "call_ls");
    assert_eq!(done[0]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(done[1]["namespace"], "mcp__demo");
    assert_eq!(done[1]["call_id"], "call_1_1");
    assert_eq!(done[1]["arguments"], "{broken");
    assert_eq!(done[2]["type"], "custom_tool_call");
    assert_eq!(done[2]["input"], "one\ntwo\n");
    let input = deltas(&events, "response.custom_tool_call_input.delta");
    assert_eq!(input, ["one\n", "two\n"]);
}

#[test]
fn pace_is_a_wait_after_every_piece() {
    let frames = frames(json!([{"sleep_ms": 70}, {"say": ["a", "b"], "delay_ms": 5}]));
    let waits: Vec<Duration> = frames
        .iter()
        .filter_map(|frame| match frame {
            ScriptFrame::Wait(wait) => Some(*wait),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [70, 5, 5].map(Duration::from_millis));
}

#[test]
fn an_answer_can_end_in_every_way() {
    let ends = |action: Value| frames(json!([{"say": "x"}, action]));
    assert_eq!(ends(json!({"cut": true})).last(), Some(&ScriptFrame::Cut));
    assert_eq!(ends(json!({"hang": true})).last(), Some(&ScriptFrame::Hang));

    let last = |action: Value| events(&ends(action)).pop().expect("there are events");
    assert_eq!(last(json!({"end": true}))["type"], "response.output_item.done");
    let failed = last(json!({"fail": {"code": "server_error", "message": "boom"}}));
    assert_eq!(failed["type"], "response.failed");
    assert_eq!(failed["response"]["error"]["message"], "boom");
    let incomplete = last(json!({"incomplete": "max_output_tokens"}));
    assert_eq!(incomplete["type"], "response.incomplete");
    let reason = &incomplete["response"]["incomplete_details"]["reason"];
    assert_eq!(reason, "max_output_tokens");
}

#[test]
fn raw_items_and_events_go_out_as_they_are() {
    let event = json!({"type": "response.future", "x": 1});
    let frames = frames(json!([{"item": {"type": "web_search_call", "id": "ws"}}, {"event": event}]));
    let events = events(&frames);
    assert_eq!(events[1]["item"]["type"], "web_search_call");
    assert_eq!(events[2], event);
    let ScriptFrame::Event(sent) = &frames[2] else {
        panic!("not an event: {:?}", frames[2]);
    };
    assert_eq!(sent.encode(), format!("event: response.future\ndata: {event}\n\n"));
}

#[test]
fn a_refusal_without_a_body_is_an_error_in_the_shape_of_the_api() {
    let ScriptAnswer::Plain { status, body, .. } = render(json!({"http": 503})) else {
        panic!("not a plain answer");
    };
    assert_eq!(status.as_u16(), 503);
    assert_eq!(body["error"]["type"], "server_error");
}

#[test]
fn the_last_message_of_the_user_is_found_behind_results_of_tools() {
    let text = |input: Value| Api::Responses.last_user_text(&json!({"input": input}));
    assert_eq!(text(json!("just text")), "just text");
    let turn = json!([
        {"role": "user", "content": "first"},
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "second"},
            {"type": "input_image", "image_url": "data:"},
            {"type": "input_text", "text": "line"},
        ]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no"}]},
        {"type": "function_call_output", "call_id": "c", "output": "no"},
    ]);
    assert_eq!(text(turn), "second\nline");
    assert_eq!(text(json!(null)), "");
}
