//! What commands cannot do, and what holds where there is no sandbox.

use std::net::{TcpListener, UdpSocket};

use longshore_agent::tools::{CallVerdict, Risk};
use longshore_model::capability::Mode;
use serde_json::json;

use super::{Bench, call};

async fn locked(network: bool) -> Bench {
    Bench::locked(|settings| settings.network = network).await
}

fn assert_asks(bench: &Bench) {
    for mode in [Mode::Plan, Mode::Ask, Mode::AutoEdit] {
        let verdict = bench.tools.verdict(&call("shell", json!({ "command": "ls" })), mode);
        let CallVerdict::Ask(ask) = verdict else { panic!("{mode}: {verdict:?}") };
        assert!(ask.risks.contains(&Risk::Unsandboxed), "{ask:?}");
        assert!(ask.reason.contains("There is no sandbox here"), "{}", ask.reason);
    }
}

#[tokio::test]
#[should_panic(expected = "this test wants Linux with Landlock")]
async fn a_test_of_the_sandbox_does_not_pass_where_there_is_none() {
    Bench::locked(|settings| settings.sandbox = false).await;
}

#[tokio::test]
async fn without_a_sandbox_it_says_so_and_every_command_asks() {
    let bench = Bench::with(|settings| {
        settings.sandbox = false;
        settings.allow.push("ls".to_owned());
    })
    .await;
    assert!(bench.no_sandbox().is_some_and(|notice| notice.contains("each one asks")));
    assert_asks(&bench);
    let file = bench.outside().join("file");
    let done = bench.run("shell", json!({ "command": format!("echo x > {}", file.display()) })).await;
    assert!(done.success && file.exists(), "{}", done.content);
}

#[tokio::test]
async fn commands_write_in_the_work_tree_and_in_temporary_folders() {
    let bench = locked(false).await;
    let command = "mkdir -p a/b && echo x > a/b/c && mv a/b/c d && rm -r a && t=$(mktemp) && echo y > $t && cat d $t \
                   && rm $t && echo z > /dev/null";
    let done = bench.run("shell", json!({ "command": command })).await;
    assert_eq!(done.content, "x\ny\n");
}

#[tokio::test]
async fn writing_outside_is_refused_and_explained() {
    let bench = locked(false).await;
    let victim = bench.outside().join("victim");
    std::fs::write(&victim, "kept").unwrap();
    let shown = victim.display();
    let folder = bench.outside().display().to_string();
    for command in [
        format!("echo x > {shown}"),
        format!("echo x >> {shown}"),
        format!("rm {shown}"),
        format!("mv {shown} ."),
        format!("ln {shown} hard && echo x > hard"),
        format!("ln -s {shown} soft && echo x > soft"),
        format!("truncate -s 0 {shown}"),
        format!("mkdir {folder}/new"),
        format!("touch {folder}/new"),
        "bash -c 'cd .. && touch new'".to_owned(),
        "(setsid sh -c 'touch ../new'); test -e ../new".to_owned(),
    ] {
        let failed = bench.run("shell", json!({ "command": command })).await;
        assert!(!failed.success, "{command}: {}", failed.content);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept", "{command}");
        assert!(!bench.outside().join("new").exists(), "{command}");
        let told =
            "[sandbox] The command ran in a sandbox, which may be why it failed: it can write only in ";
        assert!(failed.content.contains(told), "{command}: {}", failed.content);
        assert!(failed.content.contains("\"escalate\": true"), "{}", failed.content);
        assert!(failed.content.contains(&bench.root().display().to_string()), "{}", failed.content);
    }
    // Reading is not restricted.
    assert_eq!(bench.run("shell", json!({ "command": format!("cat {shown}") })).await.content, "kept");
}

#[tokio::test]
async fn a_work_tree_of_git_can_be_committed_in() {
    let bench = locked(false).await;
    let git = |line: &str| {
        let name = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let mut git = std::process::Command::new("git");
        let done = git.args(name).args(line.split(' ')).current_dir(bench.outside()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    };
    std::fs::remove_dir(bench.root()).unwrap();
    git("init -q main");
    git("-C main commit -q --allow-empty -m first");
    git("-C main worktree add -q ../tree");
    let commit = "touch a && git add a && git -c user.name=a -c user.email=a@example.org commit -qm second && git log --oneline | wc -l";
    let done = bench.run("shell", json!({ "command": commit })).await;
    // It also misses a lock that it could do without, and says so.
    assert_eq!(done.content.lines().last().map(str::trim), Some("2"), "{}", done.content);
    for file in ["hooks/pre-commit", "config"] {
        let refused =
            bench.run("shell", json!({ "command": format!("echo x >> ../main/.git/{file}") })).await;
        assert!(!refused.success, "{file}: {}", refused.content);
    }
    // A work tree that names a folder which does not name it back gets nothing.
    let victim = bench.outside().join("worktrees/victim");
    std::fs::create_dir_all(&victim).unwrap();
    bench.write(".git", &format!("gitdir: {}\n", victim.display()));
    let refused = bench.run("shell", json!({ "command": format!("touch {}/x", victim.display()) })).await;
    assert!(!refused.success && !victim.join("x").exists(), "{}", refused.content);
}

#[tokio::test]
async fn leaving_the_sandbox_is_possible_when_it_is_allowed() {
    let bench = locked(false).await;
    let file = bench.outside().join("file");
    let command = format!("echo x > {}", file.display());
    let done = bench.run("shell", json!({ "command": command, "escalate": true, "reason": "a test" })).await;
    assert!(done.success && file.exists(), "{}", done.content);
}

#[tokio::test]
async fn planning_writes_nothing_in_the_work_tree_either() {
    let bench = locked(false).await;
    bench.write("a", "b\na\n");
    // Commands that only read go, also those that would like to write something down.
    let done = bench.run_in(Mode::Plan, "shell", json!({ "command": "sort a" })).await;
    assert_eq!(done.content, "a\nb\n");
    std::process::Command::new("git").args(["init", "-q"]).current_dir(bench.root()).status().unwrap();
    let status = bench.run_in(Mode::Plan, "shell", json!({ "command": "git status --short" })).await;
    assert_eq!(status.content, "?? a\n");
    let refused = bench.run_in(Mode::Plan, "shell", json!({ "command": "sort a > c" })).await;
    assert!(!refused.success && refused.content.contains("the mode is plan"), "{}", refused.content);
}

#[tokio::test]
async fn the_network_is_off_unless_it_is_allowed() {
    let bench = locked(false).await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = socket.local_addr().unwrap().port();
    for command in
        [format!("exec 3<>/dev/tcp/127.0.0.1/{port}"), format!("echo x > /dev/udp/127.0.0.1/{udp}")]
    {
        let failed = bench.run("shell", json!({ "command": ["bash", "-c", command] })).await;
        assert!(!failed.success, "{command}: {}", failed.content);
        assert!(failed.content.contains("and it cannot use the network"), "{command}: {}", failed.content);
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody came");

    let open = locked(true).await;
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let done = open.run("shell", json!({ "command": ["bash", "-c", command] })).await;
    assert_eq!(done.content, "connected\n");
    let outside = open.outside().join("file");
    let failed = open.run("shell", json!({ "command": format!("touch {}", outside.display()) })).await;
    assert!(!failed.success && !outside.exists(), "{}", failed.content);
}

#[tokio::test]
async fn programs_that_reach_nobody_are_explained_whatever_they_print() {
    let bench = locked(false).await;
    // Somebody listens; they are not let out.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    for (program, commands) in [
        ("curl", vec![format!("curl {url}"), format!("curl -s {url}"), format!("curl {url} 2>&1 | tail")]),
        ("wget", vec![format!("wget -t1 {url}"), format!("wget -t1 -q {url}")]),
    ] {
        let there = std::process::Command::new(program).arg("--version").output();
        assert!(there.is_ok_and(|output| output.status.success()), "install {program}: `make test` does");
        for command in commands {
            let done = bench.run("shell", json!({ "command": command })).await;
            assert!(done.content.contains("and it cannot use the network"), "{command}: {}", done.content);
        }
    }
}

#[tokio::test]
async fn terminals_are_locked_in_as_well() {
    let bench = locked(false).await;
    let file = bench.outside().join("file");
    let command = format!("touch {}", file.display());
    let start = json!({ "action": "start", "command": command, "yield_ms": 30_000 });
    let failed = bench.run("unified_exec", start).await;
    assert!(!failed.success && !file.exists(), "{}", failed.content);
    assert!(failed.content.contains("[sandbox]"), "{}", failed.content);
}

#[tokio::test]
async fn we_are_not_locked_in_ourselves() {
    let bench = locked(false).await;
    bench.run("shell", json!({ "command": "true" })).await;
    std::fs::write(bench.outside().join("ours"), "x").unwrap();
    TcpListener::bind("127.0.0.1:0").unwrap();
}

#[tokio::test]
async fn attributes_outside_are_not_changed_either() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let bench = locked(false).await;
    bench.assert_view();
    let victim = bench.outside().join("victim");
    std::fs::write(&victim, "kept").unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o644)).unwrap();
    let seen = || {
        let found = std::fs::metadata(&victim).unwrap();
        (found.mode(), found.uid(), found.mtime(), found.ctime_nsec())
    };
    let before = seen();
    for command in [
        "chmod 777 ../victim",
        "touch -d 2001-01-01 ../victim",
        "python3 -c \"import os; os.setxattr('../victim', 'user.x', b'y')\"",
        "chown 1:1 ../victim",
        "chmod 700 ..",
    ] {
        let failed = bench.run("shell", json!({ "command": command })).await;
        assert!(!failed.success && failed.content.contains("[sandbox]"), "{command}: {}", failed.content);
        assert_eq!(seen(), before, "{command}");
    }
    let inside =
        bench.run("shell", json!({ "command": "touch a && chmod 700 a && touch -d 2001-01-01 a" })).await;
    assert!(inside.success, "{}", inside.content);
}

#[tokio::test]
async fn the_environment_of_who_started_it_cannot_be_read_by_root_either() {
    let bench = locked(false).await;
    for command in [
        "cat /proc/$PPID/environ",
        "tr '\\0' '\\n' < /proc/$PPID/environ",
        "cat /proc/$PPID/mem",
        "cat /proc/$PPID/maps",
    ] {
        let failed = bench.run("shell", json!({ "command": command })).await;
        assert!(!failed.success && !failed.content.contains("PATH="), "{command}: {}", failed.content);
    }
    let left = bench
        .run("shell", json!({ "command": "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status" }))
        .await;
    let bits = |name: &str| {
        let line = left.content.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap()
    };
    // Those over files at most: chown, dac_override, fowner, fsetid.
    assert_eq!((bits("CapEff") & !0b11011, bits("NoNewPrivs")), (0, 1), "{}", left.content);
    let nested = bench
        .run("shell", json!({ "command": "unshare -Urm sh -c 'mount -o remount,rw / && touch ../x'" }))
        .await;
    assert!(!nested.success && !bench.outside().join("x").exists(), "{}", nested.content);
}
