//! What each API is asked, of the same conversation.

use std::sync::Arc;

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::service::ModelApi;
use longshore_models::api::{self, Format, NeutralRequest, RequestOptions, Strict, ToolChoice};
use longshore_models::history::{History, HistoryItem, Output};
use longshore_models::tool::ToolDefinition;
use serde_json::{Value, json};

fn image() -> Attachment {
    let source = AttachmentSource::Data("QUJD".to_owned());
    Attachment { name: None, media_type: "image/png".to_owned(), source }
}

fn call(step: u64, id: &str, name: &str, arguments: &str) -> HistoryItem {
    let (call_id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
    HistoryItem::FunctionCall { step, call_id, name, arguments }
}

fn body(api: ModelApi, items: Vec<HistoryItem>) -> Value {
    let mut history = History::default();
    items.into_iter().for_each(|item| history.push(item));
    let tool = ToolDefinition {
        name: "shell".to_owned(),
        description: "Runs a command".to_owned(),
        parameters: json!({ "type": "object" }),
        side_by_side: false,
    };
    let request = NeutralRequest {
        model: "m".to_owned(),
        instructions: "Be good.".into(),
        history: history.legal(),
        tools: Arc::from([tool]),
        max_output: None,
        effort: None,
    };
    serde_json::from_str(&api::body(api, &request)).unwrap()
}

fn conversation() -> Vec<HistoryItem> {
    let thought = |api, data| HistoryItem::Reasoning { step: 1, api, from: None, data };
    let output = Output { content: "shown".to_owned(), success: true, images: vec![image()] };
    vec![
        HistoryItem::user(None, "look", &[image()]),
        thought(ModelApi::Responses, json!({ "type": "reasoning", "id": "rs" })),
        thought(ModelApi::Messages, json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
        HistoryItem::assistant(1, "Looking."),
        call(1, "a", "view_image", "{\"path\":\"x.png\"}"),
        call(1, "b", "my.tool", "{broken"),
        HistoryItem::FunctionCallOutput { call_id: "a".to_owned(), output },
        HistoryItem::result("b", "no such tool", false),
        HistoryItem::user(None, "and now?", &[]),
    ]
}

#[test]
fn chat() {
    let body = body(ModelApi::Chat, conversation());
    let url = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    let function = |name: &str, arguments: &str| json!({ "name": name, "arguments": arguments });
    assert_eq!(
        body["messages"],
        json!([
            { "role": "system", "content": "Be good." },
            { "role": "user", "content": [{ "type": "text", "text": "look" }, url] },
            { "role": "assistant", "content": "Looking.", "tool_calls": [
                { "id": "a", "type": "function", "function": function("view_image", "{\"path\":\"x.png\"}") },
                { "id": "b", "type": "function", "function": function("my_tool", "{\"malformed_arguments\":\"{broken\"}") },
            ] },
            { "role": "tool", "tool_call_id": "a", "content": "shown" },
            { "role": "tool", "tool_call_id": "b", "content": "no such tool" },
            { "role": "user", "content": [url, { "type": "text", "text": "and now?" }] },
        ])
    );
    assert_eq!(body["tools"][0]["function"]["name"], "shell");
    assert_eq!((&body["stream"], &body["stream_options"]["include_usage"]), (&json!(true), &json!(true)));
}

#[test]
fn responses() {
    let body = body(ModelApi::Responses, conversation());
    let shown = json!({ "type": "input_image", "image_url": "data:image/png;base64,QUJD" });
    assert_eq!(
        body["input"],
        json!([
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "look" }, shown] },
            { "type": "reasoning", "id": "rs" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Looking." }] },
            { "type": "function_call", "call_id": "a", "name": "view_image", "arguments": "{\"path\":\"x.png\"}" },
            { "type": "function_call", "call_id": "b", "name": "my_tool", "arguments": "{\"malformed_arguments\":\"{broken\"}" },
            { "type": "function_call_output", "call_id": "a", "output": [{ "type": "input_text", "text": "shown" }, shown] },
            { "type": "function_call_output", "call_id": "b", "output": "no such tool" },
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "and now?" }] },
        ])
    );
    assert_eq!((&body["store"], &body["instructions"]), (&json!(false), &json!("Be good.")));
    assert_eq!(body["tools"][0]["name"], "shell");
}

#[test]
fn messages() {
    let body = body(ModelApi::Messages, conversation());
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "QUJD" });
    let shown = json!({ "type": "image", "source": source });
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "look" }, shown] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "Looking." },
                { "type": "tool_use", "id": "a", "name": "view_image", "input": { "path": "x.png" } },
                { "type": "tool_use", "id": "b", "name": "my_tool", "input": { "malformed_arguments": "{broken" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "shown" }, shown] },
                { "type": "tool_result", "tool_use_id": "b", "content": [{ "type": "text", "text": "no such tool" }], "is_error": true },
                { "type": "text", "text": "and now?", "cache_control": { "type": "ephemeral" } },
            ] },
        ])
    );
    assert_eq!((&body["max_tokens"], &body["system"][0]["text"]), (&json!(16_000), &json!("Be good.")));
}

#[test]
fn a_summary_takes_the_place_of_what_came_before() {
    let mut items = conversation();
    items.push(HistoryItem::Summary { text: "We looked.".to_owned() });
    items.push(HistoryItem::user(None, "go on", &[]));
    for (api, place) in
        [(ModelApi::Chat, "messages"), (ModelApi::Responses, "input"), (ModelApi::Messages, "messages")]
    {
        let told = body(api, items.clone())[place].to_string();
        assert!(
            told.contains("We looked.") && told.contains("go on") && !told.contains("Looking."),
            "{told}"
        );
    }
}

#[test]
fn options_are_sent_where_the_api_has_fields_for_them_and_nothing_empty_is() {
    let options = RequestOptions {
        tool_choice: Some(ToolChoice::Must),
        parallel_calls: Some(false),
        temperature: Some(0.5),
        top_p: None,
        stop: vec!["END".to_owned()],
        format: Some(Format::Schema {
            name: "s".to_owned(),
            schema: json!({ "type": "object" }),
            strict: true,
        }),
        strict: Strict::default(),
    };
    let bare = NeutralRequest {
        model: "m".to_owned(),
        instructions: "".into(),
        history: vec![HistoryItem::user(None, "hi", &[]).into()],
        tools: [].into(),
        max_output: None,
        effort: None,
    };
    let body = |api| -> Value { serde_json::from_str(&api::body_with(api, &bare, &options)).unwrap() };
    let (chat, responses, messages) =
        (body(ModelApi::Chat), body(ModelApi::Responses), body(ModelApi::Messages));
    for body in [&chat, &responses, &messages] {
        assert_eq!((&body["temperature"], body.get("top_p")), (&json!(0.5), None));
        assert_eq!(body.get("tool_choice"), None, "there is nothing to choose from");
    }
    assert_eq!(chat["messages"], json!([{ "role": "user", "content": "hi" }]));
    assert_eq!((responses.get("instructions"), messages.get("system")), (None, None));
    assert_eq!(
        (&chat["stop"], &messages["stop_sequences"], responses.get("stop")),
        (&json!(["END"]), &json!(["END"]), None)
    );
    assert_eq!(chat["response_format"]["json_schema"]["strict"], true);
    assert_eq!(responses["text"]["format"]["name"], "s");
    assert_eq!(messages["output_config"]["format"]["schema"], json!({ "type": "object" }));
}

/// A result that shows an image, and words and an image of a person right after it.
fn steered() -> NeutralRequest {
    let mut history = History::default();
    history.push(HistoryItem::user(None, "look", &[]));
    history.push(call(1, "a", "shell", "{}"));
    let output = Output { content: "seen".to_owned(), success: true, images: vec![image()] };
    history.push(HistoryItem::FunctionCallOutput { call_id: "a".to_owned(), output });
    history.push(HistoryItem::user(None, "and this?", &[image()]));
    NeutralRequest {
        model: "m".to_owned(),
        instructions: "".into(),
        history: history.legal(),
        tools: [].into(),
        max_output: None,
        effort: None,
    }
}

#[test]
fn what_is_said_after_results_goes_into_them_where_speakers_must_take_turns() {
    let body = |api, turns| -> Value {
        let strict = Strict { turns, ..Strict::default() };
        let options = RequestOptions { strict, ..RequestOptions::default() };
        serde_json::from_str(&api::body_with(api, &steered(), &options)).unwrap()
    };
    let said = "<user-message>\nand this?\n</user-message>";
    let chat = body(ModelApi::Chat, true);
    let image = "[an image, which cannot be shown here]";
    let told = format!("seen\n\n<user-message>\n{image}\nand this?\n{image}\n</user-message>");
    assert_eq!(chat["messages"][2], json!({ "role": "tool", "tool_call_id": "a", "content": told }));
    assert_eq!(chat["messages"].as_array().unwrap().len(), 3);

    let shown = json!({ "type": "input_image", "image_url": "data:image/png;base64,QUJD" });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let responses = body(ModelApi::Responses, true);
    assert_eq!(responses["input"][2]["output"], json!([text("seen"), shown, text(said), shown]));
    assert_eq!(responses["input"].as_array().unwrap().len(), 3);

    let source = json!({ "type": "base64", "media_type": "image/png", "data": "QUJD" });
    let shown = json!({ "type": "image", "source": source });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let messages = body(ModelApi::Messages, true);
    let blocks = messages["messages"][2]["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{messages}");
    assert_eq!(blocks[0]["content"], json!([text("seen"), shown, text(said), shown]));
    assert_eq!(blocks[0]["cache_control"], json!({ "type": "ephemeral" }));
    for api in [ModelApi::Chat, ModelApi::Responses, ModelApi::Messages] {
        assert!(!body(api, false).to_string().contains("<user-message>"), "{api:?}");
    }
}

#[test]
fn what_was_never_thought_or_signed_is_filled_in_where_it_is_wanted() {
    let strict = Strict { thoughts: true, signatures: true, ..Strict::default() };
    let options = RequestOptions { strict, ..RequestOptions::default() };
    let mut request = steered();
    request.history.push(HistoryItem::assistant(2, "Seen.").into());
    let body: Value = serde_json::from_str(&api::body_with(ModelApi::Chat, &request, &options)).unwrap();
    let signed = json!({ "google": { "thought_signature": "skip_thought_signature_validator" } });
    assert_eq!(body["messages"][1]["tool_calls"][0]["extra_content"], signed);
    for at in [1, 4] {
        assert_eq!(body["messages"][at]["role"], "assistant", "{body}");
        assert_eq!(body["messages"][at]["reasoning_content"], " ");
    }
    assert_eq!(body["messages"][0].get("reasoning_content"), None);
}
