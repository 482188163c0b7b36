//! The git state of a work tree, and a git that runs no other programs.

pub(crate) mod kept;
pub(crate) mod places;
pub(crate) mod quiet;
mod repository;

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use longshore_model::lifecycle::GitState;
use tokio::process::Command;

use self::quiet::Quiet;
use crate::sandbox::{self, Sandbox, search_path};
use longshore_drivers::git_remote::without_secrets;
use longshore_drivers::keyless::keyless;

pub use self::repository::answer;

/// How long `git` may take: a work tree on a slow disk must not delay the end of a turn.
const WITHIN: Duration = Duration::from_secs(5);

/// The git state of a work tree. Returns none if the folder is no work tree of git, or if git does not answer. Git runs
/// no program of the repository, whatever the repository's settings say: anybody may have written them.
pub async fn look_at(cwd: &str) -> Option<GitState> {
    let looked = tokio::time::timeout(WITHIN, async {
        let folder = Path::new(cwd).to_owned();
        let quiet = tokio::task::spawn_blocking(move || in_repository(&folder).then(|| Quiet::of(&folder)));
        let quiet = quiet.await.ok().flatten()?;
        let status = [
            "status",
            "--porcelain=v2",
            "--branch",
            "--untracked-files=normal",
            // To look for changes inside a submodule, git would start another git there.
            "--ignore-submodules=dirty",
        ];
        let status = git(cwd, &quiet, &status).await?;
        let remote = git(cwd, &quiet, &["remote", "get-url", "origin"]).await;
        let remote = remote.map(|remote| without_secrets(remote.trim())).filter(|remote| !remote.is_empty());
        Some(GitState { remote, ..parse(&status) })
    });
    looked.await.ok().flatten()
}

/// Whether git would find a repository from this folder. The check avoids git processes that would find nothing.
fn in_repository(folder: &Path) -> bool {
    let is_one = |git: &Path| git.is_file() || git.join("HEAD").symlink_metadata().is_ok();
    folder.canonicalize().is_ok_and(|folder| folder.ancestors().any(|above| is_one(&above.join(".git"))))
}

async fn git(cwd: &str, quiet: &Quiet, arguments: &[&str]) -> Option<String> {
    let folder = Path::new(cwd);
    let run = async |sandbox: Option<Sandbox>| {
        let mut git = Command::from(keyless("git"));
        git.args(arguments).current_dir(cwd).stdin(Stdio::null()).kill_on_drop(true);
        git.envs(quiet.variables()).env("PATH", search_path(&[folder.to_owned()]));
        if let Some(sandbox) = sandbox {
            sandbox.lock(&mut git, folder)?;
        }
        git.output().await
    };
    let told = match has_sandbox() {
        true => match run(Some(Sandbox::of_git_alone(folder))).await {
            // On this machine `git` is a script, which needs a shell.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                run(Some(Sandbox::looking(folder))).await
            }
            told => told,
        },
        false => run(None).await,
    };
    let output = told.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn has_sandbox() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| sandbox::available().is_ok())
}

fn parse(status: &str) -> GitState {
    let mut state = GitState::default();
    for line in status.lines() {
        if let Some(commit) = line.strip_prefix("# branch.oid ") {
            state.commit = Some(commit.to_owned()).filter(|commit| commit != "(initial)");
        } else if let Some(branch) = line.strip_prefix("# branch.head ") {
            state.branch = Some(branch.to_owned()).filter(|branch| branch != "(detached)");
        } else if !line.starts_with('#') && !line.is_empty() {
            state.dirty += 1;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_branch_commit_and_how_much_differs() {
        let state = parse("# branch.oid 1f2e\n# branch.head main\n1 .M N... a.rs\n? b.rs\n");
        assert_eq!(
            (state.branch.as_deref(), state.commit.as_deref(), state.dirty),
            (Some("main"), Some("1f2e"), 2)
        );
        let fresh = parse("# branch.oid (initial)\n# branch.head (detached)\n");
        assert_eq!(fresh, GitState::default());
    }

    /// A repository with a changed file. The file has the same length as before, so git must read its content.
    struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { folder: tempfile::tempdir().unwrap() };
            std::fs::create_dir(tree.at("")).unwrap();
            tree.git("", &["init", "-q", "-b", "main"]);
            tree.commit("");
            tree
        }

        fn at(&self, name: &str) -> std::path::PathBuf {
            self.folder.path().join("tree").join(name)
        }

        fn commit(&self, at: &str) {
            std::fs::write(self.at(at).join("a"), "one").unwrap();
            self.git(at, &["add", "."]);
            self.git(at, &["commit", "-q", "-m", "first"]);
            std::fs::write(self.at(at).join("a"), "two").unwrap();
        }

        fn git(&self, at: &str, words: &[&str]) {
            let named = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let mut git = std::process::Command::new("git");
            git.args(named).args(words).current_dir(self.at(at));
            assert!(git.status().unwrap().success(), "{words:?}");
        }

        /// A program that leaves a mark.
        fn program(&self) -> String {
            format!("echo ran >> {}; cat", self.folder.path().join("ran").display())
        }

        async fn look(&self) -> Option<GitState> {
            let state = look_at(self.at("").to_str().unwrap()).await;
            let ran = std::fs::read_to_string(self.folder.path().join("ran"));
            assert!(ran.is_err(), "{ran:?}");
            state
        }
    }

    #[tokio::test]
    async fn a_look_runs_no_program_of_the_repository() {
        let tree = Tree::new();
        tree.git("", &["remote", "add", "origin", "https://me:secret@host.example/a"]);
        std::fs::write(tree.at(".git/info/attributes"), "* filter=odd").unwrap();
        for name in ["core.fsmonitor", "filter.odd.clean", "filter.odd.process"] {
            tree.git("", &["config", name, &tree.program()]);
        }
        let state = tree.look().await.unwrap();
        assert_eq!((state.branch.as_deref(), state.dirty), (Some("main"), 1));
        assert_eq!(state.remote.as_deref(), Some("https://host.example/a"));
    }

    #[tokio::test]
    async fn a_filter_whose_name_is_no_text_runs_no_program_either() {
        let tree = Tree::new();
        std::fs::write(tree.at(".git/info/attributes"), b"* filter=\xff").unwrap();
        let mut config = std::fs::read(tree.at(".git/config")).unwrap();
        config.extend(b"[filter \"\xff\"]\n\tclean = \"");
        config.extend(tree.program().into_bytes());
        config.extend(b"\"\n");
        std::fs::write(tree.at(".git/config"), config).unwrap();
        // Two things stop the filter: its setting is overridden, and it has no shell. Each is enough alone.
        assert_eq!(tree.look().await.unwrap().dirty, 1);
        let quiet = Quiet::of(&tree.at(""));
        let mut git = std::process::Command::new("git");
        git.args(["status", "--short"]).current_dir(tree.at("")).envs(quiet.variables());
        assert_eq!(git.output().unwrap().stdout, b" M a\n");
        assert!(tree.look().await.is_some());
    }

    #[tokio::test]
    async fn a_folder_that_a_link_leads_to_stands_where_it_is() {
        let (tree, elsewhere) = (Tree::new(), tempfile::tempdir().unwrap());
        std::fs::create_dir(tree.at("below")).unwrap();
        let link = elsewhere.path().join("link");
        std::os::unix::fs::symlink(tree.at("below"), &link).unwrap();
        assert_eq!(look_at(link.to_str().unwrap()).await, tree.look().await);
        assert_eq!(look_at(elsewhere.path().to_str().unwrap()).await, None);
    }

    #[tokio::test]
    async fn no_other_git_is_sent_into_a_submodule() {
        let tree = Tree::new();
        std::fs::create_dir(tree.at("module")).unwrap();
        tree.git("module", &["init", "-q"]);
        tree.commit("module");
        let gitmodules = "[submodule \"odd one\"]\n\tpath = module\n\turl = ./module\n\tignore = none\n";
        std::fs::write(tree.at(".gitmodules"), gitmodules).unwrap();
        tree.git("", &["add", "."]);
        tree.git("", &["commit", "-q", "-m", "with a module"]);
        tree.git("", &["config", "submodule.odd one.ignore", "none"]);
        std::fs::write(tree.at("module/.git/info/attributes"), "* filter=odd").unwrap();
        tree.git("module", &["config", "filter.odd.clean", &tree.program()]);
        for gone in [false, true] {
            if gone {
                std::fs::remove_file(tree.at(".gitmodules")).unwrap();
            }
            let quiet = Quiet::of(&tree.at(""));
            for words in [["status", "--short"], ["diff", "--stat"]] {
                let mut git = std::process::Command::new("git");
                git.args(words).current_dir(tree.at("")).envs(quiet.variables());
                assert!(git.status().unwrap().success());
                tree.look().await.unwrap();
            }
        }
    }

    #[tokio::test]
    async fn a_repository_that_has_git_wait_for_ever_holds_nobody_up() {
        let tree = Tree::new();
        let pipe = std::process::Command::new("mkfifo").arg(tree.at(".git/pipe")).status().unwrap();
        assert!(pipe.success());
        tree.git("", &["config", "include.path", "pipe"]);
        assert_eq!(tree.look().await, None);
        // A git that runs anyway reports at once that there is no repository.
        let mut git = std::process::Command::new("git");
        git.args(["status"]).current_dir(tree.at("")).envs(Quiet::of(&tree.at("")).variables());
        let told = git.output().unwrap();
        assert!(String::from_utf8_lossy(&told.stderr).contains("not a git repository"), "{told:?}");
    }

    /// The output of a git that has all variables for this tree, and no sandbox.
    fn plain_status(tree: &Tree) -> String {
        let mut git = std::process::Command::new("git");
        git.args(["status", "--short"]).current_dir(tree.at("")).envs(Quiet::of(&tree.at("")).variables());
        let told = git.output().unwrap();
        String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned()
    }

    #[tokio::test]
    async fn a_setting_is_not_hidden_behind_very_many_others() {
        let many = format!("[x \"{}\"]\n\ty = 1\n", "a".repeat(5 << 20));
        let long = format!("[filter \"{}\"]\n\tclean = cat\n", "a".repeat(200 << 10));
        let broken = "[broken\n".to_owned();
        for before in [many, long, broken] {
            let tree = Tree::new();
            std::fs::write(tree.at(".git/info/attributes"), "* filter=odd").unwrap();
            let config = std::fs::read_to_string(tree.at(".git/config")).unwrap();
            let odd = format!("[filter \"odd\"]\n\tclean = \"{}\"\n", tree.program());
            std::fs::write(tree.at(".git/config"), format!("{config}{before}{odd}")).unwrap();
            let said = plain_status(&tree);
            assert!(said.contains("not a git repository"), "{said}");
            assert_eq!(tree.look().await, None);
        }
    }

    /// The test runs itself once more, in another environment.
    #[tokio::test]
    async fn git_is_not_looked_for_in_the_work_tree() {
        const TREE: &str = "TREE_WITH_A_GIT_OF_ITS_OWN";
        if let Some(tree) = std::env::var_os(TREE) {
            let tree = Path::new(&tree);
            assert!(look_at(tree.to_str().unwrap()).await.is_some());
            assert!(kept::Sources::of(tree).is_some());
            return;
        }
        let tree = Tree::new();
        std::fs::create_dir(tree.at("bin")).unwrap();
        for name in ["bin/git", "git"] {
            std::fs::write(tree.at(name), format!("#!/bin/sh\n{}\n", tree.program())).unwrap();
            let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(tree.at(name), may_run).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "git::tests::git_is_not_looked_for_in_the_work_tree"])
            .current_dir(tree.at(""));
        again.env(TREE, tree.at("")).env("PATH", format!("{}:.:{path}", tree.at("bin").display()));
        let told = again.output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
        assert!(String::from_utf8_lossy(&told.stdout).contains("1 passed"), "{told:?}");
        assert!(!tree.folder.path().join("ran").exists());
    }
}
