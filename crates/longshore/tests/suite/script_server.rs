//! The scripted model on a real socket: what a client sees of it, byte by byte.

use std::net::SocketAddr;

use longshore_models::script::{BODY_LIMIT, Model, Outcome, Script};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A served script.
pub(super) struct Served {
    pub(super) model: Model,
    pub(super) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), longshore_models::loopback::ServeError>>,
}

impl Served {
    pub(super) async fn new(script: Value) -> Self {
        Served::model(Model::new(Script::from_value(script).unwrap())).await
    }

    async fn model(model: Model) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(model.clone().serve(listener, async {
            let _ = stopped.await;
        }));
        Served { model, address, stop, task }
    }

    async fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let host = if head.contains("host:") { "" } else { "host: localhost\r\n" };
        let length = body.len();
        let request = format!("{head}\r\n{host}connection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }

    pub(super) async fn ask(&self, head: &str, body: &str) -> Reply {
        let mut socket = self.send(head, body).await;
        let mut bytes = Vec::new();
        // A connection that the script drops may end in a reset; what came before it counts.
        let _ = socket.read_to_end(&mut bytes).await;
        Reply::read(&String::from_utf8(bytes).unwrap())
    }

    async fn prompt(&self, text: &str) -> Reply {
        let body = json!({"model": "m", "input": text, "stream": true}).to_string();
        self.ask("POST /v1/responses HTTP/1.1", &body).await
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let reply = self.ask(&format!("GET {path} HTTP/1.1"), "").await;
        serde_json::from_str(&reply.body).unwrap()
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
    /// Whether the body ended as it should.
    pub(super) whole: bool,
}

impl Reply {
    fn read(text: &str) -> Self {
        let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let chunked = head.contains("transfer-encoding: chunked");
        let (body, whole) = match chunked {
            true => unchunk(rest),
            false => (rest.to_owned(), true),
        };
        Reply { status: status.expect("a status"), head: head.to_owned(), body, whole }
    }

    fn says(&self, text: &str) -> bool {
        self.body.contains(&format!("\"text\":\"{text}\""))
    }
}

fn unchunk(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("the size of a chunk");
        if size == 0 {
            return (body, true);
        }
        body.push_str(&more[..size]);
        rest = &more[size + 2..];
    }
    (body, false)
}

#[tokio::test]
async fn a_step_is_streamed_and_recorded() {
    let served = Served::new(json!([
        {"note": "greets", "do": [{"say": "Hello.", "delay_ms": 1}], "headers": {"x-limit": "7"}},
    ]))
    .await;
    let head = "POST /v1/responses HTTP/1.1\r\nauthorization: Bearer secret";
    let reply = served.ask(head, r#"{"model":"m","input":"hi","stream":true}"#).await;
    assert_eq!((reply.status, reply.whole), (200, true));
    assert!(reply.head.contains("content-type: text/event-stream"), "{}", reply.head);
    assert!(reply.head.contains("x-limit: 7"), "{}", reply.head);
    assert!(reply.says("Hello."), "{}", reply.body);
    assert!(reply.body.contains("event: response.completed\n"), "{}", reply.body);

    let requests = served.get("/_requests").await;
    let request = &requests["requests"][0];
    assert_eq!(requests["dropped"], 0);
    assert_eq!(request["body"]["input"], "hi");
    assert_eq!(request["headers"]["authorization"], "(hidden)");
    assert_eq!(request["step"], 1);
    assert_eq!(request["note"], "greets");
    assert_eq!(request["outcome"], "played");
}

#[tokio::test]
async fn both_paths_work_and_the_end_of_the_script_is_said() {
    let served = Served::new(json!([{"do": [{"say": "short path"}]}])).await;
    let reply = served.ask("POST /responses HTTP/1.1", "{}").await;
    assert!(reply.says("short path"), "{}", reply.body);
    assert!(served.prompt("more").await.says("(script exhausted)"));
}

#[tokio::test]
async fn models_are_those_of_the_script() {
    let served = Served::new(json!({"models": ["one", "two"], "steps": []})).await;
    let list = served.get("/v1/models").await;
    assert_eq!(list["data"][1]["id"], "two");
    served.model.replace(Script::default());
    assert_eq!(served.get("/models").await["data"][0]["id"], "scripted");
}

#[tokio::test]
async fn errors_carry_their_headers_and_body() {
    let served = Served::new(json!([
        {"http": 429, "headers": {"retry-after": "1"}, "body": {"error": {"code": "slow"}}},
        {"http": 502, "headers": {"content-type": "text/html"}, "body": "<h1>bad gateway</h1>"},
    ]))
    .await;
    let limited = served.prompt("a").await;
    assert_eq!(limited.status, 429);
    assert!(limited.head.contains("retry-after: 1"), "{}", limited.head);
    assert_eq!(limited.body, r#"{"error":{"code":"slow"}}"#);
    let gateway = served.prompt("b").await;
    assert_eq!((gateway.status, gateway.body.as_str()), (502, "<h1>bad gateway</h1>"));
    assert!(gateway.head.contains("content-type: text/html"), "{}", gateway.head);
}

#[tokio::test]
async fn a_cut_breaks_the_body_and_an_end_only_leaves_it_unfinished() {
    let served = Served::new(json!([
        {"do": [{"say": "half"}, {"cut": true}]},
        {"do": [{"say": "half"}, {"end": true}]},
    ]))
    .await;
    for (whole, outcome) in [(false, Outcome::Cut), (true, Outcome::Played)] {
        let reply = served.prompt("x").await;
        assert!(reply.says("half"), "what came before is there: {}", reply.body);
        assert!(!reply.body.contains("response.completed"), "{}", reply.body);
        assert_eq!(reply.whole, whole);
        let requests = served.model.requests().requests;
        assert_eq!(requests.last().map(|request| request.outcome), Some(outcome));
    }
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let served = Served::new(json!([{"do": [{"say": "wait"}, {"hang": true}]}])).await;
    let mut socket = served.send("POST /v1/responses HTTP/1.1", "{}").await;
    let mut seen = [0; 64];
    socket.read_exact(&mut seen).await.unwrap();
    assert_eq!(served.model.requests().requests[0].outcome, Outcome::Playing);
    drop(socket);
    let left = |outcome| outcome == Outcome::Hangup;
    let noticed = served.model.requests_when(|all| left(all.requests[0].outcome));
    noticed.await;
}

#[tokio::test]
async fn a_stop_ends_streams_that_hang_or_sleep() {
    let served = Served::new(json!([
        {"do": [{"hang": true}]},
        {"do": [{"sleep_ms": 3_600_000}]},
    ]))
    .await;
    let mut hanging = served.send("POST /v1/responses HTTP/1.1", "{}").await;
    let mut sleeping = served.send("POST /v1/responses HTTP/1.1", "{}").await;
    for socket in [&mut hanging, &mut sleeping] {
        socket.read_exact(&mut [0; 16]).await.unwrap();
    }
    served.stop.send(()).unwrap();
    served.task.await.unwrap().expect("the server stops without complaint");
    for request in served.model.requests().requests {
        assert_eq!(request.outcome, Outcome::Stopped);
    }
}

#[tokio::test]
async fn sessions_that_ask_at_once_get_their_own_steps() {
    let served = Served::new(json!([
        {"when": {"contains": "beta"}, "do": [{"say": "beta 1"}]},
        {"when": {"contains": "alpha"}, "do": [{"say": "alpha 1"}]},
        {"when": {"contains": "alpha"}, "do": [{"say": "alpha 2"}]},
        {"when": {"contains": "beta"}, "do": [{"say": "beta 2"}]},
    ]))
    .await;
    for turn in [1, 2] {
        let (alpha, beta) = tokio::join!(served.prompt("alpha"), served.prompt("beta"));
        assert!(alpha.says(&format!("alpha {turn}")), "{}", alpha.body);
        assert!(beta.says(&format!("beta {turn}")), "{}", beta.body);
    }
}

#[tokio::test]
async fn a_running_script_can_be_steered() {
    let served = Served::new(json!([{"do": [{"say": "old"}]}])).await;
    let new = r#"[{"do": [{"say": "new"}]}]"#;
    let more = r#"[{"do": [{"say": "more"}], "repeat": "forever"}]"#;
    assert_eq!(served.ask("POST /_script HTTP/1.1", new).await.body, r#"{"steps":1}"#);
    assert_eq!(served.ask("POST /_push HTTP/1.1", more).await.status, 200);
    let bad = served.ask("POST /_push HTTP/1.1", r#"[{"do": []}, {}]"#).await;
    assert_eq!(bad.status, 400);
    assert!(bad.body.contains("step 2: nothing says what to do"), "{}", bad.body);

    assert!(served.prompt("x").await.says("new"));
    assert!(served.prompt("x").await.says("more"));
    let left = served.get("/_left").await;
    assert_eq!(left["steps"][0]["number"], 2);
    assert_eq!(left["steps"][0]["times"], Value::Null);
    assert_eq!(left["steps"].as_array().map(Vec::len), Some(1), "the bad push added nothing");
}

#[tokio::test]
async fn pages_in_a_browser_are_refused() {
    let served = Served::new(json!([{"do": []}])).await;
    let heads = [
        "POST /_push HTTP/1.1\r\norigin: http://evil.example",
        "POST /_push HTTP/1.1\r\nhost: evil.example",
        "GET /_requests HTTP/1.1\r\nhost: 127.0.0.1.evil.example:80",
    ];
    for head in heads {
        assert_eq!(served.ask(head, "[]").await.status, 403, "{head}");
    }
    for host in ["127.0.0.1:9", "[::1]:9", "LOCALHOST"] {
        let head = format!("GET /_left HTTP/1.1\r\nhost: {host}");
        assert_eq!(served.ask(&head, "").await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_and_recorded() {
    let served = Served::new(json!([{"do": [{"say": "still here"}]}])).await;
    let post = "POST /v1/responses HTTP/1.1";
    assert_eq!(served.ask(post, "not json").await.status, 400);
    let packed = format!("{post}\r\ncontent-encoding: zstd");
    assert_eq!(served.ask(&packed, "{}").await.status, 415);
    assert_eq!(served.ask(post, &" ".repeat(BODY_LIMIT + 1)).await.status, 413);
    assert_eq!(served.ask("POST /v1/other HTTP/1.1", "{}").await.status, 404);

    let requests = served.model.requests().requests;
    assert_eq!(requests.len(), 4);
    assert_eq!(*requests[0].body, json!("not json"));
    assert_eq!(requests[3].path, "/v1/other");
    assert!(served.prompt("x").await.says("still here"), "no step was spent on them");
}

#[tokio::test]
async fn every_request_is_a_line_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("requests.ndjson");
    let script = Script::parse(r#"[{"do": [{"say": "logged"}]}]"#).unwrap();
    let served = Served::model(Model::with_log(script, &log).unwrap()).await;
    served.prompt("hi").await;
    let ended = |outcome| outcome != Outcome::Playing;
    let requests = served.model.requests_when(|all| ended(all.requests[0].outcome));
    requests.await;

    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0]["kind"], "request");
    assert_eq!(lines[0]["body"]["input"], "hi");
    assert_eq!(lines[1], json!({"kind": "outcome", "number": 1, "outcome": "played"}));
}

#[tokio::test]
async fn a_listener_that_others_can_reach_is_refused() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let served = longshore_models::script::serve(listener, Script::default(), None, async {});
    let refusal = served.await.expect_err("not loopback").to_string();
    assert!(refusal.contains("loopback only"), "{refusal}");
}
