//! The gateway on real sockets, with real agents on models that do not speak their API.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Redirect;
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::service::ModelApi;
use longshore_models::api::{Event, Stream};
use longshore_models::gateway::Gateway;
use longshore_models::script::Outcome;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::oneshot;

use super::rig::{Rig, WITHIN};
use super::script_server::Served;
use super::scripted::CODEX;

#[tokio::test]
async fn codex_patches_a_file_on_a_service_that_only_chats() {
    let rig = Rig::through(Some("chat"), json!([])).await;
    let path = rig.work().join("heron.txt");
    let steps = json!([
        { "do": [(CODEX.write)(path.to_str().unwrap(), "grey heron"), (CODEX.run)("cat heron.txt")] },
        { "do": [{ "say": "Written." }], "usage": { "input": 300, "cached": 200, "output": 30 } },
    ]);
    rig.model.replace(longshore_models::script::Script::from_value(steps).unwrap());
    let mut talk = rig.open("full").await;
    let turn = talk.prompt("write it").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "grey heron\n");
    assert_eq!(talk.messages(), ["Written."]);
    let requests = rig.model.requests().requests;
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.path == "/v1/chat/completions"), "{requests:?}");
    let tools = requests[0].body["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["type"] == "function"), "{tools:?}");
    let roles: Vec<&Value> =
        requests[1].body["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles[0], "system");
    assert_eq!(roles[roles.len() - 3..], ["assistant", "tool", "tool"], "both calls are answered: {roles:?}");
    let usage = talk.events.iter().find_map(|event| match &event.body {
        Body::TurnFinished(end) => end.usage,
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.cached_input, usage.output), (Some(400), Some(240), Some(50)));
}

/// The lines that docs/gateway.md has people write, as they stand there.
#[tokio::test]
async fn codex_runs_on_the_lines_of_the_documentation() {
    let story = json!([
        { "do": [{ "say": "I will." }, (CODEX.run)("echo made > made.txt")] },
        { "do": [{ "say": "Done." }] },
    ]);
    let (served, gateway) = on(story, ModelApi::Chat).await;
    let document = super::tidy::read("docs/gateway.md");
    let config = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(config.contains("http://127.0.0.1:8791/v1"), "{config}");
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["codex", "work"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let config = config.replace("http://127.0.0.1:8791/v1", &gateway.url);
    std::fs::write(folder.path().join("codex/config.toml"), config).unwrap();
    let codex = Command::new(super::rig::codex())
        .args(["exec", "--json", "--skip-git-repo-check", "--sandbox", "danger-full-access", "make it"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", folder.path())
        .env("CODEX_HOME", folder.path().join("codex"))
        .current_dir(folder.path().join("work"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(WITHIN, codex).await.expect("codex does not end").unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Done."), "{said}");
    assert!(folder.path().join("work/made.txt").exists(), "{said}");
    let asked = served.model.requests().requests;
    let asked: Vec<(&str, &Value)> =
        asked.iter().map(|request| (request.path.as_str(), &request.body["model"])).collect();
    let model = json!("qwen3-coder");
    assert_eq!(asked, [("/v1/chat/completions", &model), ("/v1/chat/completions", &model)]);
}

/// A gateway that is served.
pub(super) struct Open {
    url: String,
    _stop: oneshot::Sender<()>,
}

pub(super) async fn gateway(service: &str, api: ModelApi, key: Option<&str>) -> Open {
    serve(Gateway::new(service, api, key.map(str::to_owned)).unwrap()).await
}

async fn serve(gateway: Gateway) -> Open {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(gateway.serve(listener, async {
        let _ = stopped.await;
    }));
    Open { url, _stop: stop }
}

/// A scripted model, and a gateway to it.
pub(super) async fn on(script: Value, api: ModelApi) -> (Served, Open) {
    let served = Served::new(script).await;
    let gateway = gateway(&format!("http://{}/v1", served.address), api, None).await;
    (served, gateway)
}

impl Open {
    pub(super) async fn ask(&self, path: &str, body: &Value) -> Response {
        let client = Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("{}{path}", self.url)).body(body.to_string());
        tokio::time::timeout(WITHIN, request.send()).await.unwrap().unwrap()
    }

    async fn get(&self, path: &str) -> Response {
        let client = Client::builder().no_proxy().build().unwrap();
        let request =
            client.get(format!("{}{path}", self.url)).header("authorization", "Bearer of-the-client");
        tokio::time::timeout(WITHIN, request.send()).await.unwrap().unwrap()
    }
}

async fn json_of(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

fn prompt(stream: bool) -> Value {
    json!({ "model": "m", "input": "hi", "stream": stream })
}

fn message(stream: bool) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }], "max_tokens": 9, "stream": stream })
}

#[tokio::test]
async fn an_answer_comes_as_a_stream_or_as_one_body() {
    let said = json!([{ "say": "Hello." }, { "call": "f", "args": { "x": 1 } }]);
    let (_served, gateway) = on(json!([{ "do": said, "repeat": "forever" }]), ModelApi::Chat).await;
    let response = gateway.ask("/responses", &prompt(true)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let frames = response.text().await.unwrap();
    assert!(frames.starts_with("event: response.created\n"), "{frames}");
    assert!(frames.contains("event: response.completed\n"), "{frames}");
    let whole = json_of(gateway.ask("/responses", &prompt(false)).await).await;
    assert_eq!((&whole["status"], &whole["usage"]["total_tokens"]), (&json!("completed"), &json!(120)));
    assert_eq!(whole["output"][0]["content"][0]["text"], "Hello.");
    let whole = json_of(gateway.ask("/messages", &message(false)).await).await;
    assert_eq!(
        (&whole["stop_reason"], &whole["content"][1]["input"]),
        (&json!("tool_use"), &json!({ "x": 1 }))
    );
}

#[tokio::test]
async fn what_the_service_refuses_is_refused_in_the_clients_words() {
    let steps = json!([
        { "http": 429, "headers": { "retry-after": "7" }, "body": { "error": { "message": "slow down", "type": "rate_limit_error" } }, "repeat": 2 },
        { "http": 400, "body": { "error": { "message": "12 tokens are over the context length" } }, "repeat": 2 },
        { "http": 404, "body": { "error": "model 'm' not found" } },
    ]);
    let (_served, gateway) = on(steps, ModelApi::Chat).await;
    let response = gateway.ask("/responses", &prompt(true)).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &HeaderValue::from_static("7"))
    );
    let error = json_of(response).await["error"].clone();
    assert_eq!((&error["message"], &error["code"]), (&json!("slow down"), &json!("rate_limit_exceeded")));
    let response = gateway.ask("/messages", &message(true)).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &HeaderValue::from_static("7"))
    );
    let said = json_of(response).await;
    assert_eq!((&said["type"], &said["error"]["type"]), (&json!("error"), &json!("rate_limit_error")));

    let error = json_of(gateway.ask("/responses", &prompt(true)).await).await["error"].clone();
    assert_eq!(error["code"], "context_length_exceeded");
    let error = json_of(gateway.ask("/messages", &message(true)).await).await["error"].clone();
    assert!(error["message"].as_str().unwrap().starts_with("prompt is too long"), "{error}");
    let response = gateway.ask("/messages", &message(true)).await;
    assert_eq!(response.status(), 404);
    assert_eq!(json_of(response).await["error"]["message"], "model 'm' not found");
}

#[tokio::test]
async fn a_time_that_is_only_in_words_becomes_a_header() {
    let error = json!({ "message": "Please try again in 1.2s.", "type": "rate_limit_error" });
    let (_served, gateway) = on(json!([{ "http": 429, "body": { "error": error } }]), ModelApi::Chat).await;
    let response = gateway.ask("/responses", &prompt(true)).await;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "2", "whole seconds, and not too few");
}

#[tokio::test]
async fn a_stream_that_breaks_is_said_to_have_broken() {
    let half = json!({ "do": [{ "say": "Half" }, { "sleep_ms": 20 }, { "cut": true }], "repeat": "forever" });
    let (_served, gateway) = on(json!([half]), ModelApi::Chat).await;
    let frames = gateway.ask("/responses", &prompt(true)).await.text().await.unwrap();
    assert!(frames.contains("\"delta\":\"Half\"") && frames.contains("event: response.failed\n"), "{frames}");
    assert!(frames.contains("broke off") && !frames.contains("response.completed"), "{frames}");
    let frames = gateway.ask("/messages", &message(true)).await.text().await.unwrap();
    assert!(frames.contains("event: error\n") && !frames.contains("message_stop"), "{frames}");
    let response = gateway.ask("/messages", &message(false)).await;
    assert_eq!(response.status(), 502);
    assert_eq!(json_of(response).await["error"]["type"], "api_error");
}

#[tokio::test]
async fn a_client_hears_that_a_silent_service_is_still_there() {
    let served = Served::new(json!([{ "do": [{ "say": "Hm" }, { "sleep_ms": 300 }, { "say": "." }] }])).await;
    let service = Gateway::new(&format!("http://{}/v1", served.address), ModelApi::Chat, None).unwrap();
    let gateway = serve(service.with_pulse(Duration::from_millis(20))).await;
    let frames = gateway.ask("/responses", &prompt(true)).await.text().await.unwrap();
    assert!(frames.contains("\n\n: still there\n\n"), "{frames}");
    let mut stream = Stream::new(ModelApi::Responses);
    let mut said = String::new();
    stream.feed(frames.as_bytes(), |event| {
        if let Event::Text(text) = event {
            said.push_str(&text);
        }
    });
    assert_eq!((said.as_str(), stream.is_over()), ("Hm.", true));
}

#[tokio::test]
async fn a_failure_before_the_first_word_has_a_status() {
    let overloaded = json!({ "code": "server_is_overloaded", "message": "later" });
    let (_served, gateway) = on(json!([{ "do": [{ "fail": overloaded }] }]), ModelApi::Chat).await;
    let response = gateway.ask("/responses", &prompt(true)).await;
    assert_eq!(response.status(), 503);
    assert_eq!(json_of(response).await["error"]["message"], "later");
}

#[tokio::test]
async fn a_service_that_is_not_there_is_named() {
    // A port that was free a moment ago, and on which nobody listens.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let gateway = gateway(&format!("http://{address}/v1"), ModelApi::Chat, None).await;
    for (path, body) in [("/responses", prompt(true)), ("/chat/completions", message(true))] {
        let response = gateway.ask(path, &body).await;
        assert_eq!(response.status(), 502);
        let said = json_of(response).await["error"]["message"].as_str().unwrap().to_owned();
        assert!(said.contains(&format!("{address}")) && said.contains("cannot be reached"), "{said}");
    }
    assert_eq!(gateway.get("/models").await.status(), 502);
}

#[tokio::test]
async fn a_redirect_that_is_not_followed_is_no_fault_that_passes() {
    let elsewhere = |uri: Uri| async move {
        Redirect::temporary(&format!("http://127.0.0.1:1{}", uri.path().replace("/v1", "/v2")))
    };
    let cases = [
        (axum::Router::new().fallback(elsewhere), "put http://127.0.0.1:1/v2 into --upstream."),
        (axum::Router::new().fallback(|| async { Redirect::temporary("/again") }), "more than 5 times"),
        (axum::Router::new().fallback(|| async { StatusCode::TEMPORARY_REDIRECT }), "it has no Location"),
    ];
    for (service, told) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, service).await });
        let gateway = gateway(&format!("http://{address}/v1"), ModelApi::Chat, None).await;
        // The first is translated, the second is passed on as it is.
        for (path, body) in [("/responses", prompt(true)), ("/chat/completions", message(true))] {
            let response = gateway.ask(path, &body).await;
            assert_eq!(response.status(), 400, "clients ask again after 5xx");
            let said = json_of(response).await["error"]["message"].as_str().unwrap().to_owned();
            assert!(said.contains(&format!("http://{address}/")) && said.contains(told), "{said}");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_request_with_it() {
    let steps = json!([{ "do": [{ "say": "Hm" }, { "hang": true }], "repeat": "forever" }]);
    let (served, gateway) = on(steps, ModelApi::Chat).await;
    for (count, streamed) in [(1, true), (2, false)] {
        let body = prompt(streamed);
        let asking = gateway.ask("/responses", &body);
        let came = |count: usize| served.model.requests_when(move |heard| heard.requests.len() >= count);
        if streamed {
            let mut response = asking.await;
            assert!(response.chunk().await.unwrap().is_some());
            drop(response);
        } else {
            tokio::select! {
                response = asking => panic!("an answer that never ends came: {response:?}"),
                _ = came(count) => {}
            }
        }
        let left = served.model.requests_when(|heard| heard.requests[count - 1].outcome == Outcome::Hangup);
        tokio::time::timeout(WITHIN, left).await.expect("the service still answers");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_the_service_is_not_asked() {
    let (served, gateway) = on(json!([]), ModelApi::Chat).await;
    let response = gateway.ask("/responses", &json!({ "input": "hi" })).await;
    assert_eq!(response.status(), 400);
    assert!(json_of(response).await["error"]["message"].as_str().unwrap().contains("`model`"));
    assert_eq!(gateway.ask("/embeddings", &json!({})).await.status(), 404);
    let counted = json_of(gateway.ask("/messages/count_tokens", &message(false)).await).await;
    assert!(counted["input_tokens"].as_u64().unwrap() > 5, "{counted}");
    assert!(served.model.requests().requests.is_empty());
    let page = Client::builder().no_proxy().build().unwrap().post(format!("{}/responses", gateway.url));
    let page = page.header("origin", "https://example.com").body("{}").send().await.unwrap();
    assert_eq!(page.status(), 403, "a page in a browser may not use the key");
}

/// A service that tells what it was asked with.
async fn mirror() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let told = |uri: Uri, headers: HeaderMap, body: String| async move {
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let shown = json!({
            "path": uri.to_string(), "authorization": header("authorization"), "key": header("x-api-key"),
            "version": header("anthropic-version"), "own": header("x-own"), "body": body,
        });
        (axum::http::StatusCode::IM_A_TEAPOT, Json(json!({ "error": { "message": shown.to_string() } })))
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(told)).await });
    address
}

async fn seen(gateway: &Open, path: &str, header: (&str, &str)) -> Value {
    let client = Client::builder().no_proxy().build().unwrap();
    let body = match path.contains("messages") {
        true => message(true),
        false => prompt(true),
    };
    let request =
        client.post(format!("{}{path}", gateway.url)).header(header.0, header.1).header("x-own", "mine");
    let response = request.body(body.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 418);
    let said = json_of(response).await;
    serde_json::from_str(said["error"]["message"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn keys_arrive_where_the_service_looks_for_them() {
    let url = format!("http://{}/base/v1/", mirror().await);
    let chat = gateway(&url, ModelApi::Chat, None).await;
    let said = seen(&chat, "/messages", ("x-api-key", "theirs")).await;
    assert_eq!((&said["authorization"], &said["key"]), (&json!("Bearer theirs"), &Value::Null));
    assert_eq!((&said["path"], &said["own"]), (&json!("/base/v1/chat/completions"), &Value::Null));
    let messages = gateway(&url, ModelApi::Messages, None).await;
    let said = seen(&messages, "/responses", ("authorization", "Bearer theirs")).await;
    assert_eq!((&said["key"], &said["version"]), (&json!("theirs"), &json!("2023-06-01")));
    let ours = gateway(&url, ModelApi::Chat, Some("ours")).await;
    let said = seen(&ours, "/responses", ("authorization", "Bearer theirs")).await;
    assert_eq!(said["authorization"], "Bearer ours");

    // The same API is passed on as it is, with the key of ours if there is one.
    let said = seen(&messages, "/messages?beta=true", ("authorization", "Bearer theirs")).await;
    assert_eq!((&said["authorization"], &said["own"]), (&json!("Bearer theirs"), &json!("mine")));
    assert_eq!(
        (&said["path"], &said["body"]),
        (&json!("/base/v1/messages?beta=true"), &json!(message(true).to_string()))
    );
    let ours = gateway(&url, ModelApi::Messages, Some("ours")).await;
    let said = seen(&ours, "/messages", ("authorization", "Bearer theirs")).await;
    assert_eq!((&said["authorization"], &said["key"]), (&Value::Null, &json!("ours")));
}

#[tokio::test]
async fn models_and_the_same_api_are_passed_on_as_they_are() {
    let script = json!({ "models": ["one", "two"], "steps": [{ "do": [{ "say": "Hello." }], "headers": { "x-limit": "7" } }] });
    let (served, gateway) = on(script, ModelApi::Responses).await;
    let models = json_of(gateway.get("/models").await).await;
    assert_eq!(models["data"][1]["id"], "two");
    let mut body = prompt(true);
    body["of_their_own"] = json!(true);
    let response = gateway.ask("/responses", &body).await;
    assert_eq!(response.headers()["x-limit"], "7");
    assert!(response.text().await.unwrap().contains("\"id\":\"resp_1\""), "its own words");
    let requests = served.model.requests().requests;
    assert_eq!(requests.last().unwrap().body["of_their_own"], true);
}

#[tokio::test]
async fn a_gateway_is_no_script_and_wants_an_address() {
    let run = |arguments: &'static [&'static str]| async move {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        let output = command.arg("model").args(arguments).output().await.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--script", "x.json", "--upstream", "http://127.0.0.1:1/v1"]).await;
    assert!(code == Some(2) && said.contains("cannot be used with"), "{said}");
    let (code, said) = run(&[]).await;
    assert!(code == Some(2) && said.contains("--script"), "{said}");
    let (code, said) = run(&["--upstream", "ollama"]).await;
    assert!(code != Some(0) && said.contains("ollama is no address"), "{said}");
    let (code, said) =
        run(&["--upstream", "http://127.0.0.1:1/v1", "--key-env", "NO_SUCH_VARIABLE_HERE"]).await;
    assert!(code != Some(0) && said.contains("NO_SUCH_VARIABLE_HERE"), "{said}");
}
