//! Where git keeps the data of a work tree, and which of these places the agent trusts.
//!
//! A work tree of `git worktree`, or a submodule, keeps its data in another repository and names that
//! repository in a file. Anybody may have written the file: it may come from an unpacked folder. So the agent
//! trusts it only if the repository names the work tree in turn. Nothing confirms the other stores that a
//! repository names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much the agent reads of a file that names places.
const TEXT: u64 = 1 << 20;

/// The folders outside of the work tree that git writes during a commit: the work tree's own folder, objects, refs and
/// logs. A link in the place of such a folder could lead anywhere, so links are left out.
pub(crate) fn shared_folders(tree: &Path) -> Vec<PathBuf> {
    worktree(tree).map_or_else(Vec::new, |own| {
        let shared = ["objects", "refs", "logs"].map(|name| holder(&own).join(name));
        std::iter::once(own).chain(shared).filter(|folder| is_real_folder(folder)).collect()
    })
}

/// The folders outside of the work tree that git reads to answer questions about the work tree.
pub(crate) fn folders_read(tree: &Path) -> Vec<PathBuf> {
    let Some(Repository { own, shared, .. }) = Repository::of(tree) else { return Vec::new() };
    [own, shared].into_iter().filter(|folder| folder.join("HEAD").exists()).collect()
}

/// A place outside of the work tree that the repository of this folder makes git read, although nothing confirms the
/// place: another repository that it uses as its own, or a store from which it borrows objects.
pub(crate) fn unvouched(folder: &Path, tree: &Path) -> Option<PathBuf> {
    let tree = tree.canonicalize().ok()?;
    let Repository { own, shared, vouched } = Repository::of_any(folder)?;
    let elsewhere = named_in(&own.join("commondir"), "").filter(|common| *common != shared);
    let objects = elsewhere.as_ref().unwrap_or(&shared).join("objects");
    let borrowed = text(&objects.join("info/alternates")).unwrap_or_default();
    let borrowed = borrowed.lines().filter_map(|line| objects.join(line).canonicalize().ok());
    let itself = (!vouched).then_some(own);
    let mut named = itself.into_iter().chain(elsewhere).chain(borrowed);
    named.find(|place| !place.starts_with(&tree))
}

/// The repository that git uses for a folder.
struct Repository {
    /// The folder that belongs to this work tree only.
    own: PathBuf,
    /// The folder that all work trees of the repository share.
    shared: PathBuf,
    /// Whether the repository belongs to the folder for certain, whoever wrote the files.
    vouched: bool,
}

impl Repository {
    fn of(folder: &Path) -> Option<Self> {
        Self::of_any(folder).filter(|repository| repository.vouched)
    }

    fn of_any(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let tree = folder.ancestors().find(|folder| folder.join(".git").exists())?;
        let dot_git = tree.join(".git");
        if is_real_folder(&dot_git) {
            return Some(Self { own: dot_git.clone(), shared: dot_git, vouched: true });
        }
        if let Some(own) = worktree(tree) {
            return Some(Self { shared: holder(&own).to_owned(), own, vouched: true });
        }
        let (own, vouched) = match submodule(tree) {
            Some(own) => (own, true),
            // A link that leads to a repository counts like a file that names it.
            None => (named_in(&dot_git, "gitdir:").or_else(|| dot_git.canonicalize().ok())?, false),
        };
        Some(Self { shared: own.clone(), own, vouched })
    }
}

/// The folder `repository/worktrees/name`, if the work tree and the repository name each other.
pub(super) fn worktree(tree: &Path) -> Option<PathBuf> {
    let dot_git = tree.join(".git");
    let own = named_in(&dot_git, "gitdir:")?;
    let back = named_in(&own.join("gitdir"), "")?;
    let is_worktree = own.parent()?.file_name()? == "worktrees";
    (is_worktree && back == dot_git.canonicalize().ok()?).then_some(own)
}

/// The repository that a work tree's own folder lies in.
fn holder(own: &Path) -> &Path {
    own.parent().and_then(Path::parent).unwrap_or(own)
}

/// The folder `repository/modules/name`, if the work tree and the repository name each other.
fn submodule(tree: &Path) -> Option<PathBuf> {
    let own = named_in(&tree.join(".git"), "gitdir:")?;
    let config = text(&own.join("config"))?;
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

/// The path that a file of git names after this prefix, if the path exists. The path is relative to the file's folder.
fn named_in(file: &Path, after: &str) -> Option<PathBuf> {
    let said = text(file)?;
    file.parent()?.join(said.strip_prefix(after)?.trim()).canonicalize().ok()
}

/// The beginning of a text file; a file that a person writes is shorter. An attacker may have made the file endless, or
/// put a pipe in its place.
pub(super) fn text(file: &Path) -> Option<String> {
    let mut read = Vec::new();
    let file = file.metadata().ok()?.is_file().then(|| File::open(file).ok()).flatten()?;
    file.take(TEXT).read_to_end(&mut read).ok()?;
    Some(String::from_utf8_lossy(&read).into_owned())
}

fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
