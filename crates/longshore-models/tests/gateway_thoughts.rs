//! Thoughts on their way through the gateway: out to a client of another API, and back to the service that thought them.

use longshore_model::service::ModelApi;
use longshore_models::api::Stream;
use longshore_models::gateway::{Exchange, GatewayAnswer, Service, read};
use serde_json::{Value, json};

use crate::gateway_words::{answered, asked, every_pair, plain, streamed};

/// What the client of an API asks next: all that was said, the answer as it got it, and what came of its calls.
fn next(client: ModelApi, body: &Value) -> Value {
    let mut next = plain(client);
    let key = if client == ModelApi::Responses { "input" } else { "messages" };
    let said = next[key].as_array_mut().unwrap();
    match client {
        ModelApi::Responses => {
            said.extend(body["output"].as_array().unwrap().iter().cloned());
            for item in
                body["output"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call")
            {
                said.push(
                    json!({ "type": "function_call_output", "call_id": item["call_id"], "output": "done" }),
                );
            }
        }
        ModelApi::Messages => {
            said.push(json!({ "role": "assistant", "content": body["content"] }));
            let calls =
                body["content"].as_array().unwrap().iter().filter(|block| block["type"] == "tool_use");
            let result =
                |call: &Value| json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "done" });
            let results: Vec<Value> = calls.map(result).collect();
            if !results.is_empty() {
                said.push(json!({ "role": "user", "content": results }));
            }
        }
        ModelApi::Chat => {
            let message = &body["choices"][0]["message"];
            said.push(message.clone());
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                said.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": "done" }));
            }
        }
    }
    said.push(json!({ "role": "user", "content": "and?" }));
    next
}

#[test]
fn thoughts_find_their_way_back_to_the_service_that_thought_them() {
    for (client, service) in every_pair().filter(|(client, service)| client != service) {
        let bytes = streamed(service, json!([{ "reason": "Let me think" }, { "say": "So." }]));
        let (frames, body) = answered(client, service, &plain(client), &[&bytes]);
        assert!(!frames.contains("\"signature_delta\",\"signature\":\"\""), "{frames}");
        let asked = asked(client, service, &next(client, &body.unwrap()));
        let told = asked["input"].as_array().or(asked["messages"].as_array()).unwrap();
        let sign = match service {
            ModelApi::Responses => &told[1]["encrypted_content"],
            ModelApi::Messages => &told[1]["content"][0]["signature"],
            ModelApi::Chat => &told[1]["reasoning_content"],
        };
        let expected = if service == ModelApi::Chat { "Let me think" } else { "c2NyaXB0ZWQ=" };
        assert_eq!(sign, expected, "{service:?} for {client:?}: {asked}");
    }
}

#[test]
fn signatures_of_calls_and_details_go_back_to_a_service_that_chats() {
    let signed = |sign: &str| json!({ "google": { "thought_signature": sign } });
    let detail = json!({ "type": "reasoning.encrypted", "data": "xyz", "index": 0 });
    for client in [ModelApi::Responses, ModelApi::Messages] {
        let bytes = streamed(
            ModelApi::Chat,
            json!([
                { "reason": "Hm." },
                { "say": "So." },
                { "item": { "reasoning_details": [detail] } },
                { "call": "f", "id": "a", "args": {}, "signature": "s1" },
                { "call": "f", "id": "functions.f:1", "args": { "x": 1 } },
            ]),
        );
        let (_, body) = answered(client, ModelApi::Chat, &plain(client), &[&bytes]);
        let asked = asked(client, ModelApi::Chat, &next(client, &body.unwrap()));
        let message = &asked["messages"][1];
        assert_eq!(message["reasoning_content"], "Hm.", "{client:?}: {asked}");
        assert_eq!(message["reasoning_details"], json!([detail]), "{client:?}: {asked}");
        assert_eq!(message["tool_calls"][0]["extra_content"], signed("s1"), "{client:?}: {asked}");
        assert_eq!(message["tool_calls"][1].get("extra_content"), None);
        assert_eq!(message["tool_calls"][1]["id"], "functions.f:1", "an id goes back as it came");
        assert_eq!(asked["messages"][3]["tool_call_id"], "functions.f:1");
        let roles: Vec<&Value> =
            asked["messages"].as_array().unwrap().iter().map(|said| &said["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    }
}

#[test]
fn another_service_does_not_get_them() {
    let bytes = streamed(ModelApi::Chat, json!([{ "reason": "Hm." }, { "say": "So." }]));
    let request = plain(ModelApi::Messages);
    let asked = read(ModelApi::Messages, request.to_string().as_bytes()).unwrap();
    let exchange = Exchange { id: "x".to_owned(), created_at: 1 };
    let here = Service::new(ModelApi::Chat, "http://here/v1");
    let mut answer = GatewayAnswer::new(ModelApi::Messages, here.clone(), asked, exchange);
    let mut stream = Stream::new(ModelApi::Chat);
    stream.feed(&bytes, |event| answer.tell(event));
    stream.end(|event| answer.tell(event));
    let body = next(ModelApi::Messages, &answer.whole().unwrap());
    let asked = read(ModelApi::Messages, body.to_string().as_bytes()).unwrap();
    assert!(asked.body(&here).contains("\"reasoning_content\":\"Hm.\""));
    let elsewhere = Service::new(ModelApi::Chat, "http://elsewhere/v1");
    assert!(!asked.body(&elsewhere).contains("reasoning_content"));
}

#[test]
fn what_a_client_says_aside_stands_in_front_of_the_words_of_a_person() {
    let roles = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    // As Claude Code asks: the prompt, and after it what the maker of the client has to say.
    let claude = json!({ "model": "m", "max_tokens": 9, "system": "Be good.", "messages": [
        { "role": "user", "content": "make it" },
        { "role": "system", "content": "The date is known." },
    ] });
    let body = asked(ModelApi::Messages, ModelApi::Chat, &claude);
    assert_eq!(roles(&body), ["system", "user"]);
    let aside = "<system-message>\nThe date is known.\n</system-message>";
    assert_eq!(body["messages"][1]["content"], format!("{aside}\nmake it"));
    // As Codex asks: what it found out, and then the prompt.
    let codex = json!({ "model": "m", "instructions": "Be good.", "input": [
        { "role": "developer", "content": "Mind the sandbox." },
        { "role": "user", "content": "the folder is /w" },
        { "role": "developer", "content": "Mind the mode." },
        { "role": "user", "content": "make it" },
        { "role": "assistant", "content": "Made." },
        { "role": "developer", "content": "The mode is another now." },
        { "role": "user", "content": "again" },
    ] });
    for service in [ModelApi::Chat, ModelApi::Messages] {
        let body = asked(ModelApi::Responses, service, &codex);
        let told = roles(&body);
        assert_eq!(told[told.len() - 3..], ["user", "assistant", "user"], "{body}");
    }
    let body = asked(ModelApi::Responses, ModelApi::Chat, &codex);
    let expected = "the folder is /w\n\n<system-message>\nMind the mode.\n</system-message>\nmake it";
    assert_eq!(body["messages"][1]["content"], expected);
    let last = "<system-message>\nThe mode is another now.\n</system-message>\nagain";
    assert_eq!(body["messages"][3]["content"], last);
}

#[test]
fn how_hard_a_client_wants_it_thought_reaches_every_service() {
    let codex = json!({ "model": "claude-opus-4-6", "input": "hi", "reasoning": { "effort": "high" } });
    let messages = asked(ModelApi::Responses, ModelApi::Messages, &codex);
    assert_eq!(messages["output_config"], json!({ "effort": "high" }));
    assert_eq!(messages["thinking"], json!({ "type": "adaptive" }));
    assert_eq!(asked(ModelApi::Responses, ModelApi::Chat, &codex)["reasoning_effort"], "high");
    let claude = json!({ "model": "m", "max_tokens": 9_000, "output_config": { "effort": "low" },
        "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(asked(ModelApi::Messages, ModelApi::Chat, &claude)["reasoning_effort"], "low");
    assert_eq!(asked(ModelApi::Messages, ModelApi::Responses, &claude)["reasoning"]["effort"], "low");
    let chat = json!({ "model": "claude-sonnet-4-5", "max_tokens": 9_000, "reasoning_effort": "high",
        "messages": [{ "role": "user", "content": "hi" }] });
    let messages = asked(ModelApi::Chat, ModelApi::Messages, &chat);
    assert_eq!(messages["thinking"], json!({ "type": "enabled", "budget_tokens": 4_500 }));
}

#[test]
fn a_thought_of_which_only_the_end_tells_is_held_apart_from_the_words() {
    let bytes = streamed(ModelApi::Chat, json!([{ "say": "Hm, so.</think>\n\nHello.", "chunks": 9 }]));
    let (frames, body) = answered(ModelApi::Messages, ModelApi::Chat, &plain(ModelApi::Messages), &[&bytes]);
    assert!(!frames.contains("think>"), "{frames}");
    let body = body.unwrap();
    let texts: Vec<&Value> = body["content"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
    assert_eq!(texts, ["Hm, so.", "Hello."]);
}
