//! What the agent leaves to us, as far as the driver is concerned: a work, and an answer when it is done.

use longshore_model::driver::{Input, Output};
use longshore_model::event::Body;
use longshore_model::host_io::{Exit, HostFault, HostReply, HostRequestId, Job};
use serde_json::{Value, json};

use super::harness::{DriverHarness, only_draft, only_line};

fn done(harness: &mut DriverHarness, work: u64, result: Result<HostReply, HostFault>) -> Output {
    harness.handle(Input::WorkDone { id: HostRequestId(work), result })
}

#[test]
fn every_request_becomes_a_job_and_every_reply_an_answer() {
    let text = |text: &str| text.to_owned();
    let exit = || Exit { code: Some(3), signal: None };
    let term = || text("term-1");
    let cases: [(&str, Value, Job, HostReply, Value); 7] = [
        (
            "fs/read_text_file",
            json!({"path": "/w/a", "line": 2, "limit": 5}),
            Job::Read { path: text("/w/a"), line: Some(2), limit: Some(5) },
            HostReply::Read(text("hi")),
            json!({"content": "hi"}),
        ),
        (
            "fs/write_text_file",
            json!({"path": "/w/a", "content": "hi"}),
            Job::Write { path: text("/w/a"), content: text("hi") },
            HostReply::Written,
            json!({}),
        ),
        (
            "terminal/create",
            json!({"command": "ls", "args": ["-a"], "env": [{"name": "A", "value": "1"}], "cwd": "/w/b", "outputByteLimit": 9}),
            Job::Run {
                command: text("ls"),
                arguments: vec![text("-a")],
                env: vec![(text("A"), text("1"))],
                cwd: Some(text("/w/b")),
                keep: Some(9),
            },
            HostReply::Running { terminal: term() },
            json!({"terminalId": "term-1"}),
        ),
        (
            "terminal/output",
            json!({"terminalId": "term-1"}),
            Job::Output { terminal: term() },
            HostReply::Output { text: text("hi"), truncated: true, exit: Some(exit()) },
            json!({"output": "hi", "truncated": true, "exitStatus": {"exitCode": 3, "signal": null}}),
        ),
        (
            "terminal/wait_for_exit",
            json!({"terminalId": "term-1"}),
            Job::Wait { terminal: term() },
            HostReply::Ended(Exit { code: None, signal: Some(text("SIGKILL")) }),
            json!({"exitCode": null, "signal": "SIGKILL"}),
        ),
        (
            "terminal/kill",
            json!({"terminalId": "term-1"}),
            Job::Kill { terminal: term() },
            HostReply::Killed,
            json!({}),
        ),
        (
            "terminal/release",
            json!({"terminalId": "term-1"}),
            Job::Release { terminal: term() },
            HostReply::Released,
            json!({}),
        ),
    ];
    let mut harness = DriverHarness::in_turn();
    for (at, (method, params, job, result, answer)) in cases.into_iter().enumerate() {
        let out = harness.request(json!(format!("r{at}")), method, params);
        assert!(out.lines.is_empty() && matches!(only_draft(&out).body, Body::Raw { .. }), "{method}");
        let [work] = &out.host_requests[..] else { panic!("{out:?}") };
        assert_eq!((work.session, work.root.as_str(), &work.job), (harness.session, "/w", &job));
        let line = only_line(&done(&mut harness, work.id.0, Ok(result)));
        assert_eq!((&line["id"], &line["result"]), (&json!(format!("r{at}")), &answer), "{method}");
        // It is answered once.
        assert!(done(&mut harness, work.id.0, Ok(HostReply::Written)).lines.is_empty());
    }
}

#[test]
fn what_was_not_done_is_an_error_with_its_reason() {
    for (fault, code) in [
        (HostFault::Outside("/etc".to_owned()), -32602),
        (HostFault::Unfit { path: "/w".to_owned(), fault: "is not a file".to_owned() }, -32602),
        (HostFault::Missing("/w/x".to_owned()), -32002),
        (HostFault::NoTerminal("t".to_owned()), -32002),
        (HostFault::Busy("too much".to_owned()), -32603),
        (HostFault::Failed("no".to_owned()), -32603),
    ] {
        let mut harness = DriverHarness::in_turn();
        harness.request(json!(7), "fs/read_text_file", json!({"path": "/w/x"}));
        let line = only_line(&done(&mut harness, 1, Err(fault.clone())));
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(7), &json!(code)));
        assert_eq!(line["error"]["message"], fault.to_string());
    }
}

#[test]
fn what_a_terminal_prints_is_what_its_call_prints() {
    let mut harness = DriverHarness::in_turn();
    harness.update("tool_call", json!({"toolCallId": "t", "title": "ls", "kind": "execute"}));
    let shown = json!([{"type": "terminal", "terminalId": "term-1"}]);
    harness.update("tool_call_update", json!({"toolCallId": "t", "status": "in_progress", "content": shown}));
    let look = |harness: &mut DriverHarness, work: u64, text: &str, code: Option<i32>| {
        harness.request(json!(work), "terminal/output", json!({"terminalId": "term-1"}));
        let exit = code.map(|code| Exit { code: Some(code), signal: None });
        done(harness, work, Ok(HostReply::Output { text: text.to_owned(), truncated: false, exit }))
    };
    let out = look(&mut harness, 1, "a\n", None);
    assert_eq!(
        (&only_draft(&out).body, only_draft(&out).text.as_deref()),
        (&Body::ToolOutputDelta, Some("a\n"))
    );
    assert_eq!(only_draft(&look(&mut harness, 2, "a\nb\n", Some(4))).text.as_deref(), Some("b\n"));
    let end = json!({"toolCallId": "t", "status": "completed", "rawOutput": [{"type": "text", "text": "Exited with 4"}]});
    let out = harness.update("tool_call_update", end);
    let Body::ToolFinished(outcome) = &only_draft(&out).body else { panic!("{out:?}") };
    assert_eq!((outcome.exit_code, only_draft(&out).text.as_deref()), (Some(4), Some("a\nb\n")));
}
