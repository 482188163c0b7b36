//! Where git keeps the data of a work tree, and which of these places the agent trusts.
//!
//! A work tree of `git worktree`, or a submodule, keeps its data in another repository and names that
//! repository in a file. Anybody may have written the file: it may come from an unpacked folder. So the agent
//! trusts it only if the repository names the work tree in turn. Nothing confirms the other stores that a
//! repository names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much is read of a file that names places.
const TEXT: u64 = 1 << 20;

/// The folders outside of the work tree that git writes in when something is committed in it: the work tree's own,
/// objects, refs and logs. A link in the place of one of them could lead anywhere.
pub(crate) fn shared_folders(tree: &Path) -> Vec<PathBuf> {
    worktree(tree).map_or_else(Vec::new, |own| {
        let shared = ["objects", "refs", "logs"].map(|name| holder(&own).join(name));
        std::iter::once(own).chain(shared).filter(|folder| is_real_folder(folder)).collect()
    })
}

/// The folders outside of the work tree in which git reads when it is asked about the work tree.
pub(crate) fn folders_read(tree: &Path) -> Vec<PathBuf> {
    let Some(Repository { own, shared, .. }) = Repository::of(tree) else { return Vec::new() };
    [own, shared].into_iter().filter(|folder| folder.join("HEAD").exists()).collect()
}

/// A place outside of the work tree which the repository of this folder has git read, and for which nobody else vouches:
/// a repository in the place of its own, or a store of objects that it borrows from.
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

/// What git takes for the repository of a folder.
struct Repository {
    /// What belongs to the one work tree.
    own: PathBuf,
    /// What all work trees of the repository share.
    shared: PathBuf,
    /// Whether that is true, whoever made the folder.
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
            // A link is as good as a file that names the same.
            None => (named_in(&dot_git, "gitdir:").or_else(|| dot_git.canonicalize().ok())?, false),
        };
        Some(Self { shared: own.clone(), own, vouched })
    }
}

/// `repository/worktrees/name`, if both sides say so.
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

/// `repository/modules/name`, if both sides say so.
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

/// What a file of git's names after these letters, if it is there. It is told from the file's folder.
fn named_in(file: &Path, after: &str) -> Option<PathBuf> {
    let said = text(file)?;
    file.parent()?.join(said.strip_prefix(after)?.trim()).canonicalize().ok()
}

/// The text of a file, as far as anybody would write it by hand. Whoever made it may have made it endless, or a pipe.
pub(super) fn text(file: &Path) -> Option<String> {
    let mut read = Vec::new();
    let file = file.metadata().ok()?.is_file().then(|| File::open(file).ok()).flatten()?;
    file.take(TEXT).read_to_end(&mut read).ok()?;
    Some(String::from_utf8_lossy(&read).into_owned())
}

fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}
