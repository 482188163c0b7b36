//! Where a work tree stands, as `git` itself tells.

use std::process::Stdio;
use std::time::Duration;

use longshore_model::lifecycle::GitState;
use tokio::process::Command;

/// How long `git` may take; a work tree on a slow disk must not hold a turn's end back.
const WITHIN: Duration = Duration::from_secs(5);

/// The state of a work tree; none when it is no work tree of git, or git does not answer.
pub(crate) async fn look_at(cwd: &str) -> Option<GitState> {
    let status = git(cwd, &["status", "--porcelain=v2", "--branch", "--untracked-files=normal"]).await?;
    let remote = git(cwd, &["remote", "get-url", "origin"]).await;
    let remote = remote.map(|remote| without_secrets(remote.trim())).filter(|remote| !remote.is_empty());
    Some(GitState { remote, ..parse(&status) })
}

async fn git(cwd: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(cwd)
        // A look must not take the lock that an agent's own git may want.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(WITHIN, output).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
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

/// An address without the user and password that it may carry.
fn without_secrets(remote: &str) -> String {
    match remote.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}/{path}")
        }
        None => remote.to_owned(),
    }
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

    #[test]
    fn a_remote_is_told_without_its_password() {
        assert_eq!(without_secrets("https://me:secret@host.example/a/b.git"), "https://host.example/a/b.git");
        assert_eq!(without_secrets("git@host.example:a/b.git"), "git@host.example:a/b.git");
    }
}
