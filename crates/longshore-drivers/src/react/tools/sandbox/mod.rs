//! The sandbox that commands run in: they write in the work tree and in temporary folders only, and reach no network.
//!
//! | what | how |
//! |---|---|
//! | writing, creating, deleting, renaming, linking outside of the writable folders | Landlock, from Linux 5.13 on |
//! | TCP, UDP and every other socket than local ones | seccomp: no `socket` but `AF_UNIX`, no `io_uring`; Landlock besides, from 6.7 on |
//! | signals to processes outside, abstract local sockets | Landlock, from 6.12 on |
//!
//! Not covered: reading, and local sockets that have a path, because builds need both.
//!
//! A domain of Landlock and a filter of seccomp belong to a thread and to what it starts. So a command is started from a
//! thread that first locks itself in; nothing of it has to run between fork and exec. The thread then waits for as long
//! as somebody holds its [`Keeper`], because the leash ends what a thread started when the thread ends.

#[cfg(target_os = "linux")]
mod linux;
mod worktree;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// What a command may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sandbox {
    /// The folders that it may write in.
    pub(super) writable: Vec<PathBuf>,
    /// Whether it may use the network.
    pub(super) network: bool,
}

/// Keeps the thread that started something.
#[derive(Debug)]
pub(super) struct Keeper {
    _thread: mpsc::Sender<()>,
}

impl Sandbox {
    /// For a work tree, with what git keeps of it elsewhere and the temporary folders of this machine.
    pub(super) fn new(tree: Option<&Path>, network: bool) -> Self {
        let temporary = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
        let mut writable: Vec<PathBuf> = tree.map(Path::to_owned).into_iter().collect();
        writable.extend(tree.map(worktree::git_folders).unwrap_or_default());
        for folder in temporary.into_iter().filter(|folder| folder.is_dir()) {
            if !writable.contains(&folder) {
                writable.push(folder);
            }
        }
        Self { writable, network }
    }

    /// Starts something inside of it, which ends with its keeper at the latest.
    pub(super) fn start<T: Send + 'static>(
        &self,
        start: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<(T, Keeper)> {
        let (runtime, sandbox) = (tokio::runtime::Handle::current(), self.clone());
        let (tell, told) = mpsc::sync_channel(1);
        let (keep, kept) = mpsc::channel::<()>();
        std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            let started = sandbox.enter().and_then(|()| {
                let _runtime = runtime.enter();
                start()
            });
            let has_started = started.is_ok();
            if tell.send(started).is_ok() && has_started {
                // Nothing is ever said; it ends when nobody could any more.
                let _ = kept.recv();
            }
        })?;
        let started = told.recv().map_err(|_| io::Error::other("the thread of the sandbox panicked"))?;
        Ok((started?, Keeper { _thread: keep }))
    }

    #[cfg(target_os = "linux")]
    fn enter(&self) -> io::Result<()> {
        linux::enter(self)
    }

    #[cfg(not(target_os = "linux"))]
    fn enter(&self) -> io::Result<()> {
        Err(io::Error::other("there is no sandbox on this system"))
    }

    /// What the model is told when a command failed and the sandbox may be why.
    pub(super) fn explain(&self, printed: &str) -> Option<String> {
        let said = |signs: &[&str]| signs.iter().any(|sign| printed.contains(sign));
        let network = !self.network && said(&NETWORK_SIGNS);
        if !network && !said(&WRITE_SIGNS) {
            return None;
        }
        let folders: Vec<String> = self.writable.iter().map(|folder| folder.display().to_string()).collect();
        let reach = if self.network { "" } else { ", and it cannot use the network" };
        Some(format!(
            "[sandbox] The command ran in a sandbox, which may be why it failed: it can write only in {}{reach}. \
             If it needs more, call the tool again with \"escalate\": true and a \"reason\"; a person is asked first.",
            folders.join(", "),
        ))
    }
}

/// What programs print when they may not write.
const WRITE_SIGNS: [&str; 7] = [
    "Permission denied",
    "permission denied",
    "Operation not permitted",
    "EACCES",
    "EPERM",
    "Read-only file system",
    // What Landlock makes of a link or a move across its border.
    "cross-device link",
];
/// What programs print when they may not use the network.
const NETWORK_SIGNS: [&str; 11] = [
    "Permission denied",
    "Operation not permitted",
    "EACCES",
    "EPERM",
    "resolve host",
    "name resolution",
    "Name or service not known",
    "EAI_AGAIN",
    "ENOTFOUND",
    "getaddrinfo",
    "dns error",
];

/// Whether commands can be locked in here, or why not: a thread tries it.
pub(super) fn available() -> Result<(), String> {
    let sandbox = Sandbox::new(None, false);
    let tried = std::thread::scope(|scope| scope.spawn(|| sandbox.enter()).join());
    match tried {
        Ok(entered) => entered.map_err(|error| error.to_string()),
        Err(_) => Err("the thread of the sandbox panicked".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_explained_only_when_the_sandbox_may_be_why() {
        let sandbox = Sandbox { writable: vec![PathBuf::from("/home/dev")], network: false };
        assert_eq!(sandbox.explain("error[E0308]: mismatched types"), None);
        let told = sandbox.explain("touch: cannot touch '/etc/x': Permission denied").unwrap();
        assert!(told.contains("only in /home/dev, and it cannot use the network"), "{told}");
        assert!(sandbox.explain("curl: (6) Could not resolve host: example.org").is_some());
        let open = Sandbox { network: true, ..sandbox };
        assert_eq!(open.explain("curl: (6) Could not resolve host: example.org"), None);
    }
}
