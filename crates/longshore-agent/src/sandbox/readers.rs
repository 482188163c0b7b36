//! The parts of the system that commands need when they only read: their programs, and the files of these
//! programs.
//!
//! The folders of `PATH` count as the system's, unless they are in the work tree or in a temporary folder,
//! where the files to be read could include programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::temporary_folders;

/// Where systems keep their programs and what belongs to them.
const SYSTEM: [&str; 17] = [
    // Not all of it: work trees lie in /usr/src.
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
/// Where people keep theirs, in their home folder.
const AT_HOME: [&str; 6] =
    [".rustup/toolchains", ".nvm/versions", ".volta", ".asdf", ".pyenv", ".local/share/mise"];
/// What lies beside a folder of programs and belongs to them.
const BESIDE: [&str; 3] = ["lib", "lib64", "libexec"];
/// Files of the system that programs look at. None of them is secret.
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

/// Files that programs look at, whatever they are to read.
pub(super) fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    files.extend(std::env::home_dir().map(|home| home.join(".rustup/settings.toml")));
    files
}

/// The programs of this machine, but for those of these folders.
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

/// Git, its own programs, and the folders of libraries, in which the program lies that starts programs. What a
/// repository names is started by a shell, and there is none.
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
    // One that is empty would be the folder that the command runs in.
    if path.is_empty() { "/dev/null".into() } else { path }
}

fn search_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && is_foreign(folder, folders))
        .collect()
}

/// Whether a place lies neither in one of these folders nor in a temporary one, nor holds one of these.
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
        // Where all there is lies in the work tree, nothing is left, and not the folder that one stands in.
        assert_eq!(search_path(&[PathBuf::from("/")]), "/dev/null");
    }
}
