//! Where git keeps its own files, and which of them can make it run programs.
//!
//! Settings and hooks can, also those that they name elsewhere; so can a file or folder `.git` that is put in the place
//! of another. A work tree that
//! `git worktree` made, or a submodule, keeps them in the repository that it came from, and names it in a file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::quiet::answer;
use crate::keyless::keyless;

/// How many submodules and nested repositories are looked after.
const MOST: usize = 256;
/// What can make git run programs, or look for settings elsewhere, in a folder of git's own.
const SETTINGS: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "gitdir"];

/// The folders outside of the work tree that git writes in when something is committed in it: the work tree's own,
/// objects, refs and logs. The work tree names them in a file that commands could have rewritten, so that is believed
/// only if the repository says the same of the work tree.
pub(crate) fn shared_folders(tree: &Path) -> Vec<PathBuf> {
    worktree(tree).map_or_else(Vec::new, |own| {
        let repository = own.parent().and_then(Path::parent).unwrap_or(&own);
        let shared = ["objects", "refs", "logs"].map(|name| repository.join(name));
        std::iter::once(own.clone()).chain(shared).filter(|folder| folder.is_dir()).collect()
    })
}

/// `repository/worktrees/name`, if both sides say so.
fn worktree(tree: &Path) -> Option<PathBuf> {
    let dot_git = tree.join(".git");
    let own = named_in(&dot_git)?;
    let back = own.join(fs::read_to_string(own.join("gitdir")).ok()?.trim());
    let is_worktree = own.parent()?.file_name()? == "worktrees";
    (is_worktree && back.canonicalize().ok()? == dot_git.canonicalize().ok()?).then_some(own)
}

/// `repository/modules/name`, if both sides say so.
fn submodule(tree: &Path) -> Option<PathBuf> {
    let own = named_in(&tree.join(".git"))?;
    let config = fs::read_to_string(own.join("config")).ok()?;
    let back = own.join(value_in(&config, "worktree")?);
    (back.canonicalize().ok()? == tree.canonicalize().ok()?).then_some(own)
}

/// The value of a setting, by the last part of its name.
fn value_in(config: &str, wanted: &str) -> Option<String> {
    config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// The folder that a file `.git` names.
fn named_in(dot_git: &Path) -> Option<PathBuf> {
    let said = fs::read_to_string(dot_git).ok()?;
    dot_git.parent()?.join(said.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// The folders outside of the work tree in which git reads when it is asked about the work tree.
pub(crate) fn folders_read(tree: &Path) -> Vec<PathBuf> {
    let Some(dot_git) = tree.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists()) else {
        return Vec::new();
    };
    // A file could name any repository; it is believed if that one says the same.
    let own = match (dot_git.is_dir(), dot_git.parent()) {
        (true, _) => Some(dot_git),
        (false, Some(folder)) => worktree(folder).or_else(|| submodule(folder)),
        (false, None) => None,
    };
    let Some(own) = own.filter(|own| own.join("HEAD").exists()) else { return Vec::new() };
    let common = fs::read_to_string(own.join("commondir")).ok().map(|said| own.join(said.trim()));
    let common = common.and_then(|common| common.canonicalize().ok()).filter(|common| is_repository(common));
    let objects = common.as_ref().unwrap_or(&own).join("objects");
    let borrowed = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    let borrowed = borrowed.lines().filter_map(|line| objects.join(line).canonicalize().ok());
    // Commands can have a say in that file: what is no store of objects is not looked into.
    let borrowed = borrowed.filter(|folder| folder.ends_with("objects") && folder.join("pack").is_dir());
    let mut folders: Vec<PathBuf> = borrowed.take(MOST).collect();
    folders.extend(common);
    folders.push(own);
    folders
}

fn is_repository(folder: &Path) -> bool {
    folder.join("objects").is_dir() && folder.join("refs").is_dir() && folder.join("HEAD").exists()
}

/// What else in a work tree git takes its settings and hooks from, whether it is there or not.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: Vec<PathBuf>,
    hooks: Option<PathBuf>,
}

impl Sources {
    /// As git itself tells, with what a person has set for all repositories.
    pub(crate) fn of(tree: &Path) -> Self {
        let Ok(root) = tree.canonicalize() else { return Self::default() };
        let mut git = keyless("git");
        git.args(["config", "--list", "--show-origin", "--includes", "-z"]).current_dir(&root);
        let within = |path: PathBuf| {
            let is_there =
                |folder: &Path| Some(folder.canonicalize().ok()?.join(path.strip_prefix(folder).ok()?));
            let real = path.ancestors().find_map(is_there);
            real.filter(|path| *path != root && path.starts_with(&root))
        };
        let (mut files, mut hooks) = (Vec::new(), None);
        for told in answer(&mut git).unwrap_or_default().chunks_exact(2) {
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
        Self { files, hooks: hooks.and_then(within) }
    }

    /// Whether a file is one of them.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file == path)
            || self.hooks.as_ref().is_some_and(|hooks| path.starts_with(hooks))
    }

    fn paths(self) -> impl Iterator<Item = PathBuf> {
        if let Some(hooks) = &self.hooks {
            // What is not there could be made; an empty one is as good as none.
            let _ = fs::create_dir_all(hooks);
        }
        self.files.into_iter().chain(self.hooks)
    }
}

/// All of git's own in a work tree: its `.git`, those of submodules and of repositories up to two folders deep, and what
/// else it takes settings and hooks from.
pub(crate) fn all(tree: &Path) -> Vec<PathBuf> {
    let mut all = vec![tree.join(".git")];
    all.extend(nested(tree));
    all.extend(Sources::of(tree).paths());
    all.retain(|path| path.exists());
    all
}

/// Those of git's own in a work tree that can make git run programs. The others it writes in when something is committed.
pub(crate) fn settings(tree: &Path) -> Vec<PathBuf> {
    let dot_git = tree.join(".git");
    let mut all: Vec<PathBuf> = nested(tree).chain(Sources::of(tree).paths()).collect();
    match dot_git.is_dir() {
        true => {
            // What is not there could be made; this is as good as none.
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

/// Files that can make git run programs, and are not there, so that nothing can make them read-only.
#[derive(Debug)]
pub(crate) struct Unmade {
    paths: Vec<PathBuf>,
}

impl Unmade {
    /// Those of a work tree; with git's own, if git runs that may write there. It makes none of these itself in a
    /// repository that has them not, but a hook that it runs could.
    pub(crate) fn of(tree: &Path, with_own: bool) -> Self {
        let dot_git = tree.join(".git");
        let folder = if dot_git.is_dir() { Some(dot_git) } else { worktree(tree) };
        let own = folder.iter().filter(|_| with_own);
        let own = own.flat_map(|folder| SETTINGS.map(|name| folder.join(name)));
        let paths = own.chain(Sources::of(tree).files);
        Self { paths: paths.filter(|path| path.symlink_metadata().is_err()).collect() }
    }

    /// Takes away what was made since, and says what it was.
    pub(crate) fn undo(&self) -> Vec<PathBuf> {
        let made = self.paths.iter().filter(|path| match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path).is_ok(),
            Ok(_) => fs::remove_file(path).is_ok(),
            Err(_) => false,
        });
        made.cloned().collect()
    }
}

/// However it ended.
impl Drop for Unmade {
    fn drop(&mut self) {
        for path in self.undo() {
            tracing::warn!(path = %path.display(), "a command made a file that can make git run programs; it was taken away");
        }
    }
}

/// The `.git` of submodules, and of repositories that lie in the work tree.
fn nested(tree: &Path) -> impl Iterator<Item = PathBuf> {
    let modules = fs::read_to_string(tree.join(".gitmodules")).unwrap_or_default();
    let path = |line: &str| {
        Some(tree.join(line.trim().strip_prefix("path")?.trim_start().strip_prefix('=')?.trim()))
    };
    let modules: Vec<PathBuf> = modules.lines().filter_map(path).collect();
    let near = children(tree).into_iter().filter(|folder| !folder.ends_with(".git"));
    let near: Vec<PathBuf> = near.flat_map(|folder| children(&folder).into_iter().chain([folder])).collect();
    modules.into_iter().chain(near).map(|folder| folder.join(".git")).filter(|path| path.exists()).take(MOST)
}

/// Folders of git's own in a folder of submodules, whose names may have several parts.
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
