//! The tools of the built-in agent: real files, processes, terminals, sandbox and servers.

mod commands;
mod edits;
mod git;
mod git_kept;
mod looking;
mod mcp;
mod sandbox;
mod terminals;
mod verdicts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longshore_agent::tools::{Permit, Progress, ToolInvocation, ToolResult, ToolSettings, Toolbox};
use longshore_model::capability::Mode;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::soon;

/// A work tree with tools, in a folder that commands may not write in.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
    pub(crate) tools: Arc<Toolbox>,
}

/// A folder that is not among the temporary ones, which commands may write in: not even when this checkout is.
fn lasting() -> PathBuf {
    let ours = Path::new(env!("CARGO_TARGET_TMPDIR")).canonicalize().unwrap();
    let temporary = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    match temporary.iter().any(|folder| ours.starts_with(folder)) {
        true => std::env::home_dir().expect("HOME is needed when the checkout is in a temporary folder"),
        false => ours,
    }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ToolSettings)) -> Self {
        let folder = tempfile::tempdir_in(lasting()).unwrap();
        let tree = folder.path().canonicalize().unwrap().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let mut settings = ToolSettings::new(tree);
        // A busy machine takes its time to start a server.
        settings.servers_within = std::time::Duration::from_secs(60);
        change(&mut settings);
        Self { folder, tools: Arc::new(soon("the tools", Toolbox::new(settings)).await) }
    }

    /// With a sandbox. Fails where there is none: a test that passed all the same would say that it holds.
    pub(crate) async fn locked(change: impl FnOnce(&mut ToolSettings)) -> Self {
        let bench = Self::with(change).await;
        assert_eq!(bench.no_sandbox(), None, "this test wants Linux with Landlock (5.13 or later)");
        bench
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.outside().join("tree")
    }

    /// The folder around the work tree.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let file = self.root().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// A call in full, of which only the result counts.
    pub(crate) async fn run(&self, name: &str, arguments: Value) -> ToolResult {
        self.run_in(Mode::Full, name, arguments).await
    }

    pub(crate) async fn run_in(&self, mode: Mode, name: &str, arguments: Value) -> ToolResult {
        let running = self.start(mode, name, arguments);
        running.result().await
    }

    /// A call that can be heard and stopped.
    pub(crate) fn start(&self, mode: Mode, name: &str, arguments: Value) -> Running {
        let (tell, progress) = mpsc::channel(8);
        let (cancel, tools) = (CancellationToken::new(), Arc::clone(&self.tools));
        let (call, stop) = (call(name, arguments), cancel.clone());
        let permit = Permit { mode, approved: false };
        let task = tokio::spawn(async move { tools.run(call, permit, tell, stop).await });
        Running { progress, cancel, task }
    }

    /// A call that a person said yes to.
    pub(crate) async fn allowed(&self, mode: Mode, name: &str, arguments: Value) -> ToolResult {
        let permit = Permit { mode, approved: true };
        let run = self.tools.run(call(name, arguments), permit, mpsc::channel(1).0, CancellationToken::new());
        soon("the end of a call", run).await
    }

    /// Git, as a person runs it in the work tree.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]);
        let done = git.args(words).current_dir(self.root()).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Fails where what is to be kept in the work tree cannot be kept: a test that passed all the same would say that it is.
    pub(crate) fn assert_view(&self) {
        let missing =
            self.tools.notices().iter().find(|notice| notice.contains("no view of the file system"));
        assert_eq!(
            missing, None,
            "this test wants a mount namespace: run it as root, or where users may have namespaces of their own"
        );
    }

    /// Why there is no sandbox here.
    pub(crate) fn no_sandbox(&self) -> Option<&String> {
        self.tools.notices().iter().find(|notice| notice.contains("without a sandbox"))
    }
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolInvocation {
    ToolInvocation { id: "call-1".to_owned(), name: name.to_owned(), arguments }
}

/// A text of which the middle was left out: what is kept, and how many bytes and lines it says are missing.
pub(crate) fn kept_and_missing(text: &str) -> (String, usize, usize) {
    let (head, rest) = text.split_once("[... ").unwrap();
    let (words, tail) = rest.split_once(" left out ...]\n").unwrap();
    let (bytes, lines) = words.split_once(" bytes (").unwrap();
    let lines = lines.strip_suffix(" lines)").unwrap();
    assert!(!tail.contains(" left out ...]"), "it is said once");
    (format!("{head}{tail}"), bytes.parse().unwrap(), lines.parse().unwrap())
}

pub(crate) struct Running {
    pub(crate) progress: mpsc::Receiver<Progress>,
    pub(crate) cancel: CancellationToken,
    task: tokio::task::JoinHandle<ToolResult>,
}

impl Running {
    /// What it prints, until it has printed this.
    pub(crate) async fn until(&mut self, wanted: &str) -> String {
        let mut heard = String::new();
        while !heard.contains(wanted) {
            match soon(wanted, self.progress.recv()).await {
                Some(Progress::Output(text)) => heard.push_str(&text),
                other => panic!("waited for {wanted:?}, heard {heard:?}, then {other:?}"),
            }
        }
        heard
    }

    /// Hears it to its end.
    pub(crate) async fn result(mut self) -> ToolResult {
        let end = async {
            while self.progress.recv().await.is_some() {}
            self.task.await.unwrap()
        };
        soon("the end of a call", end).await
    }
}
