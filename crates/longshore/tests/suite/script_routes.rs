//! Where the scripted model answers: the paths of every API on a real socket.

use longshore_models::script::Outcome;
use serde_json::{Value, json};

use super::script_server::Served;

/// A prompt as each API sends it: where, the body, and what marks the end of a stream.
fn prompts(text: &str, stream: bool) -> [(&'static str, Value, &'static str); 4] {
    let message = json!({"role": "user", "content": text});
    let verb = match stream {
        true => "/v1beta/models/m:streamGenerateContent?alt=sse",
        false => "/v1beta/models/m:generateContent",
    };
    [
        ("/v1/responses", json!({"input": text, "stream": stream}), "response.completed"),
        ("/v1/chat/completions", json!({"messages": [message], "stream": stream}), "[DONE]"),
        ("/v1/messages?beta=true", json!({"messages": [message], "stream": stream}), "message_stop"),
        (verb, json!({"contents": [{"role": "user", "parts": [{"text": text}]}]}), "finishReason"),
    ]
}

fn post(path: &str) -> String {
    format!("POST {path} HTTP/1.1")
}

#[tokio::test]
async fn one_script_plays_in_every_api() {
    let served = Served::new(json!([
        {"when": {"contains": "hail"}, "do": [{"say": ["Streamed."]}], "repeat": 4},
        {"when": {"contains": "hail"}, "do": [{"say": ["Whole."], "delay_ms": 1}], "repeat": 4},
    ]))
    .await;
    for (path, body, end) in prompts("hail", true) {
        let reply = served.ask(&post(path), &body.to_string()).await;
        assert_eq!((reply.status, reply.whole), (200, true), "{path}");
        assert!(reply.head.contains("content-type: text/event-stream"), "{path}: {}", reply.head);
        assert!(reply.body.contains("Streamed.") && reply.body.contains(end), "{path}: {}", reply.body);
    }
    for (path, body, _) in prompts("hail", false) {
        let reply = served.ask(&post(path), &body.to_string()).await;
        assert_eq!((reply.status, reply.whole), (200, true), "{path}");
        assert!(reply.head.contains("content-type: application/json"), "{path}: {}", reply.head);
        let answer: Value = serde_json::from_str(&reply.body).expect("one body is JSON");
        assert!(answer.to_string().contains("Whole."), "{path}: {answer}");
    }
    for request in served.model.requests().requests {
        assert_eq!(request.outcome, Outcome::Played, "{}", request.path);
    }
    assert!(served.model.left().is_empty());
}

#[tokio::test]
async fn an_answer_in_one_body_can_be_cut() {
    let served = Served::new(json!([{"do": [{"say": "never"}, {"cut": true}], "repeat": 4}])).await;
    for (path, body, _) in prompts("x", false) {
        let reply = served.ask(&post(path), &body.to_string()).await;
        assert_eq!((reply.whole, reply.body.as_str()), (false, ""), "{path}");
    }
    for request in served.model.requests().requests {
        assert_eq!(request.outcome, Outcome::Cut, "{}", request.path);
    }
}

#[tokio::test]
async fn what_an_agent_asks_on_its_own_account_can_be_kept_apart() {
    let served = Served::new(json!([
        {"note": "title", "when": {"tools": false}, "do": [{"say": "A title"}], "repeat": "forever"},
        {"note": "turn", "when": {"contains": "hail", "tools": true}, "do": [{"say": "Hail."}]},
    ]))
    .await;
    let mut turn = json!({"messages": [{"role": "user", "content": "hail"}]});
    let path = post("/v1/chat/completions");
    assert!(served.ask(&path, &turn.to_string()).await.body.contains("A title"));
    turn["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    assert!(served.ask(&path, &turn.to_string()).await.body.contains("Hail."));
    assert!(served.ask(&path, &turn.to_string()).await.body.contains("(script exhausted)"));
}

#[tokio::test]
async fn the_model_of_an_answer_is_the_one_that_was_asked_for() {
    let served = Served::new(json!([{"do": []}, {"do": []}])).await;
    let reply = served.ask(&post("/v1beta/models/gemini-x:generateContent"), "{}").await;
    assert!(reply.body.contains(r#""modelVersion":"gemini-x""#), "{}", reply.body);
    let reply = served.ask(&post("/messages"), r#"{"model":"claude-x"}"#).await;
    assert!(reply.body.contains(r#""model":"claude-x""#), "{}", reply.body);
}

#[tokio::test]
async fn tokens_are_counted_without_a_step() {
    let served = Served::new(json!([{"do": [{"say": "still here"}]}])).await;
    let body = json!({"messages": []}).to_string();
    let count = body.len() / 4;
    let reply = served.ask(&post("/v1/messages/count_tokens?beta=true"), &body).await;
    assert_eq!(reply.body, json!({"input_tokens": count}).to_string());
    let reply = served.ask(&post("/v1beta/models/m:countTokens"), &body).await;
    assert_eq!(reply.body, json!({"totalTokens": count}).to_string());
    assert_eq!(served.model.left().len(), 1);
    assert_eq!(served.model.requests().requests.len(), 2);
}

#[tokio::test]
async fn models_are_listed_in_the_shape_of_each_api() {
    let served = Served::new(json!({"models": ["one", "two"], "steps": []})).await;
    let list = served.get("/v1/models").await;
    assert_eq!(list["data"][1]["object"], "model");
    let head = "GET /v1/models HTTP/1.1\r\nanthropic-version: 2023-06-01";
    let list: Value = serde_json::from_str(&served.ask(head, "").await.body).expect("a list");
    assert_eq!(list["data"][1]["display_name"], "two");
    assert_eq!((&list["first_id"], &list["has_more"]), (&json!("one"), &json!(false)));
    let list = served.get("/v1beta/models").await;
    assert_eq!(list["models"][1]["name"], "models/two");
}

#[tokio::test]
async fn an_agent_that_looks_whether_anybody_is_there_finds_somebody() {
    let served = Served::new(json!([])).await;
    assert_eq!(served.ask("HEAD / HTTP/1.1", "").await.status, 200);
    assert_eq!(served.ask("GET / HTTP/1.1", "").await.body, "a scripted model\n");
    assert_eq!(served.ask(&post("/v1beta/models/m:embedContent"), "{}").await.status, 404);
    assert_eq!(served.ask(&post("/v1beta/models/m"), "{}").await.status, 404);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_in_the_words_of_the_api() {
    let served = Served::new(json!([])).await;
    let refusal = |path: &'static str| {
        let served = &served;
        async move {
            let reply = served.ask(&post(path), "not json").await;
            assert_eq!(reply.status, 400, "{path}");
            serde_json::from_str::<Value>(&reply.body).expect("an error is JSON")
        }
    };
    assert_eq!(refusal("/v1/chat/completions").await["error"]["type"], "invalid_request_error");
    assert_eq!(refusal("/v1/messages").await["type"], "error");
    assert_eq!(refusal("/v1/messages/count_tokens").await["type"], "error");
    let error = refusal("/v1beta/models/m:generateContent").await;
    assert_eq!(error["error"]["status"], "INVALID_ARGUMENT");
}
