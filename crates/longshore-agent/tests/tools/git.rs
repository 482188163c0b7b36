//! Repositories that would like git to run their programs.

use std::os::unix::fs::{PermissionsExt, symlink};

use longshore_agent::tools::CallVerdict;
use longshore_model::capability::Mode;
use serde_json::json;

use super::{Bench, call};

/// What git is asked without asking a person.
const LOOKS: [&str; 12] = [
    "git status",
    "git status --short",
    "git diff",
    "git diff HEAD",
    "git log -p",
    "git show",
    "git blame a",
    "git ls-files -m",
    "git grep one",
    "git describe --always",
    "git stash list",
    "git reflog",
];

/// A repository with a file that was changed and is as long as before, so that git has to look into it.
pub(super) async fn repository() -> Bench {
    let bench = Bench::locked(|_| {}).await;
    bench.git(&["init", "-q", "-b", "main"]);
    bench.write("a", "one\n");
    bench.git(&["add", "a"]);
    bench.git(&["commit", "-q", "-m", "first"]);
    bench.write("a", "two\n");
    bench
}

/// A line that a shell runs and that leaves its mark, if it can: in the work tree, in a temporary folder, in what is printed.
fn program(bench: &Bench, mark: &tempfile::TempDir) -> String {
    let (tree, mark) = (bench.root().join("ran"), mark.path().join("ran"));
    format!("sh -c 'echo EVIL >&2; echo ran >> {}; echo ran >> {}; cat'", tree.display(), mark.display())
}

fn goes(bench: &Bench, line: &str, mode: Mode) -> bool {
    matches!(bench.tools.verdict(&call("shell", json!({ "command": line })), mode), CallVerdict::Go)
}

/// Runs what goes without asking, and looks for marks.
async fn assert_quiet(bench: &Bench, mark: &tempfile::TempDir, line: &str) -> String {
    let mut said = String::new();
    for mode in [Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full] {
        if mode != Mode::Full {
            assert!(goes(bench, line, mode), "{line} asks in {mode}");
        }
        said = bench.run_in(mode, "shell", json!({ "command": line })).await.content;
        assert!(!said.contains("EVIL"), "{line}: {said}");
        assert!(!bench.root().join("ran").exists() && !mark.path().join("ran").exists(), "{line}: {said}");
    }
    said
}

#[tokio::test]
async fn a_repository_among_the_files_of_another_runs_nothing() {
    let bench = repository().await;
    let mark = tempfile::tempdir().unwrap();
    bench.write("vendor/lib/HEAD", "ref: refs/heads/main\n");
    let settings = "[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = ";
    let quoted = program(&bench, &mark).replace('"', "\\\"");
    bench.write("vendor/lib/config", &format!("{settings}\"{quoted}\"\n"));
    std::fs::create_dir_all(bench.root().join("vendor/lib/objects")).unwrap();
    std::fs::create_dir_all(bench.root().join("vendor/lib/refs")).unwrap();
    for look in ["git status", "git diff", "git ls-files -m"] {
        assert_quiet(&bench, &mark, &format!("cd vendor/lib && {look}")).await;
        let elsewhere = json!({ "command": look, "cwd": "vendor/lib" });
        let said = bench.run_in(Mode::Ask, "shell", elsewhere).await.content;
        assert!(!said.contains("EVIL") && !bench.root().join("ran").exists(), "{look}: {said}");
    }
    assert!(!bench.root().join(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn settings_of_the_repository_itself_run_nothing() {
    let bench = repository().await;
    let mark = tempfile::tempdir().unwrap();
    let program = program(&bench, &mark);
    bench.write(".git/info/attributes", "* filter=odd diff=odd merge=odd\n");
    let hooks = bench.root().join("hooks");
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"] {
        bench.write(&format!("hooks/{hook}"), &format!("#!/bin/sh\n{program}\n"));
        let file = hooks.join(hook);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "pager.status",
        "pager.log",
        "filter.odd.clean",
        "filter.odd.smudge",
        "filter.odd.process",
        "diff.odd.textconv",
        "merge.odd.driver",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
    ] {
        bench.git(&["config", name, &program]);
    }
    bench.git(&["config", "alias.status", &format!("!{program}")]);
    bench.git(&["config", "filter.odd.required", "true"]);
    bench.git(&["config", "log.showSignature", "true"]);
    // An object that is missing would be fetched.
    bench.git(&["config", "extensions.partialClone", "origin"]);
    bench.git(&["config", "remote.origin.promisor", "true"]);
    bench.git(&["config", "remote.origin.url", &format!("ext::{program}")]);
    bench.git(&["config", "protocol.ext.allow", "always"]);
    let _ = std::fs::remove_file(mark.path().join("ran"));
    let _ = std::fs::remove_file(bench.root().join("ran"));
    for look in LOOKS {
        assert_quiet(&bench, &mark, look).await;
    }
    assert!(assert_quiet(&bench, &mark, "git status --short").await.contains(" M a\n"));
    assert!(assert_quiet(&bench, &mark, "git diff").await.contains("-one\n+two\n"));
    // A terminal would be paged.
    for look in ["git log", "git status", "git diff"] {
        let start = json!({ "action": "start", "command": look, "yield_ms": 30_000 });
        let said = bench.run_in(Mode::Plan, "unified_exec", start).await.content;
        assert!(said.contains("ended with exit code 0") && !said.contains("EVIL"), "{look}: {said}");
        assert!(!mark.path().join("ran").exists(), "{look}");
    }
    let missing = "git cat-file -p 1234567890123456789012345678901234567890";
    assert_quiet(&bench, &mark, missing).await;
}

#[tokio::test]
async fn a_program_that_shows_differences_asks() {
    let bench = repository().await;
    let mark = tempfile::tempdir().unwrap();
    for name in ["diff.external", "diff.odd.command"] {
        bench.git(&["config", name, &program(&bench, &mark)]);
        for look in ["git diff", "git log -p", "git show", "git stash list"] {
            let verdict = bench.tools.verdict(&call("shell", json!({ "command": look })), Mode::Ask);
            let CallVerdict::Ask(ask) = verdict else { panic!("{look}: {verdict:?}") };
            assert!(ask.reason.contains(&format!("settings name ({name})")), "{}", ask.reason);
            assert!(!goes(&bench, look, Mode::Plan), "{look}");
        }
        assert_quiet(&bench, &mark, "git status --short").await;
        bench.git(&["config", "--unset", name]);
    }
    assert_quiet(&bench, &mark, "git diff").await;
}

#[tokio::test]
async fn a_submodule_runs_nothing() {
    let bench = repository().await;
    let mark = tempfile::tempdir().unwrap();
    let other = bench.outside().join("other");
    std::fs::create_dir(&other).unwrap();
    bench.git(&["init", "-q", other.to_str().unwrap()]);
    bench.git(&["-C", other.to_str().unwrap(), "commit", "-q", "--allow-empty", "-m", "first"]);
    bench.git(&["submodule", "--quiet", "add", other.to_str().unwrap(), "module"]);
    bench.git(&["commit", "-q", "-m", "with a module"]);
    bench.write("module/b", "one\n");
    bench.git(&["-C", "module", "add", "b"]);
    bench.git(&["-C", "module", "commit", "-q", "-m", "second"]);
    bench.git(&["add", "module"]);
    bench.git(&["commit", "-q", "-m", "with more of it"]);
    // In there are settings of their own, of which the git outside knows nothing.
    for name in ["core.fsmonitor", "filter.odd.clean", "filter.odd.process"] {
        bench.git(&["-C", "module", "config", name, &program(&bench, &mark)]);
    }
    bench.git(&["config", "submodule.module.ignore", "none"]);
    bench.write("module/.gitattributes", "* filter=odd\n");
    bench.write("module/b", "two\n");
    bench.write("module/new", "x");
    for look in LOOKS {
        assert_quiet(&bench, &mark, look).await;
        if look != "git blame a" {
            assert_quiet(&bench, &mark, &format!("cd module && {look}")).await;
        }
    }
}

#[tokio::test]
async fn a_work_folder_inside_of_a_repository_can_be_looked_at() {
    let bench = Bench::locked(|_| {}).await;
    let around = bench.outside();
    bench.git(&["init", "-q", "-b", "main", around.to_str().unwrap()]);
    bench.write("a", "one\n");
    bench.git(&["add", "a"]);
    bench.git(&["commit", "-q", "-m", "first"]);
    bench.write("a", "two\n");
    let done = bench.run_in(Mode::Ask, "shell", json!({ "command": "git diff && git log --oneline" })).await;
    assert!(done.success && done.content.contains("-one\n+two\n"), "{}", done.content);
}

/// A folder that was unpacked may hold a repository that says anything of where its own things are.
#[tokio::test]
async fn what_a_repository_says_of_another_opens_nothing() {
    let bench = repository().await;
    let private = bench.outside().join("private");
    std::fs::create_dir(&private).unwrap();
    let git_there = |words: &[&str]| bench.git(&[&["-C", private.to_str().unwrap()], words].concat());
    git_there(&["init", "-q", "-b", "main"]);
    git_there(&["commit", "-q", "--allow-empty", "-m", "the secret"]);
    let secret = private.join(".git");
    let looks = ["git log", "git status", "git cat-file --batch-all-objects --batch", "cd sub && git log"];
    std::fs::create_dir(bench.root().join("sub")).unwrap();
    let assert_closed = async |how: &str| {
        for look in looks {
            let verdict = bench.tools.verdict(&call("shell", json!({ "command": look })), Mode::Ask);
            let CallVerdict::Ask(ask) = verdict else { panic!("{how}: {look}: {verdict:?}") };
            assert!(ask.reason.contains(secret.to_str().unwrap()), "{how}: {look}: {}", ask.reason);
            assert!(ask.always.is_empty(), "{how}: {look}");
            let closed = bench.run_in(Mode::Ask, "shell", json!({ "command": look })).await;
            assert!(!closed.success && !closed.content.contains("the secret"), "{how}: {}", closed.content);
        }
    };
    let dot_git = bench.root().join(".git");
    bench.write(".git/objects/info/alternates", &format!("{}/objects\n", secret.display()));
    assert_closed("alternates").await;
    let shown = json!({ "command": "git cat-file --batch-all-objects --batch" });
    let shown = bench.allowed(Mode::Ask, "shell", shown).await;
    assert!(shown.content.contains("the secret"), "{}", shown.content);
    std::fs::remove_file(dot_git.join("objects/info/alternates")).unwrap();
    assert!(goes(&bench, "git log", Mode::Ask));

    bench.write(".git/commondir", &format!("{}\n", secret.display()));
    assert_closed("commondir").await;
    std::fs::remove_dir_all(&dot_git).unwrap();

    bench.write(".git", &format!("gitdir: {}\n", secret.display()));
    assert_closed("a file").await;
    // Both sides say so, and are of one maker.
    bench.write(".git", "gitdir: made/worktrees/up\n");
    bench.write("made/HEAD", "ref: refs/heads/main\n");
    bench.write("made/worktrees/up/HEAD", "ref: refs/heads/main\n");
    bench.write("made/worktrees/up/gitdir", "../../../.git\n");
    bench.write("made/worktrees/up/commondir", &format!("{}\n", secret.display()));
    assert_closed("a work tree that was made up").await;
    bench.write("made/worktrees/up/commondir", "../..\n");
    // What is shared by work trees is written by git; a link in its place leads nowhere.
    std::fs::create_dir_all(bench.root().join("made/objects")).unwrap();
    std::fs::create_dir_all(bench.root().join("made/refs")).unwrap();
    symlink(&private, bench.root().join("made/logs")).unwrap();
    for mode in [Mode::Ask, Mode::Full] {
        let aside = |file: &str| json!({ "command": format!("git -c alias.x='!echo x > {file}' x") });
        let done = bench.allowed(mode, "shell", aside("made/refs/x")).await;
        assert!(done.success, "{}", done.content);
        let failed = bench.allowed(mode, "shell", aside("made/logs/x")).await;
        assert!(!failed.success && !private.join("x").exists(), "{}", failed.content);
    }
    std::fs::remove_file(&dot_git).unwrap();
    symlink(&secret, &dot_git).unwrap();
    assert_closed("a link").await;
}

#[tokio::test]
async fn links_that_lead_out_are_not_followed_by_who_only_reads() {
    let bench = repository().await;
    let secret = bench.outside().join("secret");
    std::fs::write(&secret, "the secret\n").unwrap();
    bench.write("d1/x", "other\n");
    bench.write("d2/y", "other\n");
    symlink(&secret, bench.root().join("d2/x")).unwrap();
    symlink(bench.outside(), bench.root().join("d1/out")).unwrap();
    symlink("/etc", bench.root().join("d2/etc")).unwrap();
    bench.git(&["add", "."]);
    for line in [
        "diff d1 d2",
        "diff -u d1 d2",
        "diff -N d1 d2",
        "grep -r secret .",
        "grep secret d1/x d2/y",
        "rg secret",
        "find . -name secret",
        "ls -R",
        "ls -la d1 d2",
        "wc d1/x",
        "git grep secret",
        "git diff --cached",
        "tree",
        "du -a d1",
    ] {
        let arguments = json!({ "command": line });
        if !goes(&bench, line, Mode::Ask) {
            continue;
        }
        let done = bench.run_in(Mode::Ask, "shell", arguments).await;
        assert!(!done.content.contains("the secret"), "{line}: {}", done.content);
        assert!(!done.content.contains("passwd"), "{line}: {}", done.content);
    }
    let told = bench.run_in(Mode::Ask, "shell", json!({ "command": "diff d1 d2" })).await;
    assert!(
        told.content.contains("[sandbox]") && told.content.contains("read only in the work tree"),
        "{}",
        told.content
    );
    for line in [
        "cat d2/x",
        "head d2/x",
        "ls -L d2",
        "ls -lLd d2/x",
        "grep -R x .",
        "find -L .",
        "rg -L x",
        "stat d2/x",
    ] {
        assert!(!goes(&bench, line, Mode::Ask), "{line}");
    }
}

#[tokio::test]
async fn what_only_reads_still_reads_well() {
    let bench = repository().await;
    let long: String = (0..300_000).map(|number| format!("{}\n", number % 1000)).collect();
    bench.write("long", &long);
    for (line, expected) in [
        ("git status --short", " M a\n?? long\n"),
        ("git log --oneline | wc -l", "1\n"),
        ("cat long | sort -u | wc -l", "1000\n"),
        ("git branch --show-current", "main\n"),
        ("ls", "a\nlong\n"),
        ("sed -n 1,1p a", "two\n"),
        ("find . -maxdepth 1 -name a", "./a\n"),
        ("grep -rn two a", "1:two\n"),
    ] {
        let done = bench.run_in(Mode::Ask, "shell", json!({ "command": line })).await;
        assert_eq!(done.content, expected, "{line}");
    }
    let words = json!({ "command": ["bash", "-lc", "git diff | head -1"] });
    assert_eq!(bench.run_in(Mode::Plan, "shell", words).await.content, "diff --git a/a b/a\n");
    let seen = json!({ "action": "start", "command": "git diff --stat", "yield_ms": 30_000 });
    let seen = bench.run_in(Mode::Plan, "unified_exec", seen).await;
    assert!(seen.content.contains("1 file changed"), "{}", seen.content);
    let version = bench.run_in(Mode::Ask, "shell", json!({ "command": "git --version" })).await;
    assert!(version.content.starts_with("git version"), "{}", version.content);
    // What a person allowed is read wherever it is.
    std::fs::write(bench.outside().join("other"), "seen\n").unwrap();
    let other = bench.allowed(Mode::Ask, "shell", json!({ "command": "cat ../other" })).await;
    assert_eq!(other.content, "seen\n");
}
