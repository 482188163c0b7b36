//! Text files, and whether they are inside the work tree.
//!
//! Before a path is opened, it is resolved, with `..` and links. The result must be in the work tree. This
//! keeps an agent from straying. It does not protect against a hostile agent, which runs as the same user and
//! could write anywhere itself.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use longshore_model::host_io::HostFault;
use rustix::fs::OFlags;

use super::FILE_LIMIT;

/// The text of a file, or some lines of it.
pub(super) fn read(
    root: &Path,
    path: &str,
    line: Option<u64>,
    limit: Option<u64>,
) -> Result<String, HostFault> {
    let text = text_of(&resolve(root, path)?, path)?;
    if line.is_none() && limit.is_none() {
        return Ok(text);
    }
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let skipped = number(line.unwrap_or(1).saturating_sub(1));
    Ok(text.split_inclusive('\n').skip(skipped).take(number(limit.unwrap_or(u64::MAX))).collect())
}

/// The text of a file with a resolved path.
fn text_of(file: &Path, path: &str) -> Result<String, HostFault> {
    String::from_utf8(bytes_of(file, path)?).map_err(|_| unfit(path, "is not a text file"))
}

/// The bytes of a file with a resolved path.
pub fn bytes_of(file: &Path, path: &str) -> Result<Vec<u8>, HostFault> {
    let metadata = fs::metadata(file).map_err(|error| explain(path, &error))?;
    if !metadata.is_file() {
        return Err(unfit(path, "is not a file"));
    }
    if metadata.len() > FILE_LIMIT {
        return Err(unfit(path, &format!("has {} bytes; the limit is {FILE_LIMIT}", metadata.len())));
    }
    let mut bytes = Vec::new();
    let opened = open(OpenOptions::new().read(true), file).map_err(|error| explain(path, &error))?;
    // The file may have grown since the check.
    opened.take(FILE_LIMIT).read_to_end(&mut bytes).map_err(|error| explain(path, &error))?;
    Ok(bytes)
}

/// Writes a whole file, and makes the missing folders.
pub(super) fn write(root: &Path, path: &str, content: &str) -> Result<(), HostFault> {
    write_at(&resolve(root, path)?, path, content.as_bytes())
}

/// Writes a whole file with a resolved path, and makes the missing folders.
pub fn write_at(file: &Path, path: &str, content: &[u8]) -> Result<(), HostFault> {
    if fs::metadata(file).is_ok_and(|there| !there.is_file()) {
        return Err(unfit(path, "is not a file"));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| explain(path, &error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut opened = open(&mut options, file).map_err(|error| explain(path, &error))?;
    opened.write_all(content).map_err(|error| explain(path, &error))
}

/// Resolves a path that must be in the work tree. Its last parts need not exist.
pub(super) fn resolve(root: &Path, path: &str) -> Result<PathBuf, HostFault> {
    let place = locate(root, path)?;
    if place.inside { Ok(place.path) } else { Err(HostFault::Outside(path.to_owned())) }
}

/// A resolved path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The path without links and `..`, as far as the existing folders show it.
    pub path: PathBuf,
    /// Whether the path is in the work tree.
    pub inside: bool,
}

/// Resolves a path, in the work tree or not. Its last parts need not exist.
pub fn locate(root: &Path, path: &str) -> Result<ResolvedPath, HostFault> {
    let root = root.canonicalize().map_err(|error| HostFault::Failed(format!("the work tree: {error}")))?;
    let wanted = root.join(path);
    let mut there = wanted.as_path();
    let mut missing = Vec::new();
    let found = loop {
        match there.canonicalize() {
            Ok(found) => break found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(explain(path, &error)),
        }
        // A link to a missing file leads to that file as soon as it exists, wherever it is.
        if there.symlink_metadata().is_ok() {
            return Ok(ResolvedPath { path: wanted, inside: false });
        }
        match (there.components().next_back(), there.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                missing.push(name.to_owned());
                there = parent;
            }
            // `..` in a folder that does not exist cannot be resolved.
            (_, _) => return Ok(ResolvedPath { path: wanted, inside: false }),
        }
    };
    let path = missing.iter().rev().fold(found, |path, name| path.join(name));
    let inside = path.starts_with(&root);
    Ok(ResolvedPath { path, inside })
}

/// Opens a file with a resolved path. The file must not be a link, and opening must not block.
fn open(options: &mut OpenOptions, file: &Path) -> io::Result<fs::File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(file)
}

fn unfit(path: &str, fault: &str) -> HostFault {
    HostFault::Unfit { path: path.to_owned(), fault: fault.to_owned() }
}

fn explain(path: &str, error: &io::Error) -> HostFault {
    if error.kind() == io::ErrorKind::NotFound {
        HostFault::Missing(path.to_owned())
    } else {
        HostFault::Failed(format!("{path}: {error}"))
    }
}
