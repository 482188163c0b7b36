//! The files of git that can make git run programs.
//!
//! These files are settings, hooks, and files elsewhere that the settings name. A `.git` in the place of the real
//! `.git` belongs to them too. So does a `.git` in a folder that the index counts as a submodule: git reads that `.git`
//! when git runs at the top of the work tree.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::places::{text, worktree};
use super::quiet::{Quiet, answer, answer_with};
use crate::sandbox::search_path;
use longshore_drivers::keyless::keyless;

/// How many submodules and nested repositories the agent considers.
const MOST: usize = 256;
/// Files in a folder of git's own that can make git run programs, or read settings elsewhere.
const SETTINGS: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "gitdir"];

/// Other files in a work tree from which git takes settings and hooks. The files need not exist.
#[derive(Debug)]
pub(crate) struct Sources {
    files: Vec<PathBuf>,
    hooks: Option<PathBuf>,
}

impl Sources {
    /// Asks git for these files, including the files that a person's settings for all repositories name. Returns none
    /// if git does not report all of its settings.
    pub(crate) fn of(tree: &Path) -> Option<Self> {
        let root = tree.canonicalize().ok()?;
        let mut git = keyless("git");
        git.args(["config", "--list", "--show-origin", "--includes", "-z"]).current_dir(&root);
        git.env("PATH", search_path(std::slice::from_ref(&root)));
        let within = |path: PathBuf| {
            let is_there =
                |folder: &Path| Some(folder.canonicalize().ok()?.join(path.strip_prefix(folder).ok()?));
            let real = path.ancestors().find_map(is_there);
            real.filter(|path| *path != root && path.starts_with(&root))
        };
        let (mut files, mut hooks) = (Vec::new(), None);
        for told in answer(&mut git)?.parts.chunks_exact(2) {
            let [origin, setting] = told else { continue };
            let Some(file) = origin.as_bytes().strip_prefix(b"file:") else { continue };
            let file = root.join(OsStr::from_bytes(file));
            let mut parts = setting.as_bytes().splitn(2, |byte| *byte == b'\n');
            let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let value = Path::new(OsStr::from_bytes(value));
            if name == b"core.hookspath" {
                hooks = Some(root.join(value));
            } else if name.starts_with(b"include") && name.ends_with(b".path") {
                files.extend(file.parent().map(|folder| folder.join(value)));
            }
            files.push(file);
        }
        files.sort();
        files.dedup();
        let files = files.into_iter().filter_map(within).collect();
        Some(Self { files, hooks: hooks.and_then(within) })
    }

    /// Whether a path is one of these files, or lies in the folder of hooks.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file == path)
            || self.hooks.as_ref().is_some_and(|hooks| path.starts_with(hooks))
    }

    fn paths(&self) -> impl Iterator<Item = PathBuf> {
        if let Some(hooks) = &self.hooks {
            // A command could create a missing folder, and nothing can protect a missing one. An empty folder of hooks
            // has no effect.
            let _ = fs::create_dir_all(hooks);
        }
        self.files.iter().chain(&self.hooks).cloned()
    }
}

/// The folders of a work tree that the index counts as submodules, whether `.gitmodules` names them or not, and the
/// submodules of these submodules. Returns none if git does not report all of them.
pub(crate) fn submodules(tree: &Path) -> Option<Vec<PathBuf>> {
    let mut all = counted(&tree.canonicalize().ok()?)?;
    let (mut at, mut asked) = (0, 0);
    while let Some(folder) = all.get(at).filter(|_| asked < MOST) {
        if folder.join(".git").exists() {
            asked += 1;
            all.extend(counted(folder)?);
        }
        at += 1;
    }
    Some(all)
}

/// The submodules that one index counts.
fn counted(root: &Path) -> Option<Vec<PathBuf>> {
    const MODE: &[u8] = b"160000 ";
    let mut git = keyless("git");
    git.args(["ls-files", "--stage", "-z"]).current_dir(root);
    git.envs(Quiet::unasked(root).variables()).env("PATH", search_path(&[root.to_owned()]));
    let told = answer_with(&mut git, |entry| entry.starts_with(MODE))?.parts;
    let path = |entry: OsString| {
        let at = entry.as_bytes().iter().position(|byte| *byte == b'\t')?;
        Some(root.join(OsStr::from_bytes(entry.as_bytes().get(at + 1..)?)))
    };
    Some(told.into_iter().filter_map(path).collect())
}

/// All files of git in a work tree: its `.git`, the `.git` of each submodule and of each repository up to two folders
/// deep, and the other files from which git takes settings and hooks.
pub(crate) fn all(tree: &Path, sources: &Sources, submodules: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = vec![tree.join(".git")];
    all.extend(nested(tree, submodules));
    all.extend(sources.paths());
    all.retain(|path| path.exists());
    all
}

/// The files of git in a work tree that can make git run programs. Git writes its other files when it commits.
pub(crate) fn settings(tree: &Path, sources: &Sources, submodules: &[PathBuf]) -> Vec<PathBuf> {
    let dot_git = tree.join(".git");
    let mut all: Vec<PathBuf> = nested(tree, submodules).chain(sources.paths()).collect();
    match dot_git.is_dir() {
        true => {
            // A command could create a missing folder, and nothing can protect a missing one. An empty folder of hooks
            // has no effect.
            let _ = fs::create_dir(dot_git.join("hooks"));
            let mut folders = vec![dot_git.clone()];
            folders.extend(below(&dot_git.join("modules")));
            folders.extend(children(&dot_git.join("worktrees")));
            all.extend(folders.iter().flat_map(|folder| SETTINGS.map(|name| folder.join(name))));
        }
        false => {
            let own = worktree(tree);
            all.push(dot_git);
            all.extend(own.iter().flat_map(|own| SETTINGS.map(|name| own.join(name))));
        }
    }
    all.retain(|path| path.exists());
    all
}

/// Files that can make git run programs and that do not exist, so nothing can make them read-only.
#[derive(Debug)]
pub(crate) struct Unmade {
    paths: Vec<PathBuf>,
}

impl Unmade {
    /// The missing files of a work tree. `with_own` adds the missing files of the repository itself, if a git runs that
    /// may write there. Git creates none of these files in a repository that lacks them, but a hook of git could.
    pub(crate) fn of(tree: &Path, sources: &Sources, submodules: &[PathBuf], with_own: bool) -> Self {
        let dot_git = tree.join(".git");
        let folder = if dot_git.is_dir() { dot_git.canonicalize().ok() } else { worktree(tree) };
        let own = folder.iter().filter(|_| with_own);
        let own = own.flat_map(|folder| SETTINGS.map(|name| folder.join(name)));
        let of_submodules = submodules.iter().map(|folder| folder.join(".git"));
        let paths = own.chain(sources.files.iter().cloned()).chain(of_submodules);
        Self { paths: paths.filter(|path| path.symlink_metadata().is_err()).collect() }
    }

    /// Removes the files that a command has created since, and returns their paths.
    pub(crate) fn undo(&self) -> Vec<PathBuf> {
        // If a command put a link in the path, the path leads to files that the command did not create.
        let stands = |path: &Path| {
            let folder = path.parent();
            folder.is_some_and(|folder| folder.canonicalize().is_ok_and(|real| real == folder))
        };
        let made = self.paths.iter().filter(|path| path.symlink_metadata().is_ok() && stands(path));
        made.filter(|path| take_away(path).is_ok()).cloned().collect()
    }
}

fn take_away(path: &Path) -> io::Result<()> {
    let remove = || match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    remove().or_else(|_| {
        // The command that created the file may have removed the permission to delete it.
        path.parent().map_or(Ok(()), unlock)?;
        unlock_all(path)?;
        remove()
    })
}

fn unlock(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

fn unlock_all(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        unlock(path)?;
        children(path).iter().try_for_each(|child| unlock_all(child))?;
    }
    Ok(())
}

/// Removes the files whatever the end of the command was.
impl Drop for Unmade {
    fn drop(&mut self) {
        for path in self.undo() {
            tracing::warn!(path = %path.display(), "a command created a file that can make git run programs; the agent removed it");
        }
    }
}

/// The `.git` of submodules, and of repositories that lie in the work tree.
fn nested(tree: &Path, submodules: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let modules = text(&tree.join(".gitmodules")).unwrap_or_default();
    let path = |line: &str| {
        Some(tree.join(line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?.trim()))
    };
    let modules: Vec<PathBuf> = modules.lines().filter_map(path).collect();
    let near = children(tree).into_iter().filter(|folder| !folder.ends_with(".git"));
    let near: Vec<PathBuf> = near.flat_map(|folder| children(&folder).into_iter().chain([folder])).collect();
    let all = submodules.iter().cloned().chain(modules).chain(near);
    all.map(|folder| folder.join(".git")).filter(|path| path.exists()).take(MOST)
}

/// The folders that git keeps for submodules. The name of a submodule may have several parts.
fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop().filter(|_| found.len() < MOST) {
        for child in children(&folder) {
            match child.join("HEAD").exists() {
                true => {
                    open.push(child.join("modules"));
                    found.push(child);
                }
                false => open.push(child),
            }
        }
    }
    found
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
