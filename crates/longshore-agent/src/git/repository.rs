//! What people ask of a repository: status, differences, commits, and work trees to work in.
//!
//! As with every look at a repository, git runs no program that it names. The looks write nowhere; adding and removing a
//! work tree writes in the repository alone, and everything that is made lies in its own folder [`PLACE`].

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use longshore_drivers::keyless::keyless;
use longshore_model::anchor::{
    ChangedFile, GitCommit, GitWorkTree, RepositoryAsk, RepositoryView, WorkTreeStatus,
};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::quiet::Quiet;
use super::{has_sandbox, in_repository};
use crate::sandbox::{Sandbox, search_path};

/// Where the work trees of a repository are made.
const PLACE: &str = ".worktrees";
/// How long git may take for one answer.
const WITHIN: Duration = Duration::from_secs(12);
/// How many bytes of an answer of git are read; the rest is cut off.
const ANSWER: u64 = 1 << 20;
/// How many bytes of git's reason for a failure are read.
const REASON: u64 = 4 << 10;
/// The most files of a status, commits of a log and work trees of a list.
const MOST: usize = 1_000;
/// How long the name of a branch may be.
const NAME: usize = 100;

/// Answers a question about the repository of a folder, or makes a change. The error is for people.
pub async fn answer(cwd: &str, asked: RepositoryAsk) -> Result<RepositoryView, String> {
    let git = QuietGit::of(cwd).await?;
    match asked {
        RepositoryAsk::Status => git.status().await.map(RepositoryView::Status),
        RepositoryAsk::Diff { file } => git.diff(file.as_deref()).await.map(RepositoryView::Diff),
        RepositoryAsk::Log { limit } => git.log(limit).await.map(RepositoryView::Log),
        RepositoryAsk::WorkTrees => git.work_trees().await.map(RepositoryView::WorkTrees),
        RepositoryAsk::AddWorkTree { branch } => {
            git.add(&branch).await?;
            git.work_trees().await.map(RepositoryView::WorkTrees)
        }
        RepositoryAsk::RemoveWorkTree { path } => {
            git.remove(&path).await?;
            git.work_trees().await.map(RepositoryView::WorkTrees)
        }
    }
}

/// A git at the top of a work tree, which runs no other programs.
struct QuietGit {
    top: PathBuf,
    quiet: Quiet,
}

/// What git said.
struct GitReport {
    text: String,
    reason: String,
    code: Option<i32>,
}

impl QuietGit {
    async fn of(cwd: &str) -> Result<Self, String> {
        let folder = PathBuf::from(cwd);
        let found = tokio::task::spawn_blocking(move || {
            let folder = folder.canonicalize().ok().filter(|folder| in_repository(folder))?;
            let top = folder.ancestors().find(|above| above.join(".git").exists())?.to_owned();
            Some(Self { quiet: Quiet::of(&top), top })
        });
        found.await.ok().flatten().ok_or_else(|| format!("{cwd} is in no repository of git"))
    }

    /// The output of git, if it succeeds.
    async fn told(&self, arguments: &[&str]) -> Result<String, String> {
        let said = self.run(arguments, &[]).await?;
        if said.code == Some(0) { Ok(said.text) } else { Err(said.reason) }
    }

    /// Runs git, which may write in these folders.
    async fn run(&self, arguments: &[&str], writes: &[PathBuf]) -> Result<GitReport, String> {
        let sandboxes = match (has_sandbox(), writes.is_empty()) {
            (false, _) => vec![None],
            (true, true) => vec![Some(Sandbox::of_git_alone(&self.top)), Some(Sandbox::looking(&self.top))],
            (true, false) => vec![Some(Sandbox::of_git_alone(&self.top))],
        };
        let mut refused = String::new();
        for sandbox in sandboxes {
            let sandbox = sandbox.map(|sandbox| Sandbox { writable: writes.to_vec(), ..sandbox });
            match tokio::time::timeout(WITHIN, self.run_in(arguments, sandbox)).await {
                Ok(Ok(said)) => return Ok(said),
                // On this machine `git` may be a script, which needs a shell.
                Ok(Err(error)) => refused = format!("git does not run: {error}"),
                Err(_) => return Err(format!("git did not answer within {} s", WITHIN.as_secs())),
            }
        }
        Err(refused)
    }

    async fn run_in(&self, arguments: &[&str], sandbox: Option<Sandbox>) -> std::io::Result<GitReport> {
        let mut git = Command::from(keyless("git"));
        git.args(arguments).current_dir(&self.top).kill_on_drop(true);
        git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        git.envs(self.quiet.variables()).env("PATH", search_path(std::slice::from_ref(&self.top)));
        git.env("GIT_LITERAL_PATHSPECS", "1").env("LC_ALL", "C");
        if let Some(sandbox) = sandbox {
            sandbox.lock(&mut git, &self.top)?;
        }
        let mut git = git.spawn()?;
        let (stdout, stderr) = (git.stdout.take(), git.stderr.take());
        let (mut text, mut reason) = (Vec::new(), Vec::new());
        let (read, heard) = tokio::join!(
            async {
                match stdout {
                    Some(stdout) => stdout.take(ANSWER).read_to_end(&mut text).await,
                    None => Ok(0),
                }
            },
            async {
                match stderr {
                    Some(stderr) => stderr.take(REASON).read_to_end(&mut reason).await,
                    None => Ok(0),
                }
            },
        );
        heard?;
        // What is cut off is not waited for.
        let code = match read? as u64 == ANSWER {
            true => Some(0),
            false => git.wait().await?.code(),
        };
        let reason = String::from_utf8_lossy(&reason).trim().to_owned();
        Ok(GitReport { text: String::from_utf8_lossy(&text).into_owned(), reason, code })
    }

    async fn status(&self) -> Result<WorkTreeStatus, String> {
        let arguments = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ];
        Ok(status_of(&self.told(&arguments).await?))
    }

    async fn diff(&self, file: Option<&str>) -> Result<String, String> {
        let plain = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules=dirty",
            "HEAD",
            "--",
        ];
        let arguments: Vec<&str> = plain.into_iter().chain(file).collect();
        let shown = self.told(&arguments).await?;
        let Some(file) = file.filter(|_| shown.is_empty()) else { return Ok(shown) };
        // Git shows no difference of an untracked file, so the file is compared with nothing. Git names only files that
        // lie in the work tree.
        let untracked = self.told(&["ls-files", "--others", "--exclude-standard", "-z", "--", file]).await?;
        if untracked.trim_end_matches('\0') != file {
            return Ok(shown);
        }
        let arguments =
            ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-index", "--", "/dev/null", file];
        Ok(self.run(&arguments, &[]).await?.text)
    }

    async fn log(&self, limit: u32) -> Result<Vec<GitCommit>, String> {
        let most = format!("--max-count={}", (limit as usize).clamp(1, MOST));
        let form = "--format=%H%x1f%h%x1f%P%x1f%an%x1f%ar%x1f%D%x1f%s";
        let said =
            self.told(&["log", "--all", "--no-show-signature", "--no-color", "-z", &most, form]).await?;
        Ok(said.split('\0').filter_map(commit_of).collect())
    }

    async fn work_trees(&self) -> Result<Vec<GitWorkTree>, String> {
        let mut trees = trees_of(&self.told(&["worktree", "list", "--porcelain"]).await?);
        let merged = ["for-each-ref", "--merged=HEAD", "--format=%(refname:short)", "refs/heads"];
        let merged = match trees.first() {
            Some(main) => QuietGit::of(&main.path).await?.told(&merged).await.unwrap_or_default(),
            None => String::new(),
        };
        for tree in trees.iter_mut().filter(|tree| !tree.main) {
            tree.merged =
                tree.branch.as_ref().is_some_and(|branch| merged.lines().any(|line| line == branch));
        }
        Ok(trees)
    }

    /// The repository's own folder: that of its first work tree, if all of git's files are in it.
    async fn main(&self) -> Result<Self, String> {
        let trees = trees_of(&self.told(&["worktree", "list", "--porcelain"]).await?);
        let main = trees.into_iter().next().ok_or("the repository has no work tree")?;
        let is_whole = Path::new(&main.path).join(".git").symlink_metadata().is_ok_and(|git| git.is_dir());
        match is_whole {
            true => Self::of(&main.path).await,
            false => {
                Err(format!("{} keeps its repository elsewhere; no work tree can be made there", main.path))
            }
        }
    }

    async fn add(&self, branch: &str) -> Result<(), String> {
        check_branch(branch)?;
        let main = self.main().await?;
        let place = main.top.join(PLACE);
        make_place(&place).map_err(|error| format!("cannot use the folder {}: {error}", place.display()))?;
        let path = place.join(branch.replace('/', "-"));
        if path.symlink_metadata().is_ok() {
            return Err(format!("{} exists already", path.display()));
        }
        let path = path.to_str().ok_or("the path of the repository is no text")?;
        let reference = format!("refs/heads/{branch}");
        let known = main.run(&["show-ref", "--verify", "--quiet", &reference], &[]).await?.code == Some(0);
        let arguments: &[&str] = match known {
            true => &["worktree", "add", path, branch],
            false => &["worktree", "add", "--no-track", "-b", branch, path],
        };
        main.change(arguments).await
    }

    async fn remove(&self, path: &str) -> Result<(), String> {
        let main = self.main().await?;
        let trees = trees_of(&main.told(&["worktree", "list", "--porcelain"]).await?);
        let is_ours = Path::new(path).parent() == Some(&main.top.join(PLACE));
        match trees.iter().any(|tree| tree.path == path && !tree.main && is_ours) {
            true => main.change(&["worktree", "remove", path]).await,
            false => Err(format!("{path} is no work tree in {PLACE} of {}", main.top.display())),
        }
    }

    async fn change(&self, arguments: &[&str]) -> Result<(), String> {
        let said = self.run(arguments, std::slice::from_ref(&self.top)).await?;
        if said.code == Some(0) { Ok(()) } else { Err(said.reason) }
    }
}

/// The folder of work trees. Git does not see it as a part of the repository: it ignores itself.
fn make_place(place: &Path) -> std::io::Result<()> {
    match place.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(std::io::ErrorKind::NotADirectory.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir(place)?;
            std::fs::write(place.join(".gitignore"), "*\n")
        }
        Err(error) => Err(error),
    }
}

/// Refuses what is no plain name of a branch: git would accept more, but nothing here may look like an option or a path.
fn check_branch(branch: &str) -> Result<(), String> {
    let plain = |part: &str| {
        let first = part.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let all = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte));
        first && all && !part.contains("..") && !part.ends_with('.') && !part.ends_with(".lock")
    };
    match branch.len() <= NAME && branch != "HEAD" && branch.split('/').all(plain) {
        true => Ok(()),
        false => Err(format!(
            "`{}` is no name for a branch; use letters, digits and `-_./`",
            branch.chars().take(NAME).collect::<String>()
        )),
    }
}

fn status_of(said: &str) -> WorkTreeStatus {
    let mut status = WorkTreeStatus::default();
    let mut entries = said.split('\0');
    while let Some(entry) = entries.next() {
        let (kind, rest) = entry.split_once(' ').unwrap_or((entry, ""));
        // How many words stand before the path.
        let words = match kind {
            "1" => 7,
            // Its old path follows.
            "2" => {
                entries.next();
                8
            }
            "u" => 9,
            "?" => 0,
            _ => {
                head_of(rest, &mut status);
                continue;
            }
        };
        let Some(path) = rest.splitn(words + 1, ' ').nth(words).filter(|path| !path.is_empty()) else {
            continue;
        };
        let state = match kind {
            "?" => "??".to_owned(),
            _ => rest.chars().take(2).map(|letter| if letter == '.' { ' ' } else { letter }).collect(),
        };
        if status.files.len() < MOST {
            status.files.push(ChangedFile { path: path.to_owned(), state });
        }
    }
    status
}

fn head_of(line: &str, status: &mut WorkTreeStatus) {
    if let Some(branch) = line.strip_prefix("branch.head ") {
        status.branch = Some(branch.to_owned()).filter(|branch| branch != "(detached)");
    } else if let Some(counts) = line.strip_prefix("branch.ab ") {
        let mut counts = counts.split(' ').map(|count| count[1..].parse().unwrap_or_default());
        status.ahead = counts.next().unwrap_or_default();
        status.behind = counts.next().unwrap_or_default();
    }
}

fn commit_of(line: &str) -> Option<GitCommit> {
    let fields: Vec<&str> = line.trim_start_matches('\n').splitn(7, '\u{1f}').collect();
    let [hash, short, parents, author, ago, refs, subject] = fields[..] else { return None };
    let words = |text: &str, between: &str| {
        text.split(between).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    Some(GitCommit {
        hash: hash.to_owned(),
        short: short.to_owned(),
        parents: words(parents, " "),
        subject: subject.to_owned(),
        author: author.to_owned(),
        ago: ago.to_owned(),
        refs: words(refs, ", "),
    })
}

fn trees_of(said: &str) -> Vec<GitWorkTree> {
    let mut trees: Vec<GitWorkTree> = Vec::new();
    for line in said.lines() {
        if let Some(path) = line.strip_prefix("worktree ") {
            let main = trees.is_empty();
            trees.push(GitWorkTree { path: path.to_owned(), branch: None, main, merged: false });
        } else if let (Some(branch), Some(tree)) = (line.strip_prefix("branch refs/heads/"), trees.last_mut())
        {
            tree.branch = Some(branch.to_owned());
        }
    }
    trees.truncate(MOST);
    trees
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Home {
        folder: tempfile::TempDir,
    }

    impl Home {
        fn new() -> Self {
            let home = Self { folder: tempfile::tempdir().unwrap() };
            std::fs::create_dir(home.folder.path().join("tree")).unwrap();
            home.git(&["init", "-q", "-b", "main"]);
            std::fs::write(home.top().join("a"), "one\n").unwrap();
            home.git(&["add", "."]);
            home.git(&["commit", "-q", "-m", "first: a|b"]);
            home
        }

        fn top(&self) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join("tree")
        }

        fn git(&self, words: &[&str]) {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=Ada", "-c", "user.email=a@example.org"]).args(words);
            assert!(git.current_dir(self.top()).status().unwrap().success(), "{words:?}");
        }

        async fn ask(&self, asked: RepositoryAsk) -> Result<RepositoryView, String> {
            let view = answer(self.top().to_str().unwrap(), asked).await;
            assert!(!self.folder.path().join("ran").exists(), "a program of the repository ran");
            view
        }

        /// Programs in every place where a repository can name one; each leaves a mark.
        fn set_traps(&self) {
            let program = self.folder.path().join("trap");
            let script =
                format!("#!/bin/sh\necho ran >> {}\ncat\n", self.folder.path().join("ran").display());
            std::fs::write(&program, script).unwrap();
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, executable).unwrap();
            let hooks = self.top().join(".git/hooks");
            for hook in ["post-checkout", "reference-transaction", "post-index-change"] {
                std::fs::copy(&program, hooks.join(hook)).unwrap();
            }
            std::fs::write(self.top().join(".git/info/attributes"), "* filter=odd diff=odd\n").unwrap();
            let named =
                ["core.fsmonitor", "core.pager", "diff.external", "diff.odd.command", "diff.odd.textconv"];
            let filters = ["filter.odd.clean", "filter.odd.smudge", "filter.odd.process", "gpg.program"];
            for name in named.into_iter().chain(filters) {
                self.git(&["config", name, program.to_str().unwrap()]);
            }
            self.git(&["config", "log.showSignature", "true"]);
        }
    }

    #[tokio::test]
    async fn a_repository_is_read_without_running_anything_of_it() {
        let home = Home::new();
        home.set_traps();
        let _ = std::fs::remove_file(home.folder.path().join("ran"));
        std::fs::write(home.top().join("a"), "two\n").unwrap();
        std::fs::write(home.top().join("new file"), "three\n").unwrap();
        let RepositoryView::Status(status) = home.ask(RepositoryAsk::Status).await.unwrap() else { panic!() };
        let files: Vec<(&str, &str)> =
            status.files.iter().map(|file| (file.path.as_str(), file.state.as_str())).collect();
        assert_eq!(files, [("a", " M"), ("new file", "??")]);
        assert_eq!(status.branch.as_deref(), Some("main"));
        let diff = async |file: Option<&str>| {
            let file = file.map(str::to_owned);
            let RepositoryView::Diff(diff) = home.ask(RepositoryAsk::Diff { file }).await.unwrap() else {
                panic!()
            };
            diff
        };
        assert!(diff(None).await.contains("-one\n+two"));
        assert!(diff(Some("a")).await.contains("-one\n+two"));
        assert!(diff(Some("new file")).await.contains("+three"));
        for outside in ["../trap", "/etc/passwd", "--output=x", ".git/config", "*"] {
            let asked = RepositoryAsk::Diff { file: Some(outside.to_owned()) };
            let seen = home.ask(asked).await.map(|view| view == RepositoryView::Diff(String::new()));
            assert!(seen.unwrap_or(true), "{outside}");
        }
        assert!(!home.top().join("x").exists());
        let RepositoryView::Log(log) = home.ask(RepositoryAsk::Log { limit: 10 }).await.unwrap() else {
            panic!()
        };
        assert_eq!((log.len(), log[0].subject.as_str(), log[0].author.as_str()), (1, "first: a|b", "Ada"));
        assert!(log[0].hash.starts_with(&log[0].short) && log[0].refs == ["HEAD -> main"], "{log:?}");
    }

    #[tokio::test]
    async fn a_work_tree_is_made_and_removed_and_nothing_is_lost_with_it() {
        let home = Home::new();
        home.set_traps();
        let _ = std::fs::remove_file(home.folder.path().join("ran"));
        let branch = "feature/boat".to_owned();
        let made = home.ask(RepositoryAsk::AddWorkTree { branch: branch.clone() }).await.unwrap();
        let RepositoryView::WorkTrees(trees) = made else { panic!() };
        let path = home.top().join(".worktrees/feature-boat");
        assert_eq!((trees.len(), trees[0].main, trees[1].merged), (2, true, true));
        assert_eq!(
            (trees[1].branch.as_deref(), Path::new(&trees[1].path)),
            (Some("feature/boat"), path.as_path())
        );
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "one\n");
        let RepositoryView::Status(status) = home.ask(RepositoryAsk::Status).await.unwrap() else { panic!() };
        assert!(status.files.is_empty(), "the folder ignores itself: {status:?}");
        assert!(home.ask(RepositoryAsk::AddWorkTree { branch }).await.is_err(), "it is there already");

        let remove = |path: &Path| RepositoryAsk::RemoveWorkTree { path: path.display().to_string() };
        for other in [home.top(), home.folder.path().to_owned(), home.top().join(".worktrees"), "/".into()] {
            assert!(home.ask(remove(&other)).await.is_err(), "{}", other.display());
        }
        std::fs::write(path.join("unsaved"), "work").unwrap();
        assert!(home.ask(remove(&path)).await.is_err(), "it holds work");
        std::fs::remove_file(path.join("unsaved")).unwrap();
        home.ask(remove(&path)).await.unwrap();
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_name_that_is_no_branch_and_a_place_that_leads_elsewhere_are_refused() {
        let home = Home::new();
        let long = "x".repeat(NAME + 1);
        for name in [
            "", "-b", "a b", "../a", "a/../b", "a//b", ".a", "a.lock", "HEAD", "a~1", "a\nb", "/a", "a/",
            &long,
        ] {
            let refused = home.ask(RepositoryAsk::AddWorkTree { branch: name.to_owned() }).await;
            assert!(refused.unwrap_err().contains("no name for a branch"), "{name}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), home.top().join(PLACE)).unwrap();
        let refused = home.ask(RepositoryAsk::AddWorkTree { branch: "b".to_owned() }).await;
        assert!(refused.unwrap_err().contains("cannot use the folder"));
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        let nowhere = answer(elsewhere.path().to_str().unwrap(), RepositoryAsk::Status).await;
        assert!(nowhere.unwrap_err().contains("in no repository"));
    }
}
