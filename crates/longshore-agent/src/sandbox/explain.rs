//! Tells the model when the sandbox may be the reason for a failure.

use super::{Reach, Sandbox};

impl Sandbox {
    /// Explains a failure if the sandbox may be the reason. The signs are the command, its exit code (none if a signal
    /// ended it) and its output.
    pub(crate) fn explain(&self, line: &str, exit_code: Option<i64>, printed: &str) -> Option<String> {
        let said = |signs: &[&str]| signs.iter().any(|sign| printed.contains(sign));
        let failed = exit_code != Some(0);
        let reaches_nobody = match failed {
            true => said(&CONNECTION_SIGNS) || said(&NETWORK_SIGNS) || failed_silently(line, exit_code),
            // A command can succeed although a part of it failed: `curl .. | head`. This does not count for commands
            // that only read, because they print texts of others.
            false => self.reach == Reach::All && said(&CONNECTION_SIGNS),
        };
        let is_why = (!self.network && reaches_nobody) || (failed && said(&WRITE_SIGNS));
        if !is_why {
            return None;
        }
        let reach = if self.network { "" } else { ", and it cannot use the network" };
        let able = match &self.reach {
            Reach::All => {
                let folders: Vec<String> =
                    self.writable.iter().map(|folder| folder.display().to_string()).collect();
                let kept = self.kept.iter().any(|path| path.ends_with(".git"));
                let git = match (kept, self.kept.is_empty()) {
                    (true, _) => " (git's own files in it are read-only, unless git is all that a call runs)",
                    (false, false) => " (git's settings and hooks in it are read-only)",
                    (false, true) => "",
                };
                format!("it can write only in {}{git}", folders.join(", "))
            }
            Reach::Only { .. } => {
                "it counts as a command that only reads, so it can read only in the work tree and write nothing"
                    .to_owned()
            }
        };
        Some(format!(
            "[sandbox] The command ran in a sandbox, which may be why it failed: {able}{reach}. \
             If it needs more, call the tool again with \"escalate\": true and a \"reason\"; a person is asked first.",
        ))
    }
}

/// Whether the exit code says that the command did not reach the network. Such a command may print nothing (`curl -s`,
/// `wget -q`).
fn failed_silently(line: &str, exit_code: Option<i64>) -> bool {
    let runs = |program: &str| {
        line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').any(|word| word == program)
    };
    match exit_code {
        // The code means that curl could not resolve the host, or not connect.
        Some(6 | 7) => runs("curl"),
        // The code means a network failure.
        Some(4) => runs("wget"),
        Some(_) | None => false,
    }
}

/// Texts that programs print when they may not write.
const WRITE_SIGNS: [&str; 8] = [
    "Permission denied",
    "permission denied",
    "Operation not permitted",
    "EACCES",
    "EPERM",
    "Read-only file system",
    // These two are the errors for a link or a move across the border of Landlock, and of a view.
    "cross-device link",
    "Device or resource busy",
];
/// Texts that programs print when they reach no host, and hardly ever otherwise.
const CONNECTION_SIGNS: [&str; 9] = [
    "resolve host",
    "name resolution",
    "failure resolving",
    "Name or service not known",
    "Failed to connect to",
    "Couldn't connect to server",
    "Could not connect to server",
    "unable to access 'http",
    "Network is unreachable",
];
/// Further texts that programs print when they may not use the network.
const NETWORK_SIGNS: [&str; 14] = [
    "Permission denied",
    "Operation not permitted",
    "EACCES",
    "EPERM",
    "nodename nor servname",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ECONNREFUSED",
    "getaddrinfo",
    "dns error",
    "no such host",
    "Failed to connect",
    "Could not connect",
    "Unable to connect",
];

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn sandbox(network: bool) -> Sandbox {
        let writable = vec![PathBuf::from("/home/dev")];
        Sandbox { writable, kept: Vec::new(), reach: Reach::All, network }
    }

    #[test]
    fn a_failure_is_explained_only_when_the_sandbox_may_be_why() {
        assert_eq!(sandbox(false).explain("cargo build", Some(101), "error[E0308]: mismatched types"), None);
        let denied = "touch: cannot touch '/etc/x': Permission denied";
        let told = sandbox(false).explain("touch /etc/x", Some(1), denied).unwrap();
        assert!(told.contains("only in /home/dev, and it cannot use the network"), "{told}");
        assert_eq!(sandbox(false).explain("touch /etc/x || true", Some(0), denied), None);
    }

    #[test]
    fn a_network_that_fails_is_explained_whoever_says_so() {
        for printed in [
            "curl: (6) Could not resolve host: example.org",
            "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server",
            "curl: (7) Failed to connect to example.org port 443 after 0 ms: Could not connect to server",
            "wget: unable to resolve host address ‘example.org’",
            "fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org",
            "npm error code ECONNREFUSED",
            "dial tcp: lookup proxy.golang.org: no such host",
            "E: Unable to connect to deb.debian.org:http:",
            "W: Failed to fetch http://deb.debian.org/x  Temporary failure resolving 'deb.debian.org'",
            "connect: Network is unreachable",
        ] {
            assert!(sandbox(false).explain("make deps", Some(1), printed).is_some(), "{printed}");
            assert_eq!(sandbox(true).explain("make deps", Some(1), printed), None, "{printed}");
        }
    }

    #[test]
    fn a_network_that_fails_is_explained_also_in_the_middle_and_in_silence() {
        let told = |line: &str, code: i64, printed: &str| sandbox(false).explain(line, Some(code), printed);
        let refused =
            "curl: (7) Failed to connect to example.org port 443 after 0 ms: Couldn't connect to server";
        assert!(told("curl https://example.org 2>&1 | head", 0, refused).is_some());
        assert!(told("curl -s https://example.org", 6, "").is_some());
        assert!(told("/usr/bin/curl -s https://example.org", 7, "").is_some());
        assert!(told("wget -q https://example.org", 4, "").is_some());
        assert_eq!(told("curly", 7, ""), None);
        assert_eq!(told("curl -sf https://example.org", 22, ""), None, "it was reached");
        let reach = Reach::Only { read: Vec::new(), run: Vec::new() };
        let reader = Sandbox { reach, ..sandbox(false) };
        assert_eq!(reader.explain("cat log", Some(0), refused), None, "these are the words of another");
    }
}
