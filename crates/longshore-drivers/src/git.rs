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

/// An address without what may be secret in it: users, passwords, and whatever follows the path.
fn without_secrets(remote: &str) -> String {
    // A helper is a program with arguments of its own.
    if let Some((helper, _)) = remote.split_once("::") {
        return format!("{helper}::");
    }
    let plain = remote.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let is_port = |port: &str| port.bytes().all(|figure| figure.is_ascii_digit());
            // What stands after a colon and is no port is a password, even when it has a slash in it.
            let whole = match host.rsplit_once(':') {
                Some((_, port)) if !host.ends_with(']') && !host.contains('@') && !is_port(port) => rest,
                Some(_) | None => host,
            };
            match whole.rsplit_once('@') {
                Some((_, rest)) if whole.len() > host.len() => format!("{scheme}://{rest}"),
                Some((_, host)) => format!("{scheme}://{host}/{path}"),
                None => format!("{scheme}://{host}/{path}"),
            }
        }
        // `git` is nobody's name.
        None => match plain.split_once('@') {
            Some((user, rest)) if user != "git" && !user.contains('/') => rest.to_owned(),
            Some(_) | None => plain.to_owned(),
        },
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
        for (remote, told) in [
            ("https://host.example/x?token=s3cret", "https://host.example/x"),
            ("https://host.example/x#s3cret", "https://host.example/x"),
            ("s3cret@host.example:x", "host.example:x"),
            ("ssh://s3cret@host.example:22/x", "ssh://host.example:22/x"),
            ("https://me:s3/cret@host.example/x", "https://host.example/x"),
            ("https://a@b:s3cret@host.example/x", "https://host.example/x"),
            ("ext::sh -c s3cret", "ext::"),
            ("https://[::1]:8/x", "https://[::1]:8/x"),
            ("https://host.example:8443/a@b/x.git", "https://host.example:8443/a@b/x.git"),
            ("/srv/git/a@b.git", "/srv/git/a@b.git"),
        ] {
            assert_eq!(without_secrets(remote), told);
        }
    }
}
