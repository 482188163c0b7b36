//! Commands that would like to have git run their programs, later and outside of the sandbox.

use std::os::unix::fs::PermissionsExt;

use longshore_agent::tools::CallVerdict;
use longshore_model::capability::Mode;
use serde_json::json;

use super::git::repository;
use super::{Bench, call};

/// Everything in git's own folder that could make it run something, as one text.
fn own(bench: &Bench) -> String {
    let mut all = bench.read(".git/config");
    for entry in std::fs::read_dir(bench.root().join(".git/hooks")).unwrap().flatten() {
        all.push_str(&format!("{}\n", entry.path().display()));
    }
    all
}

#[tokio::test]
async fn settings_and_hooks_of_git_are_kept_from_commands() {
    let bench = repository().await;
    bench.assert_view();
    bench.git(&["init", "-q", "nested"]);
    bench.git(&["init", "-q", "deep/er"]);
    let before = own(&bench);
    for line in [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "sh -c 'cd .git && cp config c && echo x >> c && mv c config'",
        "mv .git old; mkdir .git; echo x > .git/config; test -e old",
        "rm -rf .git",
        "sh -c 'git config core.fsmonitor evil'",
        "echo ../evil > .git/commondir",
        "ln -s /tmp .git/hooks/x",
        "chmod 777 .git/config",
        "echo x >> nested/.git/config",
        "rm -rf nested/.git",
        "mv deep/er/.git deep/er/old",
        "echo x > deep/er/.git/hooks/pre-commit",
        "mv nested old && mkdir -p nested/.git",
        "mv deep/er deep/old && mkdir -p deep/er/.git",
        "mv deep old && mkdir -p deep/er/.git",
        "python3 -c \"open('.git/hooks/pre-push','w')\"",
    ] {
        for mode in [Mode::Ask, Mode::AutoEdit] {
            let failed = bench.allowed(mode, "shell", json!({ "command": line })).await;
            assert!(!failed.success, "{line}: {}", failed.content);
            assert_eq!(own(&bench), before, "{line}");
            assert!(
                bench.root().join("nested/.git/config").exists()
                    && bench.root().join("deep/er/.git").is_dir()
            );
            assert!(!bench.root().join("deep/er/.git/hooks/pre-commit").exists(), "{line}");
            assert!(!bench.root().join(".git/commondir").exists(), "{line}");
            assert!(
                failed.content.contains("git's own files in it are read-only"),
                "{line}: {}",
                failed.content
            );
        }
    }
    // The rest of the work tree is theirs, also at its top.
    let done = bench
        .allowed(
            Mode::Ask,
            "shell",
            json!({ "command": "mkdir new && mv a new/a && echo x > top && git status --short | cat" }),
        )
        .await;
    assert!(done.success && done.content.contains("?? top"), "{}", done.content);
    let full = bench.run("shell", json!({ "command": "echo '# mine' >> .git/config" })).await;
    assert!(full.success, "{}", full.content);
}

#[tokio::test]
async fn git_itself_commits_and_only_a_person_has_it_change_its_settings() {
    let bench = repository().await;
    bench.assert_view();
    bench.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho x >> .git/config; echo x > .git/hooks/post-commit; mv .git old && cp -r old .git\n\
         echo ../evil > .git/commondir; echo x > .git/config.worktree; true\n",
    );
    let hook = bench.root().join(".git/hooks/pre-commit");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let before = own(&bench);
    let commit = "git add a && git -c user.name=a -c user.email=a@example.org commit -q -m 'second one' && git log --oneline";
    let done = bench.allowed(Mode::Ask, "shell", json!({ "command": commit })).await;
    assert!(done.content.contains("second one") || done.content.contains("commondir"), "{}", done.content);
    assert_eq!(own(&bench), before);
    for name in ["commondir", "config.worktree"] {
        assert!(!bench.root().join(".git").join(name).exists(), "{name}: {}", done.content);
        assert!(
            done.content.contains(&format!("{name}, which can make git run programs")),
            "{}",
            done.content
        );
    }
    assert!(!bench.root().join("old").exists(), "{}", done.content);
    std::fs::remove_file(bench.root().join(".git/hooks/pre-commit")).unwrap();
    let before = own(&bench);
    bench.write("a", "four\n");
    let done = bench.allowed(Mode::Ask, "shell", json!({ "command": commit })).await;
    assert!(done.success && done.content.contains("second one"), "{}", done.content);
    // A rule is no person.
    bench.tools.allow(&["git config".to_owned()]);
    let ruled =
        bench.run_in(Mode::Ask, "shell", json!({ "command": "git config core.fsmonitor evil" })).await;
    assert!(
        !ruled.success && ruled.content.contains("git's settings and hooks in it are read-only"),
        "{}",
        ruled.content
    );
    assert_eq!(own(&bench), before);
    let done = bench.allowed(Mode::Ask, "shell", json!({ "command": "git config user.name ada" })).await;
    assert!(done.success, "{}", done.content);
    assert_eq!(bench.git(&["config", "--local", "user.name"]), "ada\n");
}

#[tokio::test]
async fn edits_of_hooks_ask_wherever_they_are_kept() {
    let bench = repository().await;
    bench.write(".husky/pre-commit", "true\n");
    bench.git(&["config", "core.hooksPath", ".husky"]);
    let verdict = |path: &str| {
        let write = json!({ "path": path, "content": "evil\n" });
        bench.tools.verdict(&call("write_file", write), Mode::AutoEdit)
    };
    bench.git(&["config", "include.path", "../.gitconfig"]);
    for path in [".husky/pre-commit", ".git/config", "sub/.git/config", ".GIT/config", ".gitconfig"] {
        let CallVerdict::Ask(ask) = verdict(path) else { panic!("{path} does not ask") };
        assert!(ask.reason.contains("git's own files"), "{path}: {}", ask.reason);
    }
    assert_eq!(verdict("other/pre-commit"), CallVerdict::Go);
    bench.assert_view();
    let failed =
        bench.allowed(Mode::Ask, "shell", json!({ "command": "echo evil > .husky/pre-commit" })).await;
    assert!(!failed.success, "{}", failed.content);
    assert_eq!(bench.read(".husky/pre-commit"), "true\n");
    // What is not there yet can be made, and is taken away.
    let made = bench.allowed(Mode::Ask, "shell", json!({ "command": "echo evil > .gitconfig" })).await;
    assert!(made.content.contains(".gitconfig, which can make git run programs"), "{}", made.content);
    assert!(!bench.root().join(".gitconfig").exists());
    bench.git(&["config", "core.hooksPath", "not/yet"]);
    let failed = bench
        .allowed(Mode::Ask, "shell", json!({ "command": "mkdir -p not/yet; echo evil > not/yet/pre-push" }))
        .await;
    assert!(!failed.success && !bench.root().join("not/yet/pre-push").exists(), "{}", failed.content);
    let CallVerdict::Ask(_) = verdict("not/yet/pre-push") else { panic!("a hook does not ask") };
}

/// What is to be kept is not known then.
#[tokio::test]
async fn where_git_does_not_tell_its_settings_nothing_is_changed_unasked() {
    let bench = repository().await;
    bench.write(".husky/pre-commit", "true\n");
    let hidden = format!("[x \"{}\"]\n\ty = 1\n[core]\n\thooksPath = .husky\n", "a".repeat(5 << 20));
    bench.write(".git/config", &(bench.read(".git/config") + &hidden));
    let write = json!({ "path": ".husky/pre-commit", "content": "evil\n" });
    let verdict = bench.tools.verdict(&call("write_file", write), Mode::AutoEdit);
    let CallVerdict::Ask(ask) = verdict else { panic!("{verdict:?}") };
    assert!(ask.reason.contains("does not report its settings"), "{}", ask.reason);
    let evil = json!({ "command": "echo evil > .husky/pre-commit" });
    let refused = bench.allowed(Mode::Ask, "shell", evil.clone()).await;
    assert!(refused.content.contains("git does not tell its settings here"), "{}", refused.content);
    assert_eq!(bench.read(".husky/pre-commit"), "true\n");
    let escalated = json!({ "command": "echo mine > .husky/pre-commit", "escalate": true });
    assert!(bench.allowed(Mode::Ask, "shell", escalated).await.success);
    assert!(bench.run_in(Mode::Full, "shell", evil).await.success);
    // What only reads goes on, but for git.
    assert_eq!(bench.run_in(Mode::Plan, "shell", json!({ "command": "cat a" })).await.content, "two\n");
    let status = bench.run_in(Mode::Plan, "shell", json!({ "command": "git status" })).await;
    assert!(status.content.contains("not a git repository"), "{}", status.content);
}

/// A folder that the index counts as a submodule, and that a clone leaves empty. Git looks into it when it is asked at the top.
fn count_as_submodule(bench: &Bench, repository: &str, path: &str) {
    let entry = format!("160000,{},{path}", "1".repeat(40));
    bench.git(&["-C", repository, "update-index", "--add", "--cacheinfo", &entry]);
    std::fs::create_dir_all(bench.root().join(repository).join(path)).unwrap();
}

/// A line that makes a repository in a folder, with a setting that leaves a mark when git looks at it.
fn trap(folder: &str, mark: &std::path::Path) -> String {
    format!(
        "(cd {folder} && git init -q . && git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m x \
         && git config core.fsmonitor 'touch {};')",
        mark.display()
    )
}

#[tokio::test]
async fn no_command_makes_a_repository_of_a_folder_that_counts_as_a_submodule() {
    let bench = repository().await;
    bench.assert_view();
    let mark = bench.outside().join("ran");
    bench.write(".gitmodules", "[submodule \"named\"]\n\tpath = named\n\turl = ../named\n");
    for (repository, folder) in
        [(".", "bare"), (".", "named"), (".", "some/five/folders/deep/er"), ("filled", "filled/inner")]
    {
        if repository != "." {
            count_as_submodule(&bench, ".", repository);
            bench.git(&["init", "-q", repository]);
            bench.git(&["-C", repository, "commit", "-q", "--allow-empty", "-m", "first"]);
        }
        count_as_submodule(&bench, repository, folder.trim_start_matches("filled/"));
        let made_elsewhere = format!(
            "mkdir made; {}; mv made/.git store; echo 'gitdir: '$PWD/store > {folder}/.git",
            trap("made", &mark)
        );
        let locked = format!("{}; chmod 0 {folder}/.git/refs; chmod 555 {folder}", trap(folder, &mark));
        let by_git = "git -c alias.x='!sh t.sh' x".to_owned();
        bench.write("t.sh", &trap(folder, &mark));
        for line in [trap(folder, &mark), made_elsewhere, locked, "sh t.sh".to_owned(), by_git] {
            for mode in [Mode::Ask, Mode::AutoEdit] {
                let done = bench.allowed(mode, "shell", json!({ "command": line })).await;
                let notice = format!("{folder}/.git, which can make git run programs. The agent removed it.");
                assert!(done.content.contains(&notice), "{line}: {}", done.content);
                assert!(bench.root().join(folder).join(".git").symlink_metadata().is_err(), "{line}");
                bench.git(&["status"]);
                assert!(!mark.exists(), "{line}");
                let _ = std::fs::remove_dir_all(bench.root().join("store"));
            }
        }
    }
}

#[tokio::test]
async fn a_submodule_is_kept_as_deep_as_it_lies() {
    let bench = repository().await;
    bench.assert_view();
    let folder = "some/five/folders/deep/er";
    count_as_submodule(&bench, ".", folder);
    bench.git(&["init", "-q", folder]);
    let evil = json!({ "command": format!("git -C {folder} config core.fsmonitor evil; echo x >> {folder}/.git/config") });
    let failed = bench.allowed(Mode::Ask, "shell", evil).await;
    assert!(
        !failed.success && !bench.read(format!("{folder}/.git/config")).contains("evil"),
        "{}",
        failed.content
    );
}

#[tokio::test]
async fn what_is_taken_away_is_never_what_a_link_leads_to() {
    let bench = repository().await;
    count_as_submodule(&bench, ".", "bare");
    let other = bench.outside().join("other");
    bench.git(&["init", "-q", other.to_str().unwrap()]);
    let link = json!({ "command": format!("rmdir bare && ln -s {} bare", other.display()) });
    let done = bench.allowed(Mode::Ask, "shell", link).await;
    assert!(done.success, "{}", done.content);
    assert!(other.join(".git/config").exists(), "{}", done.content);
}
