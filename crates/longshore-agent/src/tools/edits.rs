//! File changes that the agent first plans and then makes, all or none.

use std::fs;
use std::path::{Path, PathBuf};

use longshore_model::host_io::HostFault;
use longshore_model::item::{FileChange, FileChangeKind, FileDiff, ToolStatus};
use similar::TextDiff;

use super::text::{Encoding, text_of};
use longshore_drivers::host_io::files::{locate, write_at};
use longshore_drivers::kit::diff::all_lines;

/// Planned changes. A later change builds on the result of an earlier one.
#[derive(Debug)]
pub(super) struct Edits {
    root: PathBuf,
    touched: Vec<EditedFile>,
}

#[derive(Debug)]
struct EditedFile {
    /// The path as the model wrote it.
    path: String,
    file: PathBuf,
    encoding: Encoding,
    before: Option<String>,
    after: Option<String>,
    moved_to: Option<String>,
    /// The file whose content moved to this file.
    moved_from: Option<PathBuf>,
}

impl Edits {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), touched: Vec::new() }
    }

    /// The content of a file after the planned changes.
    pub(super) fn text(&mut self, path: &str) -> Result<String, String> {
        let touched = self.touch(path)?;
        touched.after.clone().ok_or_else(|| HostFault::Missing(path.to_owned()).to_string())
    }

    /// Plans a new file.
    pub(super) fn add(&mut self, path: &str, content: String) -> Result<(), String> {
        let touched = self.touch(path)?;
        if touched.after.is_some() {
            return Err(format!("{path} exists already; update it instead, or delete it first"));
        }
        touched.encoding = Encoding::default();
        touched.after = Some(content);
        Ok(())
    }

    /// Plans the whole content of a file, new or not.
    pub(super) fn change(&mut self, path: &str, content: String) -> Result<(), String> {
        self.touch(path)?.after = Some(content);
        Ok(())
    }

    /// Plans to delete a file.
    pub(super) fn delete(&mut self, path: &str) -> Result<(), String> {
        self.text(path)?;
        let touched = self.touch(path)?;
        touched.after = None;
        Ok(())
    }

    /// Plans to move a file, with new content.
    pub(super) fn relocate(&mut self, path: &str, target: &str, content: String) -> Result<(), String> {
        let from = self.touch(path)?.file.clone();
        if self.touch(target)?.file == from {
            return self.change(path, content);
        }
        let encoding = self.touch(path)?.encoding;
        self.add(target, content)?;
        let moved = self.touch(target)?;
        moved.moved_from = Some(from);
        moved.encoding = encoding;
        let touched = self.touch(path)?;
        touched.after = None;
        touched.moved_to = Some(target.to_owned());
        Ok(())
    }

    fn touch(&mut self, path: &str) -> Result<&mut EditedFile, String> {
        if path.is_empty() {
            return Err("a path is empty".to_owned());
        }
        let file = locate(&self.root, path).map_err(|fault| fault.to_string())?.path;
        let at = match self.touched.iter().position(|touched| touched.file == file) {
            Some(at) => at,
            None => {
                let (before, encoding) = match text_of(&file, path) {
                    Ok((text, encoding)) => (Some(text), encoding),
                    Err(HostFault::Missing(_)) => (None, Encoding::default()),
                    Err(fault) => return Err(fault.to_string()),
                };
                let (path, after) = (path.to_owned(), before.clone());
                let (moved_to, moved_from) = (None, None);
                self.touched.push(EditedFile { path, file, encoding, before, after, moved_to, moved_from });
                self.touched.len() - 1
            }
        };
        self.touched.get_mut(at).ok_or_else(|| "the file was lost".to_owned())
    }

    /// The planned changes, file by file.
    pub(super) fn diff(&self, status: ToolStatus) -> FileDiff {
        let content_of = |path: &str| {
            let target = self.touched.iter().find(|touched| touched.path == path);
            target.and_then(|touched| touched.after.clone()).unwrap_or_default()
        };
        let changes =
            self.touched.iter().filter(|touched| touched.moved_from.is_none()).filter_map(|touched| {
                let path = touched.path.clone();
                let (kind, diff) = match (&touched.before, &touched.after, &touched.moved_to) {
                    (Some(before), _, Some(target)) => {
                        (FileChangeKind::Update, unified(before, &content_of(target)))
                    }
                    (Some(before), Some(after), None) => (FileChangeKind::Update, unified(before, after)),
                    (None, Some(after), _) => (FileChangeKind::Add, all_lines('+', after)),
                    (Some(before), None, None) => (FileChangeKind::Delete, all_lines('-', before)),
                    (None, None, _) => return None,
                };
                Some(FileChange { path, kind, moved_to: touched.moved_to.clone(), diff })
            });
        FileDiff { status, changes: changes.collect() }
    }

    /// Makes the changes. If one fails, the agent undoes the earlier ones.
    pub(super) fn commit(&self) -> Result<(), String> {
        let mut made = Vec::new();
        let (written, deleted): (Vec<_>, Vec<_>) = self
            .touched
            .iter()
            .filter(|touched| touched.before != touched.after)
            .partition(|touched| touched.after.is_some());
        // Deletions come last, because they cannot be undone completely.
        for touched in written.into_iter().chain(deleted) {
            let folders = missing_folders(&touched.file);
            let done = touched.make();
            made.push((touched, folders));
            if let Err(fault) = done {
                return Err(take_back(&made, &fault));
            }
        }
        Ok(())
    }

    /// One line per change, for the model.
    pub(super) fn summary(&self) -> String {
        let lines = self.diff(ToolStatus::Completed).changes.into_iter().map(|change| {
            match (change.kind, change.moved_to) {
                (FileChangeKind::Update, Some(target)) => format!("R {} -> {target}", change.path),
                (FileChangeKind::Update, None) => format!("M {}", change.path),
                (FileChangeKind::Add, _) => format!("A {}", change.path),
                (FileChangeKind::Delete, _) => format!("D {}", change.path),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl EditedFile {
    fn make(&self) -> Result<(), String> {
        match &self.after {
            Some(content) => {
                let bytes = self.encoding.encode(&self.path, content)?;
                write_at(&self.file, &self.path, &bytes).map_err(|fault| fault.to_string())?;
                // A script that moves stays executable.
                let permissions = self.moved_from.as_ref().and_then(|from| fs::metadata(from).ok());
                if let Some(from) = permissions {
                    let kept = fs::set_permissions(&self.file, from.permissions());
                    return kept.map_err(|error| format!("{}: {error}", self.path));
                }
                Ok(())
            }
            None => fs::remove_file(&self.file).map_err(|error| format!("{}: {error}", self.path)),
        }
    }
}

/// The folders that do not exist yet, the innermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1);
    folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// Undoes changes, and returns the error for the model.
fn take_back(made: &[(&EditedFile, Vec<PathBuf>)], fault: &str) -> String {
    let mut stuck = Vec::new();
    for (touched, folders) in made.iter().rev() {
        let undone = match &touched.before {
            Some(content) => touched.encoding.encode(&touched.path, content).and_then(|bytes| {
                write_at(&touched.file, &touched.path, &bytes).map_err(|fault| fault.to_string())
            }),
            None if touched.file.symlink_metadata().is_err() => Ok(()),
            None => fs::remove_file(&touched.file).map_err(|error| format!("{}: {error}", touched.path)),
        };
        stuck.extend(undone.err());
        for folder in folders {
            // The folder may not exist: the change may have failed before it made the folder.
            let _ = fs::remove_dir(folder);
        }
    }
    match stuck.is_empty() {
        true => format!("Nothing was changed. {fault}"),
        false => {
            format!("{fault}; and earlier changes could not be taken back: {}", stuck.join("; "))
        }
    }
}

fn unified(before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().to_string()
}
