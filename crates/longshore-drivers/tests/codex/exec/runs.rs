//! How a process is started for what a session says.

use longshore_model::anchor::{ModelsQuery, Start};
use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Attachment, AttachmentSource};
use longshore_model::driver::{Input, Output, RunFile};
use longshore_model::event::{Body, NoticeLevel};
use longshore_model::id::{Ids, QueryId};
use longshore_model::lifecycle::{FaultCode, Ready};
use longshore_model::mcp::{McpServer, McpTransport};
use longshore_model::time::Timestamp;

use super::harness::{DriverHarness, THREAD, bodies, only_text};

fn arguments(out: &Output) -> String {
    out.run.as_ref().expect("a process").arguments.join(" ")
}

fn input(out: &Output) -> &str {
    &out.run.as_ref().expect("a process").input
}

#[test]
fn a_session_is_ready_without_a_process_and_named_by_its_first() {
    let mut harness = DriverHarness::new();
    let out = harness.open(Mode::Plan, Start::New);
    assert!(matches!(bodies(&out)[..], [Body::SessionReady(Ready { native: None, .. })]));
    assert!(out.run.is_none());
    let (turn, out) = harness.prompt("hail");
    assert_eq!((arguments(&out).as_str(), input(&out)), ("-s read-only -", "hail"));
    let out = harness.kept(&serde_json::json!({"type": "thread.started", "thread_id": THREAD}));
    let [(_, draft)] = &out.said[..] else { panic!("{out:?}") };
    assert!(matches!(&draft.body, Body::SessionReady(ready) if ready.native.as_deref() == Some(THREAD)));
    assert_eq!(draft.turn, Some(turn));
}

#[test]
fn the_command_line_says_what_is_so_at_the_moment() {
    let mut harness = DriverHarness::ready(Mode::AutoEdit, Start::New);
    let (_, out) = harness.prompt("one");
    assert_eq!(arguments(&out), "-s workspace-write -");
    harness.kept(&serde_json::json!({"type": "thread.started", "thread_id": THREAD}));
    harness.kept(&serde_json::json!({"type": "turn.completed"}));
    harness.ends(0, "");
    harness.tell(AgentCommand::SetMode(Mode::Full));
    harness.tell(AgentCommand::SetModel("gpt-5.5".to_owned()));
    let (_, out) = harness.prompt("two");
    assert_eq!(arguments(&out), "-s danger-full-access -m gpt-5.5 resume thread-1 -");
}

#[test]
fn a_conversation_goes_on_from_where_it_is_said_to() {
    let native = || "old".to_owned();
    for (start, command_line, told) in [
        (Start::Resume { native: native() }, "-s read-only resume old -", "hail"),
        (Start::Fork { native: native() }, "-s read-only fork old -", "hail"),
        (Start::Told { story: "It was a heron.".to_owned() }, "-s read-only -", "It was a heron.\n\nhail"),
    ] {
        let mut harness = DriverHarness::new();
        let known = matches!(start, Start::Resume { .. }).then(native);
        let out = harness.open(Mode::Plan, start);
        assert!(matches!(&bodies(&out)[..], [Body::SessionReady(ready)] if ready.native == known));
        let (_, out) = harness.prompt("hail");
        assert_eq!((arguments(&out).as_str(), input(&out)), (command_line, told));
    }
}

#[test]
fn a_mode_in_which_it_would_ask_is_refused_with_those_that_it_has() {
    let mut harness = DriverHarness::new();
    let out = harness.open(Mode::Ask, Start::New);
    assert!(matches!(bodies(&out)[..], [Body::SessionError(fault)] if fault.code == FaultCode::Refused));
    let text = only_text(&out);
    assert_eq!(
        text,
        "codex exec never asks, so it cannot work in the mode ask; its modes are plan, auto-edit, full"
    );
    assert_eq!(out.finished.as_deref(), Some(text));
}

#[test]
fn images_are_given_to_it_and_the_rest_is_named() {
    let of = |media_type: &str, source| Attachment { name: None, media_type: media_type.to_owned(), source };
    let path = |path: &str| AttachmentSource::Path(path.to_owned());
    let mut harness = DriverHarness::ready(Mode::Plan, Start::New);
    let attachments = vec![
        of("image/png", path("/w/a.png")),
        of("image/png", path("/w/a,b.png")),
        of("text/plain", path("/w/notes.txt")),
        of("image/png", AttachmentSource::Url("https://example.org/c.png".to_owned())),
        of("text/plain", AttachmentSource::Data("aGk=".to_owned())),
        of("image/webp", AttachmentSource::Data("aGk=".to_owned())),
    ];
    let (turn, out) = harness.prompt_with("look", attachments);
    assert_eq!(arguments(&out), "-s read-only --image=/w/a.png -");
    let (flag, extension, data) = ("--image=".to_owned(), "webp".to_owned(), "aGk=".to_owned());
    assert_eq!(out.run.as_ref().unwrap().files, [RunFile { flag, extension, data }]);
    let words =
        "look\n\nAttached: /w/a,b.png\n\nAttached: /w/notes.txt\n\nAttached: https://example.org/c.png";
    assert_eq!(input(&out), words);
    assert!(matches!(bodies(&out)[..], [Body::Notice { level: NoticeLevel::Warning }]));
    assert_eq!(out.said[0].1.turn, Some(turn));
    assert!(only_text(&out).contains("text/plain was not passed on"));
}

#[test]
fn servers_of_tools_are_settings_on_the_command_line() {
    let pair = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let stdio = McpTransport::Stdio {
        command: "node".to_owned(),
        args: vec!["a \"b\".mjs".to_owned(), "-x".to_owned()],
        env: pair("KEY", "v"),
    };
    let http = McpTransport::Http { url: "http://localhost/m".to_owned(), headers: pair("X-A", "é") };
    let named = |name: &str, transport| McpServer { name: name.to_owned(), transport };
    let mut harness = DriverHarness::new();
    harness.open_with(Mode::Plan, Start::New, vec![named("demo", stdio), named("web", http)]);
    let (_, out) = harness.prompt("go");
    let words = &out.run.as_ref().unwrap().arguments;
    assert_eq!(words[2], "-c");
    let demo =
        r#"mcp_servers.demo={ command = "node", args = ["a \"b\".mjs", "-x"], env = { "KEY" = "v" } }"#;
    assert_eq!(words[3], demo);
    let web = r#"mcp_servers.web={ url = "http://localhost/m", env_http_headers = { "X-A" = "MCP_HEADER_KEY_0" } }"#;
    assert_eq!(words[5], web);
    assert_eq!(out.run.as_ref().unwrap().env, pair("MCP_HEADER_KEY_0", "é"), "on no command line");
}

#[test]
fn without_words_it_is_told_something_all_the_same() {
    let mut harness = DriverHarness::ready(Mode::Plan, Start::New);
    let source = AttachmentSource::Path("/w/a.png".to_owned());
    let image = Attachment { name: None, media_type: "image/png".to_owned(), source };
    let (_, out) = harness.prompt_with(" ", vec![image]);
    assert!(!input(&out).trim().is_empty());
}

#[test]
fn it_says_whom_to_ask() {
    let mut harness = DriverHarness::new();
    let id = QueryId(Ids::seeded(1).next(Timestamp::default()));
    let out = harness
        .handle(Input::Ask { id, query: ModelsQuery { agent: "codex-exec".into(), anew: false }.into() });
    let [(other, Err(text))] = &out.answers[..] else { panic!("{out:?}") };
    assert!(*other == id && text.contains("ask codex"), "{text}");
}
