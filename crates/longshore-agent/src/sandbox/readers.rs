//! The parts of the system that commands need when they only read: their programs, and the files of these
//! programs.
//!
//! The folders of `PATH` count as the system's, unless they are in the work tree or in a temporary folder,
//! where the files to be read could include programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::temporary_folders;

/// The places where systems keep programs and their files.
const SYSTEM: [&str; 17] = [
    // Only parts of `/usr`: work trees may lie in `/usr/src`.
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
];
/// The places in a home folder where people keep programs.
const AT_HOME: [&str; 6] =
    [".rustup/toolchains", ".nvm/versions", ".volta", ".asdf", ".pyenv", ".local/share/mise"];
/// Folders beside a folder of programs that belong to these programs.
const BESIDE: [&str; 3] = ["lib", "lib64", "libexec"];
/// Files of the system that programs read. None of them is secret.
const FILES: [&str; 24] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/magic",
    "/etc/magic.mime",
    "/etc/mime.types",
    "/etc/terminfo",
    "/etc/inputrc",
    "/etc/DIR_COLORS",
    "/etc/ssl/openssl.cnf",
    "/etc/static",
    "/proc/sys/vm/overcommit_memory",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
];

/// Files that every program may read.
pub(super) fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    files.extend(std::env::home_dir().map(|home| home.join(".rustup/settings.toml")));
    files
}

/// The programs of this machine, except programs in these folders.
pub(super) fn programs(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    if let Some(home) = std::env::home_dir() {
        found.extend(AT_HOME.iter().map(|name| home.join(name)));
    }
    for folder in search_folders(folders) {
        if folder.ends_with("bin")
            && let Some(around) = folder.parent()
        {
            found.extend(BESIDE.iter().map(|name| around.join(name)));
        }
        found.push(folder);
    }
    found.retain(|folder| is_foreign(folder, folders));
    found
}

/// Git, its own programs, and the folders of libraries, which contain the program that starts programs. Git starts the
/// programs that a repository names with a shell, and this list has no shell.
pub(super) fn git(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    found.retain(|folder| !folder.ends_with("bin") && !folder.ends_with("sbin") && !folder.ends_with("opt"));
    for folder in search_folders(folders) {
        found.extend(BESIDE.iter().filter_map(|name| folder.parent().map(|around| around.join(name))));
        found.push(folder.join("git"));
    }
    found.retain(|place| is_foreign(place, folders));
    found
}

/// The `PATH` of a command that runs no program of these folders.
pub(crate) fn search_path(folders: &[PathBuf]) -> OsString {
    let path = std::env::join_paths(search_folders(folders)).unwrap_or_default();
    // An empty `PATH` would mean the working folder of the command.
    if path.is_empty() { "/dev/null".into() } else { path }
}

fn search_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && is_foreign(folder, folders))
        .collect()
}

/// Whether a place lies outside of these folders and of the temporary folders, and contains none of these folders.
fn is_foreign(place: &Path, folders: &[PathBuf]) -> bool {
    let Ok(place) = place.canonicalize() else { return false };
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    let lies_in = |folder: &PathBuf| place.starts_with(real(folder));
    let holds = |folder: &PathBuf| real(folder).starts_with(&place);
    !temporary_folders().iter().any(lies_in) && !folders.iter().any(|folder| lies_in(folder) || holds(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_work_tree_or_of_a_temporary_folder_is_none_of_the_systems() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_foreign(folder.path(), &[]));
        let usr = PathBuf::from("/usr");
        assert!(is_foreign(&usr, &[PathBuf::from("/etc")]));
        assert!(!is_foreign(Path::new("/usr/bin"), std::slice::from_ref(&usr)));
        assert!(!is_foreign(&usr, &[PathBuf::from("/usr/lib")]));
        assert!(is_foreign(Path::new("/usr/bin"), &[PathBuf::from("/usr/src/app")]));
        assert!(!is_foreign(Path::new("/no/such/folder"), &[]));
    }

    #[test]
    fn programs_are_not_looked_for_in_the_work_tree() {
        let path = std::env::var_os("PATH").unwrap();
        let first =
            std::env::split_paths(&path).find(|folder| folder.is_absolute() && folder.is_dir()).unwrap();
        let all = search_path(&[]);
        assert!(std::env::split_paths(&all).any(|folder| folder == first), "{all:?}");
        let others = search_path(std::slice::from_ref(&first));
        assert!(!std::env::split_paths(&others).any(|folder| folder == first), "{others:?}");
        assert!(!std::env::split_paths(&others).any(|folder| folder.is_relative()), "{others:?}");
        // If all programs lie in the work tree, no folder is left. The path must not mean the working folder.
        assert_eq!(search_path(&[PathBuf::from("/")]), "/dev/null");
    }
}
