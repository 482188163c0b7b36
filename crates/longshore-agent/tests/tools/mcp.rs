//! Tools of real MCP servers, over pipes and over HTTP.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use longshore_agent::tools::{CallVerdict, McpStart, Progress};
use longshore_model::approval::{AnswerAction, FieldKind, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::item::{ToolKind, ToolStatus};
use longshore_model::mcp::{McpServer, McpTransport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{Bench, call};
use crate::soon;

fn package(name: &str) -> String {
    let modules = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/node_modules");
    let file = modules.join("@modelcontextprotocol").join(name).join("dist/index.js");
    assert!(file.exists(), "install it first: npm ci --prefix tests/agents");
    file.to_str().unwrap().to_owned()
}

fn stdio(name: &str, command: &str, args: Vec<String>) -> McpServer {
    let transport = McpTransport::Stdio { command: command.to_owned(), args, env: BTreeMap::new() };
    McpServer { name: name.to_owned(), transport }
}

fn everything() -> McpServer {
    stdio("everything", "node", vec![package("server-everything"), "stdio".to_owned()])
}

/// The server over HTTP, at a port of the system's choice, which it does not say by itself.
struct Served {
    url: String,
    process: tokio::process::Child,
}

impl Served {
    async fn new() -> Self {
        Self::at(0).await
    }

    async fn at(port: u16) -> Self {
        let hook = "data:text/javascript,import net from 'node:net'; const listen = net.Server.prototype.listen; \
                    net.Server.prototype.listen = function (...all) { \
                      this.once('listening', () => console.error('port=' + this.address().port)); \
                      return listen.apply(this, all); };";
        let mut process = tokio::process::Command::new("node")
            .args(["--import", hook, &package("server-everything"), "streamableHttp"])
            .env("PORT", port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let port = soon("the port", async {
            loop {
                let line = lines.next_line().await.unwrap().expect("it ended");
                if let Some(port) = line.strip_prefix("port=") {
                    return port.to_owned();
                }
            }
        })
        .await;
        // What else it says must go somewhere.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { url: format!("http://127.0.0.1:{port}/mcp"), process }
    }

    async fn stop(mut self) {
        self.process.kill().await.unwrap();
    }

    fn server(&self) -> McpServer {
        let headers = BTreeMap::from([("x-test".to_owned(), "yes".to_owned())]);
        let transport = McpTransport::Http { url: self.url.clone(), headers };
        McpServer { name: "everything".to_owned(), transport }
    }
}

/// A bench with a server whose tools are all there: some come only after the greeting.
async fn bench(server: McpServer) -> Bench {
    let bench = Bench::with(|settings| settings.servers.push(server)).await;
    assert!(
        bench.tools.notices().iter().all(|notice| !notice.contains("MCP")),
        "{:?}",
        bench.tools.notices()
    );
    soon("all tools", async {
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(5));
        while !names(&bench).contains(&"everything__trigger-elicitation-request".to_owned()) {
            pace.tick().await;
        }
    })
    .await;
    bench
}

fn names(bench: &Bench) -> Vec<String> {
    bench.tools.definitions().into_iter().map(|definition| definition.name).collect()
}

/// What works over both ways.
async fn tools_are_called(server: McpServer) {
    let bench = bench(server).await;
    let sum = bench.tools.definitions().into_iter().find(|one| one.name == "everything__get-sum").unwrap();
    assert!(sum.side_by_side && sum.description.starts_with("Returns the sum of two numbers"), "{sum:?}");
    assert_eq!(sum.parameters["required"], json!(["a", "b"]));
    for name in ["everything.get-sum", "everything__get-sum"] {
        let done = bench.run(name, json!({ "a": 2, "b": 40 })).await;
        assert!(done.success && done.content.contains("42"), "{}", done.content);
        let shown = bench.tools.tool_call(&call(name, json!({ "a": 2, "b": 40 })));
        assert_eq!((shown.name.as_str(), shown.kind), ("everything.get-sum", ToolKind::Other));
    }
    let wrong = bench.run("everything.get-sum", json!({ "a": "two" })).await;
    assert!(!wrong.success && wrong.outcome.status == ToolStatus::Failed, "{}", wrong.content);
    let image = bench.run("everything.get-tiny-image", json!({})).await;
    assert_eq!(image.images.len(), 1);
    assert_eq!(image.images[0].media_type, "image/png");
    let data = bench.run("everything.get-structured-content", json!({ "location": "Chicago" })).await;
    assert!(data.outcome.result["temperature"].is_number(), "{data:?}");
    let unknown = bench.run("everything.nothing", json!({})).await;
    assert!(
        unknown.content.contains("there is no tool called") && unknown.content.contains("everything__echo")
    );
}

#[tokio::test]
async fn tools_of_a_program_are_called() {
    tools_are_called(everything()).await;
}

#[tokio::test]
async fn tools_are_called_over_http() {
    let served = Served::new().await;
    tools_are_called(served.server()).await;
}

/// A question of the server, answered.
async fn questions_are_asked(server: McpServer) {
    let bench = bench(server).await;
    for (action, told) in [(AnswerAction::Accept, "Ada"), (AnswerAction::Decline, "declined")] {
        let mut running = bench.start(Mode::Full, "everything.trigger-elicitation-request", json!({}));
        let Some(Progress::Ask(question)) = soon("the question", running.progress.recv()).await else {
            panic!("no question")
        };
        assert_eq!(question.server, "everything");
        assert_eq!(question.message, "Please provide inputs for the following fields:");
        let kinds: BTreeMap<&str, FieldKind> =
            question.fields.iter().map(|field| (field.id.as_str(), field.kind)).collect();
        assert_eq!((kinds["name"], kinds["check"]), (FieldKind::Text, FieldKind::Boolean), "{kinds:?}");
        let answers = match action {
            AnswerAction::Accept => {
                BTreeMap::from([("name".to_owned(), json!("Ada")), ("check".to_owned(), json!(true))])
            }
            AnswerAction::Decline | AnswerAction::Cancel => BTreeMap::new(),
        };
        question.answer.send(QuestionAnswer { action, answers, by: "ada".to_owned() }).unwrap();
        let done = running.result().await;
        assert!(done.success && done.content.contains(told), "{action:?}: {}", done.content);
    }
    // Nobody there to answer is an answer, too.
    let running = bench.start(Mode::Full, "everything.trigger-elicitation-request", json!({}));
    let done = running.result().await;
    assert!(done.content.contains("cancel"), "{}", done.content);
}

#[tokio::test]
async fn questions_of_a_program_are_asked() {
    questions_are_asked(everything()).await;
}

#[tokio::test]
async fn questions_are_asked_over_http() {
    let served = Served::new().await;
    questions_are_asked(served.server()).await;
}

/// A call that takes long tells how far it is, and can be stopped; the server goes on.
async fn long_calls_are_heard_and_stopped(server: McpServer) {
    let bench = bench(server).await;
    let arguments = json!({ "duration": 600, "steps": 12_000 });
    let mut running = bench.start(Mode::Full, "everything.trigger-long-running-operation", arguments);
    running.until("2/12000").await;
    running.cancel.cancel();
    let stopped = running.result().await;
    assert_eq!((stopped.success, stopped.outcome.status), (false, ToolStatus::Cancelled));
    assert!(
        bench.run("everything.echo", json!({ "message": "still here" })).await.content.contains("still here")
    );
}

#[tokio::test]
async fn long_calls_of_a_program_are_heard_and_stopped() {
    long_calls_are_heard_and_stopped(everything()).await;
}

#[tokio::test]
async fn long_calls_over_http_are_heard_and_stopped() {
    let served = Served::new().await;
    long_calls_are_heard_and_stopped(served.server()).await;
}

#[tokio::test]
async fn a_server_is_told_of_the_work_tree_and_gets_no_secrets() {
    let bench = Bench::with(|settings| {
        settings.servers.push(stdio(
            "files",
            "node",
            vec![package("server-filesystem"), settings.cwd.display().to_string()],
        ));
        settings.servers.push(everything());
        settings.secrets.push("HOME".to_owned());
    })
    .await;
    bench.write("note.txt", "a note\n");
    let note = bench.root().join("note.txt").display().to_string();
    let read = bench.run("files.read_text_file", json!({ "path": note })).await;
    assert!(read.success && read.content.starts_with("a note"), "{}", read.content);
    let wrong = bench.run("files__read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(!wrong.success && wrong.content.contains("denied"), "{}", wrong.content);
    let env: Value = serde_json::from_str(&bench.run("everything.get-env", json!({})).await.whole).unwrap();
    assert!(env["PATH"].is_string() && env["HOME"].is_null(), "{env}");
}

#[tokio::test]
async fn servers_that_do_not_start_are_told_and_harm_nobody() {
    let bench = Bench::with(|settings| {
        settings.servers = vec![
            stdio("absent", "no-such-program", Vec::new()),
            stdio("broken", "sh", vec!["-c".to_owned(), "echo it broke >&2; exit 3".to_owned()]),
            McpServer {
                name: "nowhere".to_owned(),
                // Nobody listens at the port of a socket that only sends.
                transport: McpTransport::Http {
                    url: "http://127.0.0.1:1/mcp".to_owned(),
                    headers: BTreeMap::new(),
                },
            },
            everything(),
            everything(),
        ];
    })
    .await;
    let notices = bench.tools.notices().join("\n");
    for part in [
        "there are two MCP servers called `everything`",
        "the MCP server `absent` did not start: no-such-program was not found",
        "the MCP server `broken` did not start: ",
        "it broke",
        "the MCP server `nowhere` did not start: it cannot be reached (http://127.0.0.1:1/mcp)",
    ] {
        assert!(notices.contains(part), "{part}: {notices}");
    }
    assert!(!notices.contains("::"), "words of a library: {notices}");
    assert!(bench.run("everything.echo", json!({ "message": "hi" })).await.success);
    assert!(bench.run("shell", json!({ "command": "true" })).await.success);
}

#[tokio::test]
async fn a_server_that_redirects_elsewhere_is_told_with_both_addresses() {
    let answers = [
        (
            "location: http://127.0.0.1:1/mcp\r\n",
            "which is another port of that host. Longshore does not send keys there",
        ),
        ("", "redirected to an address that cannot be read"),
    ];
    for (location, told) in answers {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let answer =
            format!("HTTP/1.1 307 Moved\r\n{location}connection: close\r\ncontent-length: 0\r\n\r\n");
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let transport = McpTransport::Http { url: url.clone(), headers: BTreeMap::new() };
        let server = McpServer { name: "moved".to_owned(), transport };
        let bench = Bench::with(|settings| settings.servers = vec![server]).await;
        let notices = bench.tools.notices().join("\n");
        assert!(notices.contains(told), "{notices}");
    }
}

#[tokio::test]
async fn a_list_of_tools_without_an_end_is_told_and_harms_nobody() {
    let script = "require('readline').createInterface({ input: process.stdin }).on('line', line => { \
        const { id, method, params } = JSON.parse(line); \
        const tool = name => ({ name, inputSchema: { type: 'object' } }); \
        const say = result => console.log(JSON.stringify({ jsonrpc: '2.0', id, result })); \
        if (method === 'initialize') say({ protocolVersion: params.protocolVersion, \
            capabilities: { tools: {} }, serverInfo: { name: 'endless', version: '1' } }); \
        else if (method === 'tools/list') say({ tools: Array.from({ length: 100 }, (_, at) => tool('t' + at)), nextCursor: 'more' }); \
        else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })); \
    });";
    let endless = stdio("endless", "node", vec!["-e".to_owned(), script.to_owned()]);
    let bench = Bench::with(|settings| settings.servers.push(endless)).await;
    let told = bench.tools.notices().join("\n");
    assert!(told.contains("its list of tools has no end after 2100 of them"), "{told}");
    assert!(!names(&bench).iter().any(|name| name.contains("endless")), "{:?}", names(&bench));
}

#[tokio::test]
async fn a_server_that_dies_gives_an_error() {
    let script =
        format!("echo $$ > pid; echo last words >&2; exec node {} stdio", package("server-everything"));
    let bench = bench(stdio("everything", "sh", vec!["-c".to_owned(), script])).await;
    let arguments = json!({ "duration": 600, "steps": 12_000 });
    let mut running = bench.start(Mode::Full, "everything.trigger-long-running-operation", arguments);
    running.until("1/12000").await;
    let pid: i32 = bench.read("pid").trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    for result in [running.result().await, bench.run("everything.echo", json!({ "message": "x" })).await] {
        assert!(!result.success, "{}", result.content);
        assert!(result.content.contains("the MCP server `everything` has ended"), "{}", result.content);
        assert!(result.content.contains("last words"), "{}", result.content);
    }
}

#[tokio::test]
async fn tools_of_servers_ask_by_mode_and_rule() {
    let bench = Bench::with(|settings| {
        settings.servers.push(everything());
        settings.allow.push("everything.echo".to_owned());
    })
    .await;
    let verdict = |name: &str, mode| bench.tools.verdict(&call(name, json!({})), mode);
    assert!(matches!(verdict("everything.get-sum", Mode::Plan), CallVerdict::Ask(_)));
    assert!(matches!(verdict("everything.toggle-simulated-logging", Mode::Plan), CallVerdict::Refuse(_)));
    let CallVerdict::Ask(ask) = verdict("everything__get-sum", Mode::AutoEdit) else {
        panic!("it does not ask")
    };
    assert_eq!(ask.always, ["everything.get-sum"]);
    assert_eq!(verdict("everything.echo", Mode::Ask), CallVerdict::Go);
    assert_eq!(verdict("everything.get-sum", Mode::Full), CallVerdict::Go);
    bench.tools.allow(&["everything.*".to_owned()]);
    assert_eq!(verdict("everything.get-sum", Mode::Ask), CallVerdict::Go);
}

#[tokio::test]
async fn a_server_that_takes_long_is_not_waited_for_and_brings_its_tools_later() {
    let begin =
        format!("while ! test -e go; do sleep 0.05; done; exec node {} stdio", package("server-everything"));
    let bench = Bench::with(|settings| {
        settings.servers_within = std::time::Duration::from_millis(50);
        settings.servers = vec![
            stdio("everything", "sh", vec!["-c".to_owned(), begin]),
            stdio(
                "failing",
                "sh",
                vec!["-c".to_owned(), "while ! test -e go; do sleep 0.05; done; exit 3".to_owned()],
            ),
        ];
    })
    .await;
    for name in ["everything", "failing"] {
        let told = format!("the MCP server `{name}` is still starting; its tools come when it is ready");
        assert!(bench.tools.notices().contains(&told), "{:?}", bench.tools.notices());
    }
    assert!(!names(&bench).iter().any(|name| name.starts_with("everything__")));
    let mut news = bench.tools.news().unwrap();
    bench.write("go", "");
    let mut told = vec![soon("news", news.recv()).await.unwrap(), soon("news", news.recv()).await.unwrap()];
    told.sort_by_key(|news| matches!(news, McpStart::Ready(_)));
    let [McpStart::Failed(fault), McpStart::Ready(name)] = told.as_slice() else { panic!("{told:?}") };
    assert!(
        fault.starts_with("the MCP server `failing` did not start: ") && name == "everything",
        "{told:?}"
    );
    assert!(bench.run("everything.echo", json!({ "message": "hi" })).await.success);
}

#[tokio::test]
async fn a_call_that_a_server_never_answers_ends() {
    let bench = Bench::with(|settings| {
        settings.servers.push(everything());
        settings.mcp_timeout = std::time::Duration::from_secs(600);
        settings.mcp_timeouts.insert("everything".to_owned(), std::time::Duration::from_secs(2));
    })
    .await;
    // It tells how far it is more often than that, and so may take longer.
    let arguments = json!({ "duration": 4, "steps": 40 });
    let done = bench.run("everything.trigger-long-running-operation", arguments).await;
    assert!(done.success, "{}", done.content);
    let silent = json!({ "duration": 600, "steps": 1 });
    let given_up = bench.run("everything.trigger-long-running-operation", silent).await;
    assert!(!given_up.success && given_up.content.contains("said nothing for 2 s"), "{}", given_up.content);
    assert!(bench.run("everything.echo", json!({ "message": "still here" })).await.success);
}

#[tokio::test]
async fn a_server_that_waits_for_a_person_is_waited_for() {
    let limit = std::time::Duration::from_secs(3);
    let mut server = everything();
    server.name = "patient".to_owned();
    let bench = Bench::with(|settings| {
        settings.servers.push(server);
        settings.mcp_timeout = limit;
    })
    .await;
    soon("all tools", async {
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(5));
        while !names(&bench).contains(&"patient__trigger-elicitation-request".to_owned()) {
            pace.tick().await;
        }
    })
    .await;
    let mut running = bench.start(Mode::Full, "patient.trigger-elicitation-request", json!({}));
    let Some(Progress::Ask(question)) = soon("the question", running.progress.recv()).await else {
        panic!("no question")
    };
    // Nothing tells that it is still waited for but that it is not given up.
    tokio::time::sleep(limit + limit / 2).await;
    let answer =
        QuestionAnswer { action: AnswerAction::Decline, answers: BTreeMap::new(), by: "ada".to_owned() };
    question.answer.send(answer).unwrap();
    let done = running.result().await;
    assert!(done.success && done.content.contains("declined"), "{}", done.content);
}

/// A server that has forgotten every session answers 400 with an error that belongs to no request.
#[tokio::test]
async fn a_server_that_was_started_anew_is_greeted_anew() {
    let served = Served::new().await;
    let bench = bench(served.server()).await;
    let port: u16 = served.url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    served.stop().await;
    let again = Served::at(port).await;
    let done = bench.run("everything.echo", json!({ "message": "hi again" })).await;
    assert!(done.success && done.content.contains("hi again"), "{}", done.content);
    again.stop().await;
    let gone = bench.run("everything.echo", json!({ "message": "x" })).await;
    assert!(!gone.success && !gone.content.contains("::"), "{}", gone.content);
}
