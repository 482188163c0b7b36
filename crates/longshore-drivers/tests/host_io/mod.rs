//! The workshop: real files, real links, real processes.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use longshore_drivers::host_io::{FILE_LIMIT, HostIo, TERMINALS_LIMIT, WORKS_LIMIT};
use longshore_model::host_io::{Exit, HostFault, HostReply, HostRequest, HostRequestId, Job};
use longshore_model::id::{Ids, SessionId};
use longshore_model::time::Timestamp;

/// No work of these tests takes anywhere near as long.
const LIMIT: Duration = Duration::from_secs(120);

struct Bench {
    shop: HostIo,
    folder: tempfile::TempDir,
    session: SessionId,
    last: u64,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tree")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        Self { shop: HostIo::new(), folder, session: session(1), last: 0 }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("tree")
    }

    fn begin(&mut self, job: Job) -> HostRequestId {
        self.last += 1;
        let (id, root) = (HostRequestId(self.last), self.root().to_str().unwrap().to_owned());
        self.shop.begin(HostRequest { id, session: self.session, root, job });
        id
    }

    async fn next(&mut self) -> (HostRequestId, Result<HostReply, HostFault>) {
        tokio::time::timeout(LIMIT, self.shop.next()).await.unwrap()
    }

    async fn work(&mut self, job: Job) -> Result<HostReply, HostFault> {
        let id = self.begin(job);
        let (done, result) = self.next().await;
        assert_eq!(done, id);
        result
    }

    async fn read(&mut self, path: impl AsRef<Path>) -> Result<HostReply, HostFault> {
        let path = path.as_ref().to_str().unwrap().to_owned();
        self.work(Job::Read { path, line: None, limit: None }).await
    }

    async fn write(&mut self, path: impl AsRef<Path>, content: &str) -> Result<HostReply, HostFault> {
        let (path, content) = (path.as_ref().to_str().unwrap().to_owned(), content.to_owned());
        self.work(Job::Write { path, content }).await
    }

    async fn run(&mut self, command: &str) -> String {
        match self.work(run(command)).await {
            Ok(HostReply::Running { terminal }) => terminal,
            other => panic!("{other:?}"),
        }
    }
}

fn session(seed: u64) -> SessionId {
    SessionId(Ids::seeded(seed).next(Timestamp::default()))
}

fn run(command: &str) -> Job {
    Job::Run { command: command.to_owned(), arguments: Vec::new(), env: Vec::new(), cwd: None, keep: None }
}

#[tokio::test]
async fn files_of_the_work_tree_are_read_and_written() {
    let mut bench = Bench::new();
    let file = bench.root().join("new/folder/a.txt");
    assert_eq!(bench.write(&file, "one\ntwo\nthree").await, Ok(HostReply::Written));
    assert_eq!(bench.read(&file).await, Ok(HostReply::Read("one\ntwo\nthree".to_owned())));
    assert_eq!(
        bench.read("new/../new/folder/a.txt").await,
        Ok(HostReply::Read("one\ntwo\nthree".to_owned()))
    );
    for (line, limit, expected) in [
        (Some(2), None, "two\nthree"),
        (None, Some(1), "one\n"),
        (Some(2), Some(1), "two\n"),
        (Some(0), Some(1), "one\n"),
        (Some(9), Some(9), ""),
    ] {
        let path = file.to_str().unwrap().to_owned();
        assert_eq!(
            bench.work(Job::Read { path, line, limit }).await,
            Ok(HostReply::Read(expected.to_owned()))
        );
    }
    assert_eq!(bench.write(&file, "less").await, Ok(HostReply::Written));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "less");
}

#[tokio::test]
async fn nothing_outside_of_the_work_tree_is_touched() {
    let mut bench = Bench::new();
    let (root, out) = (bench.root(), bench.folder.path().to_owned());
    symlink(&out, root.join("up")).unwrap();
    symlink(out.join("secret"), root.join("link")).unwrap();
    symlink(out.join("not-yet"), root.join("dangling")).unwrap();
    symlink("/dev/null", root.join("device")).unwrap();
    // A folder that begins like the work tree is not the work tree.
    std::fs::create_dir(out.join("tree-2")).unwrap();
    for path in [
        "/etc/passwd",
        "../secret",
        "a/../../secret",
        "up/secret",
        "up/new",
        "link",
        "dangling",
        "device",
        "missing/../../secret",
        "../tree-2/a",
        "..",
    ] {
        for (what, result) in
            [("read", bench.read(path).await), ("written", bench.write(path, "broken").await)]
        {
            assert!(matches!(result, Err(HostFault::Outside(_))), "{path} {what}: {result:?}");
        }
    }
    assert_eq!(std::fs::read_to_string(out.join("secret")).unwrap(), "secret");
    assert!(!out.join("not-yet").exists() && !out.join("new").exists());
    // A link that stays inside is fine.
    std::fs::write(root.join("a"), "a").unwrap();
    symlink("a", root.join("inside")).unwrap();
    assert_eq!(bench.read("inside").await, Ok(HostReply::Read("a".to_owned())));
    // And so is a work tree that is itself reached through a link.
    symlink(&root, out.join("way")).unwrap();
    let work = HostRequest {
        id: HostRequestId(900),
        session: bench.session,
        root: out.join("way").to_str().unwrap().to_owned(),
        job: Job::Read { path: out.join("way/a").to_str().unwrap().to_owned(), line: None, limit: None },
    };
    bench.shop.begin(work);
    assert_eq!(bench.next().await.1, Ok(HostReply::Read("a".to_owned())));
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_with_a_reason() {
    let mut bench = Bench::new();
    let root = bench.root();
    std::fs::write(root.join("bytes"), b"a\xff").unwrap();
    std::fs::File::create(root.join("huge")).unwrap().set_len(FILE_LIMIT + 1).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    assert_eq!(bench.read("missing").await, Err(HostFault::Missing("missing".to_owned())));
    for path in ["bytes", "huge", "pipe", "."] {
        let result = bench.read(path).await;
        assert!(matches!(result, Err(HostFault::Unfit { .. })), "{path}: {result:?}");
    }
    for path in ["pipe", "."] {
        assert!(matches!(bench.write(path, "x").await, Err(HostFault::Unfit { .. })), "{path}");
    }
}

#[tokio::test]
async fn a_command_prints_ends_and_is_forgotten() {
    let mut bench = Bench::new();
    let line = "printf out; printf err >&2; printf \"$WORD\"; exit 3";
    let job = Job::Run {
        command: line.to_owned(),
        arguments: Vec::new(),
        env: vec![("WORD".to_owned(), "env".to_owned())],
        cwd: None,
        keep: None,
    };
    let Ok(HostReply::Running { terminal }) = bench.work(job).await else { panic!() };
    let exit = Exit { code: Some(3), signal: None };
    assert_eq!(
        bench.work(Job::Wait { terminal: terminal.clone() }).await,
        Ok(HostReply::Ended(exit.clone()))
    );
    let output = HostReply::Output { text: "outerrenv".to_owned(), truncated: false, exit: Some(exit) };
    assert_eq!(bench.work(Job::Output { terminal: terminal.clone() }).await, Ok(output));
    assert_eq!(bench.work(Job::Release { terminal: terminal.clone() }).await, Ok(HostReply::Released));
    assert_eq!(
        bench.work(Job::Output { terminal: terminal.clone() }).await,
        Err(HostFault::NoTerminal(terminal))
    );
}

#[tokio::test]
async fn a_command_runs_in_the_work_tree_or_not_at_all() {
    let mut bench = Bench::new();
    std::fs::create_dir(bench.root().join("sub")).unwrap();
    let job = |cwd: &str| Job::Run {
        command: "pwd".to_owned(),
        arguments: vec!["-P".to_owned()],
        env: Vec::new(),
        cwd: Some(cwd.to_owned()),
        keep: None,
    };
    let Ok(HostReply::Running { terminal }) = bench.work(job("sub")).await else { panic!() };
    bench.work(Job::Wait { terminal: terminal.clone() }).await.unwrap();
    let Ok(HostReply::Output { text, .. }) = bench.work(Job::Output { terminal }).await else { panic!() };
    assert_eq!(Path::new(text.trim()), bench.root().join("sub").canonicalize().unwrap());
    assert_eq!(bench.work(job("/")).await, Err(HostFault::Outside("/".to_owned())));
    let missing = Job::Run {
        command: "no-such-program-anywhere".to_owned(),
        arguments: vec!["x".to_owned()],
        env: Vec::new(),
        cwd: None,
        keep: None,
    };
    assert!(matches!(bench.work(missing).await, Err(HostFault::Failed(_))));
}

#[tokio::test]
async fn only_the_end_of_what_is_printed_is_kept() {
    let mut bench = Bench::new();
    let job = Job::Run {
        command: "seq 1 100000".to_owned(),
        arguments: Vec::new(),
        env: Vec::new(),
        cwd: None,
        keep: Some(14),
    };
    let Ok(HostReply::Running { terminal }) = bench.work(job).await else { panic!() };
    bench.work(Job::Wait { terminal: terminal.clone() }).await.unwrap();
    let Ok(HostReply::Output { text, truncated, .. }) = bench.work(Job::Output { terminal }).await else {
        panic!()
    };
    assert_eq!((text.as_str(), truncated), ("\n99999\n100000\n", true));
}

/// The pid that a command says, once it says it.
async fn pid_in(bench: &mut Bench, terminal: &str) -> rustix::process::Pid {
    for _ in 0..10_000 {
        let job = Job::Output { terminal: terminal.to_owned() };
        let Ok(HostReply::Output { text, .. }) = bench.work(job).await else { panic!() };
        if let Some(pid) = text.strip_suffix('\n') {
            return rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        }
        tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>()).await.unwrap_err();
    }
    panic!("the command never spoke")
}

async fn is_gone(pid: rustix::process::Pid) -> bool {
    for _ in 0..2_000 {
        let state =
            std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        if state.is_empty() || state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')) {
            return true;
        }
        tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>()).await.unwrap_err();
    }
    false
}

#[tokio::test]
async fn a_command_is_killed_with_all_that_it_started() {
    for how in ["kill", "release", "drop"] {
        let mut bench = Bench::new();
        let terminal = bench.run("sleep 1000 & echo $!; wait").await;
        let child = pid_in(&mut bench, &terminal).await;
        match how {
            "kill" => {
                let waits = bench.begin(Job::Wait { terminal: terminal.clone() });
                assert_eq!(bench.begin(Job::Kill { terminal }), HostRequestId(waits.0 + 1));
                assert_eq!(bench.next().await, (HostRequestId(waits.0 + 1), Ok(HostReply::Killed)));
                let exit = Exit { code: None, signal: Some("SIGKILL".to_owned()) };
                assert_eq!(bench.next().await, (waits, Ok(HostReply::Ended(exit))));
            }
            "release" => assert_eq!(bench.work(Job::Release { terminal }).await, Ok(HostReply::Released)),
            _ => drop(bench),
        }
        assert!(is_gone(child).await, "after {how}");
    }
}

#[tokio::test]
async fn whoever_left_the_group_of_a_command_ends_with_it() {
    for how in ["kill", "release", "drop"] {
        let mut bench = Bench::new();
        let terminal = bench.run("setsid sh -c 'echo $$; exec sleep 1000' & wait").await;
        let child = pid_in(&mut bench, &terminal).await;
        match how {
            "kill" => assert_eq!(bench.work(Job::Kill { terminal }).await, Ok(HostReply::Killed)),
            "release" => assert_eq!(bench.work(Job::Release { terminal }).await, Ok(HostReply::Released)),
            _ => drop(bench),
        }
        assert!(is_gone(child).await, "after {how}");
    }
}

#[tokio::test]
async fn an_interrupted_turn_takes_its_commands_with_it_and_leaves_those_of_earlier_ones() {
    let mut bench = Bench::new();
    let server = bench.run("echo $$; exec sleep 1000").await;
    let server = pid_in(&mut bench, &server).await;
    bench.shop.turn_ends(bench.session, false);
    let command = bench.run("echo $$; exec sleep 1000").await;
    let stopped = pid_in(&mut bench, &command).await;
    bench.shop.turn_ends(session(2), true);
    bench.shop.turn_ends(bench.session, true);
    assert!(is_gone(stopped).await);
    assert!(rustix::process::test_kill_process(server).is_ok(), "nobody spoke of it");
    let Ok(HostReply::Output { exit, .. }) = bench.work(Job::Output { terminal: command }).await else {
        panic!()
    };
    assert!(
        exit.is_none_or(|exit| exit.signal.as_deref() == Some("SIGKILL")),
        "the agent can ask how it ended"
    );
}

#[tokio::test]
async fn a_terminal_is_of_one_session() {
    let mut bench = Bench::new();
    let terminal = bench.run("true").await;
    bench.session = session(2);
    for job in [Job::Output { terminal: terminal.clone() }, Job::Release { terminal: terminal.clone() }] {
        assert_eq!(bench.work(job).await, Err(HostFault::NoTerminal(terminal.clone())));
    }
}

#[tokio::test]
async fn what_is_too_much_is_refused_at_once() {
    let mut bench = Bench::new();
    for _ in 0..TERMINALS_LIMIT {
        bench.run("sleep 1000").await;
    }
    assert!(matches!(bench.work(run("true")).await, Err(HostFault::Busy(_))));
    let waits: Vec<HostRequestId> =
        (0..WORKS_LIMIT).map(|_| bench.begin(Job::Wait { terminal: "term-1".to_owned() })).collect();
    let refused = bench.begin(Job::Wait { terminal: "term-1".to_owned() });
    assert!(matches!(bench.next().await, (id, Err(HostFault::Busy(_))) if id == refused));
    assert!(bench.shop.is_busy() && !bench.shop.is_full());
    // An end is never refused, and ends all the waiting.
    let kill = bench.begin(Job::Kill { terminal: "term-1".to_owned() });
    assert_eq!(bench.next().await, (kill, Ok(HostReply::Killed)));
    for _ in waits {
        assert!(matches!(bench.next().await.1, Ok(HostReply::Ended(_))));
    }
    for _ in 0..WORKS_LIMIT {
        bench.begin(Job::Output { terminal: "term-2".to_owned() });
    }
    assert!(bench.shop.is_full());
}
