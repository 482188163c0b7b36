//! The sandbox that commands run in.
//!
//! | kind | writes | reads and runs | network |
//! |---|---|---|---|
//! | [`Sandbox::new`], for commands that may change something | the work tree and temporary folders, but none of git's own files | everything | none, unless it is allowed |
//! | [`Sandbox::reading`], for commands that only read and run without asking | a private temporary folder | the work tree; programs of the system, but none of the work tree | none, and no local sockets |
//!
//! | restriction | mechanism |
//! |---|---|
//! | writing, creating, deleting, renaming, linking outside of the writable folders; reading and running | Landlock, from Linux 5.13 on |
//! | protected places in a writable folder; modes, owners, times and attributes elsewhere | a separate view of the file system, where the system allows one |
//! | TCP, UDP and every other socket except local ones | seccomp: no `socket` but `AF_UNIX`, no `io_uring`; also Landlock, from 6.7 on |
//! | signals to processes outside, abstract local sockets | Landlock, from 6.12 on |
//! | other powers of root | no capabilities except those over files |
//!
//! Not covered for commands that may change something: reading, and local sockets that have a path, because builds need
//! both.

mod explain;
#[cfg(target_os = "linux")]
mod linux;
mod readers;

use std::io;
use std::path::{Path, PathBuf};

use tokio::process::Command;

pub(crate) use readers::search_path;

/// The permissions of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sandbox {
    /// The folders in which the command may write.
    pub(crate) writable: Vec<PathBuf>,
    /// Protected places in these folders. The sandbox makes them read-only, if the system allows it.
    pub(crate) kept: Vec<PathBuf>,
    /// The files that the command may read and run.
    pub(crate) reach: Reach,
    /// Whether it may use the network.
    pub(crate) network: bool,
}

/// The files that a command may read and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All files that the user may read and run.
    All,
    /// Only these files and folders. The command may also read the files that it may run.
    Only {
        /// Files and folders to read.
        read: Vec<PathBuf>,
        /// Files and folders to run.
        run: Vec<PathBuf>,
    },
}

impl Sandbox {
    /// The sandbox of a command that writes in these folders and in the temporary folders of this machine, except in
    /// the protected places.
    pub(crate) fn new(folders: Vec<PathBuf>, kept: Vec<PathBuf>, network: bool) -> Self {
        let mut writable = folders;
        for folder in temporary_folders() {
            if !writable.contains(&folder) {
                writable.push(folder);
            }
        }
        Self { writable, kept, reach: Reach::All, network }
    }

    /// The sandbox of a command that reads these folders, runs no program of them, and writes in its own folder, if
    /// any.
    pub(crate) fn reading(folders: &[PathBuf], own: Option<&Path>) -> Self {
        let (mut read, run) = (readers::files(), readers::programs(folders));
        read.extend(folders.iter().cloned());
        let writable = own.map(Path::to_owned).into_iter().collect();
        Self { writable, kept: Vec::new(), reach: Reach::Only { read, run }, network: false }
    }

    /// The sandbox of a command that reads anything, runs no program of this folder, and writes nowhere.
    pub(crate) fn looking(folder: &Path) -> Self {
        Self::seeing_all(readers::programs(&[folder.to_owned()]))
    }

    /// The sandbox of a git that reads anything, writes nowhere, and runs only programs of git, without a shell.
    pub(crate) fn of_git_alone(folder: &Path) -> Self {
        Self::seeing_all(readers::git(&[folder.to_owned()]))
    }

    fn seeing_all(run: Vec<PathBuf>) -> Self {
        let read = vec![PathBuf::from("/")];
        Self { writable: Vec::new(), kept: Vec::new(), reach: Reach::Only { read, run }, network: false }
    }

    /// Makes a command start inside of the sandbox. Other steps between fork and exec that depend on the user's
    /// identity must be added after this call.
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
    pub(crate) fn lock(&self, command: &mut Command, cwd: &Path) -> io::Result<()> {
        let mut lock = linux::Lock::new(self, cwd)?;
        // SAFETY: it makes system calls that take no memory and no lock.
        unsafe { command.pre_exec(move || lock.enter()) };
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn lock(&self, _: &mut Command, _: &Path) -> io::Result<()> {
        Err(io::Error::other("there is no sandbox on this system"))
    }
}

/// Whether this system can protect places in a writable folder.
#[cfg(target_os = "linux")]
pub(crate) fn keeps() -> bool {
    linux::keeps()
}

/// Whether this system can protect places in a writable folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn keeps() -> bool {
    false
}

/// Whether this system has a sandbox, or why not. A thread tries it.
#[cfg(target_os = "linux")]
pub(crate) fn available() -> Result<(), String> {
    linux::try_it(&Sandbox::new(Vec::new(), Vec::new(), false)).map_err(|error| error.to_string())
}

/// Whether this system has a sandbox, or why not.
#[cfg(not(target_os = "linux"))]
pub(crate) fn available() -> Result<(), String> {
    Err("there is no sandbox on this system".to_owned())
}

/// The temporary folders that exist on this machine.
pub(crate) fn temporary_folders() -> Vec<PathBuf> {
    let known = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut folders = vec![std::env::temp_dir()];
    folders.extend(known);
    folders.retain(|folder| folder.is_dir());
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a shell in this sandbox.
    async fn said(sandbox: &Sandbox, cwd: &Path, line: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(cwd);
        sandbox.lock(&mut command, cwd).unwrap();
        let output = command.output().await.unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    #[tokio::test]
    async fn a_reader_reads_its_folder_and_does_nothing_else() {
        available().expect("this test wants Linux with Landlock (5.13 or later)");
        let around = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (tree, own) = (around.path().join("tree"), around.path().join("own"));
        std::fs::create_dir(&tree).unwrap();
        std::fs::create_dir(&own).unwrap();
        std::fs::write(around.path().join("secret"), "the secret").unwrap();
        std::fs::write(tree.join("a"), "words").unwrap();
        std::fs::copy("/bin/echo", tree.join("program")).unwrap();
        let sandbox = Sandbox::reading(std::slice::from_ref(&tree), Some(&own));
        assert_eq!(said(&sandbox, &tree, "cat a").await, "words");
        assert_eq!(said(&sandbox, &tree, "echo x > ../own/b && cat ../own/b").await, "x\n");
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for line in [
            "cat ../secret".to_owned(),
            "ls ..".to_owned(),
            "./program ran".to_owned(),
            "cp program ../own/program && ../own/program ran".to_owned(),
            "echo ran > b; cat b".to_owned(),
            "rm a && echo ran".to_owned(),
            "chmod 700 a && echo ran".to_owned(),
            "touch -d 2001-01-01 a && echo ran".to_owned(),
            format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo ran'"),
            "cat /proc/$PPID/environ && echo ran".to_owned(),
        ] {
            let said = said(&sandbox, &tree, &line).await;
            assert!(
                !said.contains("the secret") && !said.lines().any(|line| line == "ran"),
                "{line}: {said}"
            );
            assert!(said.to_lowercase().contains("denied") || said.contains("ead-only"), "{line}: {said}");
        }
        assert_eq!(std::fs::read_to_string(tree.join("a")).unwrap(), "words");
        // A command that may read anywhere still runs no program of the folder.
        let looking = Sandbox::looking(&tree);
        assert_eq!(said(&looking, &tree, "cat ../secret").await, "the secret");
        assert!(said(&looking, &tree, "./program ran").await.contains("denied"));
        // The sandbox of git has no shell.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "true"]).current_dir(&tree);
        Sandbox::of_git_alone(&tree).lock(&mut shell, &tree).unwrap();
        assert_eq!(shell.output().await.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
