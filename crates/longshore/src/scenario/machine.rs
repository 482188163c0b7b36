//! What the machine shows of an agent: its processes and the files that it wrote.

use std::path::Path;

use rustix::process::Pid;

/// A process that works in this folder.
pub(super) fn works_in(work: &Path) -> Option<Pid> {
    let mut all = std::fs::read_dir("/proc").ok()?.flatten();
    let here = all.find(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == work))?;
    Pid::from_raw(here.file_name().to_str()?.parse().ok()?)
}

/// Whether a process that works in this folder has these words in its command line. On a machine that does
/// not tell the folder of a process, only the words count.
pub(super) fn runs_in(work: &Path, words: &str) -> bool {
    let Ok(all) = std::fs::read_dir("/proc") else {
        let listed = std::process::Command::new("ps").args(["-A", "-o", "args="]).output();
        return listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains(words));
    };
    all.flatten().any(|entry| {
        let at = entry.path();
        let line = std::fs::read(at.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words) && std::fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd == work)
    })
}

/// Whether a file in this folder, or below it, contains these words.
pub(super) fn holds(folder: &Path, words: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => holds(&entry.path(), words),
        Ok(kind) if kind.is_file() => std::fs::read(entry.path())
            .is_ok_and(|bytes| bytes.windows(words.len()).any(|window| window == words.as_bytes())),
        _ => false,
    })
}

/// Whether a file has this line.
pub(super) fn has_line(file: &Path, line: &str) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(|one| one == line))
}
