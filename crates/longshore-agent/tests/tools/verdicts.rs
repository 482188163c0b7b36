//! What asks, what goes, what is refused.

use std::os::unix::fs::symlink;

use longshore_agent::tools::{CallApproval, CallVerdict, Permit, Risk};
use longshore_model::approval::Subject;
use longshore_model::capability::Mode;
use longshore_model::item::ToolStatus;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Bench, call};

const MODES: [Mode; 4] = [Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full];

/// `g` for go, `a` for ask, `r` for refuse, in the order of the modes.
fn verdicts(bench: &Bench, name: &str, arguments: &Value) -> String {
    let of = |mode| match bench.tools.verdict(&call(name, arguments.clone()), mode) {
        CallVerdict::Go => 'g',
        CallVerdict::Ask(_) => 'a',
        CallVerdict::Refuse(_) => 'r',
    };
    MODES.into_iter().map(of).collect()
}

fn ask(bench: &Bench, name: &str, arguments: Value, mode: Mode) -> CallApproval {
    match bench.tools.verdict(&call(name, arguments), mode) {
        CallVerdict::Ask(ask) => ask,
        other => panic!("{other:?}"),
    }
}

/// A bench whose sandbox works, because without one every command asks.
async fn bench() -> Bench {
    let bench = Bench::locked(|settings| settings.allow.push("cargo test".to_owned())).await;
    bench.write("a", "x\n");
    bench.write("sub/b", "x\n");
    std::fs::write(bench.outside().join("secret"), "s\n").unwrap();
    symlink(bench.outside().join("secret"), bench.root().join("link")).unwrap();
    symlink(bench.outside(), bench.root().join("out")).unwrap();
    bench
}

#[tokio::test]
async fn commands_ask_unless_they_only_read_or_a_rule_allows_them() {
    let bench = bench().await;
    for (command, expected) in [
        ("ls -la", "gggg"),
        ("cat a | head -3 && git status", "gggg"),
        ("cd sub && ls ../a", "gggg"),
        ("cd sub && cargo test", "rggg"),
        ("cd sub && rm b", "raag"),
        ("cd nowhere && ls", "raag"),
        ("cd sub; ls", "raag"),
        ("cd sub || ls", "raag"),
        ("cd sub | ls", "raag"),
        ("cd sub && cd .. && ls", "raag"),
        ("cargo test -p x", "rggg"),
        ("cargo test | tail -3", "rggg"),
        ("cargo build", "raag"),
        ("cargo test; rm -r .", "raag"),
        ("cargo test > log", "raag"),
        ("cargo test $(rm a)", "raag"),
        ("ls `rm a`", "raag"),
        ("cargo", "raag"),
        ("rm a", "raag"),
    ] {
        assert_eq!(verdicts(&bench, "shell", &json!({ "command": command })), expected, "{command}");
        let start = json!({ "action": "start", "command": command });
        assert_eq!(verdicts(&bench, "unified_exec", &start), expected, "{command}");
        let words = json!({ "command": ["bash", "-lc", command] });
        assert_eq!(verdicts(&bench, "shell", &words), expected, "{command}");
    }
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": ["ls", ";", "rm"] })), "gggg");
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": "ls", "escalate": true })), "raag");
}

/// A repository can bring a program that is called as a shell is.
#[tokio::test]
async fn a_shell_that_is_none_of_the_systems_asks_and_is_shown() {
    let bench = bench().await;
    for (shell, line) in [("./bash", "make"), ("sub/bash", "ls"), ("./evil.sh", "cargo test")] {
        let words = json!({ "command": [shell, "-c", line] });
        assert_eq!(verdicts(&bench, "shell", &words), "raag", "{shell} {line}");
    }
    let asked = ask(&bench, "shell", json!({ "command": ["./bash", "-c", "make"] }), Mode::Ask);
    assert!(
        matches!(&asked.subject, Subject::Command { command, .. } if command == "./bash -c make"),
        "{asked:?}"
    );
    bench.tools.allow(&["make".to_owned()]);
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": ["/bin/bash", "-c", "make"] })), "rggg");
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": ["./bash", "-c", "make"] })), "raag");
    // A yes is for the program that was shown.
    bench.tools.allow(&asked.always);
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": ["./bash", "-c", "make"] })), "rggg");
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": ["./bash", "-c", "make all"] })), "raag");
}

#[tokio::test]
async fn paths_that_lead_out_ask_however_they_are_written() {
    let bench = bench().await;
    let secret = bench.outside().join("secret").display().to_string();
    for command in [
        format!("cat {secret}"),
        "cat ../secret".to_owned(),
        "cat sub/../../secret".to_owned(),
        "cat './../secret'".to_owned(),
        "cat link".to_owned(),
        "cat out/secret".to_owned(),
        "ls out".to_owned(),
        "ls ..".to_owned(),
        "ls /".to_owned(),
        "cat a ../secret".to_owned(),
        "cd .. && cat secret".to_owned(),
        "cd sub && cat ../../secret".to_owned(),
        "cd out && ls".to_owned(),
        format!("grep -c x --exclude-from={secret} a"),
        format!("nl -s{secret} a"),
        "cargo test ../secret".to_owned(),
    ] {
        let arguments = json!({ "command": command });
        let found = verdicts(&bench, "shell", &arguments);
        assert!(["aaag", "raag"].contains(&found.as_str()), "{command}: {found}");
        let ask = ask(&bench, "shell", arguments, Mode::Ask);
        assert!(ask.risks.contains(&Risk::Outside) && ask.always.is_empty(), "{command}: {ask:?}");
    }
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": "ls", "cwd": ".." })), "aaag");
    for (tool, arguments) in [
        ("read_file", json!({ "path": "../secret" })),
        ("read_file", json!({ "path": "link" })),
        ("fetch_file", json!({ "path": secret })),
        ("list_dir", json!({ "path": "out" })),
        ("search", json!({ "pattern": "s", "path": ".." })),
        ("view_image", json!({ "path": "out/secret" })),
    ] {
        assert_eq!(verdicts(&bench, tool, &arguments), "aaag", "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("read_file", json!({ "path": "a" })),
        ("list_dir", json!({})),
        ("search", json!({ "pattern": "s" })),
        ("read_file", json!({ "path": bench.root().join("a") })),
    ] {
        assert_eq!(verdicts(&bench, tool, &arguments), "gggg", "{tool} {arguments}");
    }
}

#[tokio::test]
async fn changes_ask_by_mode_and_show_what_they_change() {
    let bench = Bench::new().await;
    bench.write("a", "x\n");
    symlink(bench.outside(), bench.root().join("out")).unwrap();
    let write = |path: &str| json!({ "path": path, "content": "y\n" });
    assert_eq!(verdicts(&bench, "write_file", &write("a")), "ragg");
    assert_eq!(verdicts(&bench, "write_file", &write("../b")), "raag");
    assert_eq!(verdicts(&bench, "write_file", &write("out/b")), "raag");
    assert_eq!(verdicts(&bench, "write_file", &write(".git/hooks/pre-commit")), "raag");
    let patch = json!({ "input": "*** Begin Patch\n*** Delete File: a\n*** End Patch" });
    assert_eq!(verdicts(&bench, "apply_patch", &patch), "ragg");
    let approval = ask(&bench, "apply_patch", patch, Mode::Ask);
    assert_eq!(approval.risks, [Risk::Deletes]);
    let Subject::Edit { changes, grant_root: None } = approval.subject else {
        panic!("{:?}", approval.subject)
    };
    assert_eq!(changes[0].diff, "@@ -1,1 +0,0 @@\n-x\n");
    let approval = ask(&bench, "write_file", write("out/b"), Mode::AutoEdit);
    assert_eq!(approval.risks, [Risk::Outside]);
    let Subject::Edit { grant_root, .. } = approval.subject else { panic!("{:?}", approval.subject) };
    assert_eq!(grant_root, Some(bench.outside().display().to_string()));
    // Nobody is asked for what cannot be done.
    let wrong = json!({ "input": "*** Begin Patch\n*** Delete File: b\n*** End Patch" });
    assert_eq!(verdicts(&bench, "apply_patch", &wrong), "rrrr");
    // And nobody is told what a file outside holds by guessing at it.
    std::fs::write(bench.outside().join("secret"), "the secret\nguess\n").unwrap();
    let guess = json!({ "input": "*** Begin Patch\n*** Update File: ../secret\n-x\n-guess\n*** End Patch" });
    let CallVerdict::Refuse(told) = bench.tools.verdict(&call("apply_patch", guess), Mode::AutoEdit) else {
        panic!("it is not refused")
    };
    assert!(told.contains("read it first") && !told.contains("the secret"), "{told}");
}

#[tokio::test]
async fn a_yes_for_the_session_is_for_the_same_line() {
    let bench = bench().await;
    let arguments = json!({ "command": "make all > log" });
    let approval = ask(&bench, "shell", arguments.clone(), Mode::Ask);
    let Subject::Command { command, cwd, always } = approval.subject else {
        panic!("{:?}", approval.subject)
    };
    assert_eq!((command.as_str(), cwd), ("make all > log", Some(bench.root().display().to_string())));
    assert_eq!((&always, &approval.always), (&vec!["make all > log".to_owned()], &always));
    bench.tools.allow(&approval.always);
    assert_eq!(verdicts(&bench, "shell", &arguments), "rggg");
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": "make all > log; rm a" })), "raag");
    assert_eq!(verdicts(&bench, "shell", &json!({ "command": "make all > log", "escalate": true })), "raag");
}

#[tokio::test]
async fn risks_are_told() {
    let bench = bench().await;
    let risks = |command: &str, escalate: bool| {
        ask(&bench, "shell", json!({ "command": command, "escalate": escalate }), Mode::Ask).risks
    };
    assert_eq!(risks("rm -rf build", false), [Risk::Deletes]);
    assert_eq!(risks("cd x && git clean -fdx", false), [Risk::Deletes]);
    assert_eq!(risks("rm ~/x", false), [Risk::Outside, Risk::Deletes]);
    assert_eq!(risks("curl https://example.org", true), [Risk::Network, Risk::Unsandboxed]);
    assert_eq!(risks("npm install", true), [Risk::Network, Risk::Unsandboxed]);
    assert_eq!(risks("cargo build", false), []);
}

#[tokio::test]
async fn typing_into_a_terminal_asks_and_can_be_allowed() {
    let bench = Bench::new().await;
    let write = json!({ "action": "write", "session": "1", "input": "rm x\n" });
    assert_eq!(verdicts(&bench, "unified_exec", &write), "raag");
    bench.tools.allow(&ask(&bench, "unified_exec", write.clone(), Mode::Ask).always);
    assert_eq!(verdicts(&bench, "unified_exec", &write), "rggg");
    let other = json!({ "action": "write", "session": "2", "input": "rm x\n" });
    assert_eq!(verdicts(&bench, "unified_exec", &other), "raag");
    for action in ["read", "yield", "kill"] {
        assert_eq!(verdicts(&bench, "unified_exec", &json!({ "action": action, "session": "1" })), "gggg");
    }
}

#[tokio::test]
async fn what_was_not_allowed_does_not_run() {
    let bench = Bench::new().await;
    let permit = |approved| Permit { mode: Mode::Ask, approved };
    let run = async |approved| {
        let write = call("write_file", json!({ "path": "a", "content": "x" }));
        bench.tools.run(write, permit(approved), mpsc::channel(1).0, CancellationToken::new()).await
    };
    let declined = run(false).await;
    assert_eq!((declined.success, declined.outcome.status), (false, ToolStatus::Declined));
    assert!(!bench.root().join("a").exists());
    assert!(run(true).await.success);
    assert_eq!(bench.read("a"), "x");
}
