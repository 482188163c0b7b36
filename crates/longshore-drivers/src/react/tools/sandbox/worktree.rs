//! A work tree that `git worktree` made keeps what git knows of it in the repository that it came from.
//!
//! Commits must be possible there, so those folders are writable: the work tree's own, objects, refs and logs; not the
//! hooks and the settings, which can make git run programs. The work tree says where they are in a file that commands can
//! rewrite, so that is believed only if the repository says the same of the work tree.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders outside of the work tree that git writes in when something is committed in it.
pub(super) fn git_folders(tree: &Path) -> Vec<PathBuf> {
    own_folder(tree).map_or_else(Vec::new, |own| {
        let repository = own.parent().and_then(Path::parent).unwrap_or(&own);
        let shared = ["objects", "refs", "logs"].map(|name| repository.join(name));
        std::iter::once(own.clone()).chain(shared).filter(|folder| folder.is_dir()).collect()
    })
}

/// `repository/worktrees/name`, if both sides say so.
fn own_folder(tree: &Path) -> Option<PathBuf> {
    let dot_git = tree.join(".git");
    let said = fs::read_to_string(&dot_git).ok()?;
    let own = tree.join(said.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = own.join(fs::read_to_string(own.join("gitdir")).ok()?.trim());
    let is_worktree = own.parent()?.file_name()? == "worktrees";
    (is_worktree && back.canonicalize().ok()? == dot_git.canonicalize().ok()?).then_some(own)
}
