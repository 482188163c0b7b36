//! The address of a git remote, without secrets.

/// An address without its possible secrets: users, passwords, and the query after the path.
pub fn without_secrets(remote: &str) -> String {
    // A helper is a program with its own arguments.
    if let Some((helper, _)) = remote.split_once("::")
        && helper.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    {
        return format!("{helper}::");
    }
    let plain = remote.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let is_port = |port: &str| port.bytes().all(|figure| figure.is_ascii_digit());
            // Text after a colon that is not a port is a password, even if it contains a slash.
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
        // `git` is not a person's name. A path may contain an `@`. If there is a colon before the `@`, the
        // text may be a password.
        None => match (plain.split_once('@'), plain.rsplit_once('@')) {
            (Some((user, _)), Some((_, rest))) if user.contains(':') => rest.to_owned(),
            (Some((user, rest)), _) if user != "git" && !user.contains('/') => rest.to_owned(),
            (_, _) => plain.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("//me:s3cret@host.example/x", "host.example/x"),
            ("https:/me:s3@cret@host.example/x", "host.example/x"),
            ("ext::sh -c s3cret", "ext::"),
            ("https://[::1]:8/x", "https://[::1]:8/x"),
            ("https://host.example:8443/a@b/x.git", "https://host.example:8443/a@b/x.git"),
            ("/srv/git/a@b.git", "/srv/git/a@b.git"),
        ] {
            assert_eq!(without_secrets(remote), told);
        }
    }
}
