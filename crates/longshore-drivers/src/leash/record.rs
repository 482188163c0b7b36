//! The record of everything on this run's leash, so that the next run can end it if this one cannot.
//!
//! The record is a file in the hub's folder. Its name is the name of the run's mark. It contains the boot id
//! of the machine, and the processes that carry no mark. Each of these has its pid and start time, so that
//! the record never means another process with the same pid.

use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::kin::ProcessKey;
use super::mark::Mark;

/// The record of this run.
#[derive(Debug)]
pub struct LeashRecord {
    file: PathBuf,
    #[cfg(target_os = "linux")]
    warden: Option<super::warden::StartingWarden>,
}

impl LeashRecord {
    /// Ends the processes that earlier runs left, and starts the record of this run. Blocks until the
    /// processes have ended after a SIGTERM, or were killed. If the folder cannot be written, a warning says
    /// what that means.
    pub fn begin(folder: &Path) -> Self {
        let own = Mark::of_this_process().name();
        let file = folder.join(own);
        if let Err(error) = make_private(folder) {
            tracing::warn!(folder = %folder.display(), %error, "what agents leave if the hub is killed will not be found");
            return Self {
                file,
                #[cfg(target_os = "linux")]
                warden: None,
            };
        }
        #[cfg(target_os = "linux")]
        linux::end_earlier(folder, own);
        #[cfg(target_os = "linux")]
        let warden = super::warden::StartingWarden::begin(own, folder);
        #[cfg(target_os = "linux")]
        match write(&file, &[]) {
            Ok(()) => super::memory::write_to(file.clone()),
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "what agents leave if the hub is killed will not be found");
            }
        }
        Self {
            file,
            #[cfg(target_os = "linux")]
            warden: Some(warden),
        }
    }

    /// Deletes the record, because no process is left.
    pub fn end(self) {
        #[cfg(target_os = "linux")]
        if let Some(warden) = self.warden.and_then(super::warden::StartingWarden::started) {
            warden.dismiss();
        }
        if let Err(error) = std::fs::remove_file(&self.file)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::debug!(file = %self.file.display(), %error, "a record of processes stays");
        }
    }
}

/// Makes the folder private. A user who knows the mark of a run can have its processes ended, so no other
/// user may read it.
fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // An earlier version may have made the folder.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

/// Writes the processes that carry no mark.
#[cfg(target_os = "linux")]
pub(super) fn write(file: &Path, unmarked: &[ProcessKey]) -> io::Result<()> {
    use std::io::Write;

    let mut text = format!("{}\n", linux::boot());
    for who in unmarked {
        text.push_str(&format!("{} {}\n", who.pid, who.start));
    }
    let new = file.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    let mut written = options.create(true).write(true).truncate(true).mode(0o600).open(&new)?;
    written.write_all(text.as_bytes())?;
    std::fs::rename(new, file)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::process::Signal;

    use crate::leash::kin::{self, ProcessEntry, ProcessKey};
    use crate::leash::mark::Mark;
    use crate::leash::sweep;

    /// How long processes may take to end after a SIGTERM.
    const ASKED: Duration = Duration::from_secs(2);
    const PACE: Duration = Duration::from_millis(50);

    /// The boot id of the machine.
    pub(super) fn boot() -> String {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    }

    pub(super) fn end_earlier(folder: &Path, own: &str) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for file in entries.flatten().map(|entry| entry.path()) {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name == own || name.len() != own.len() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                continue;
            }
            let unmarked = std::fs::read_to_string(&file).map(|text| read(&text)).unwrap_or_default();
            end(&Mark::named(name), &unmarked);
            if let Err(error) = std::fs::remove_file(&file) {
                tracing::debug!(file = %file.display(), %error, "a record of processes stays");
            }
        }
    }

    /// The processes of a record. None if the machine was started since then.
    fn read(text: &str) -> HashSet<ProcessKey> {
        let mut lines = text.lines();
        if lines.next() != Some(boot().as_str()) {
            return HashSet::new();
        }
        let who = |line: &str| {
            let (pid, start) = line.split_once(' ')?;
            Some(ProcessKey { pid: pid.parse().ok()?, start: start.parse().ok()? })
        };
        lines.filter_map(who).collect()
    }

    /// Sends a SIGTERM to the processes of a run, and kills the processes that stay.
    fn end(mark: &Mark, unmarked: &HashSet<ProcessKey>) {
        let find = || -> Vec<ProcessEntry> {
            let all = kin::all();
            kin::of(mark, unmarked, &all, &all)
        };
        let left = find();
        if left.is_empty() {
            return;
        }
        tracing::info!(count = left.len(), "ending what a hub left running that was killed");
        left.iter().for_each(|seen| sweep::signal(seen.who, Signal::TERM));
        let until = Instant::now() + ASKED;
        while Instant::now() < until && !find().is_empty() {
            std::thread::park_timeout(PACE);
        }
        sweep::all_of(find);
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn who_was_written_down_before_the_machine_was_started_again_is_nobody() {
            let who = ProcessKey { pid: 7, start: 4711 };
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("record");
            super::super::write(&file, &[who]).unwrap();
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(read(&text), HashSet::from([who]));
            assert_eq!(read(&text.replacen(&boot(), "another", 1)), HashSet::new());
            assert_eq!(read("garbage\n7"), HashSet::new());
        }
    }
}
