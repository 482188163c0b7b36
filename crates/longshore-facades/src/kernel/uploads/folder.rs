//! The files of clients on the disk. Nobody but the owner of the hub may look into the folder.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{UploadNote, content};
use crate::auth::Token;

/// The longest note about a file.
const NOTE_BYTES: u64 = 4 << 10;
/// The letters of a token.
const TOKEN: usize = 64;

#[derive(Debug)]
pub(super) struct UploadFolder {
    path: PathBuf,
    /// Whether the folder goes with the store.
    is_fleeting: bool,
}

impl UploadFolder {
    pub(super) fn at(path: Option<PathBuf>) -> Self {
        match path {
            Some(path) => Self { path: std::path::absolute(&path).unwrap_or(path), is_fleeting: false },
            None => {
                let name = Token::random().map(|token| token.reveal()[..16].to_owned()).unwrap_or_default();
                Self {
                    path: std::env::temp_dir().join(format!("longshore-uploads-{name}")),
                    is_fleeting: true,
                }
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the content of a file is.
    pub(super) fn file(&self, token: &str, name: &str) -> PathBuf {
        self.path.join(token).join(content::file_name(name))
    }

    fn note(&self, token: &str) -> PathBuf {
        self.path.join(format!("{token}.json"))
    }

    pub(super) fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    /// The notes about all files; what has none is deleted.
    pub(super) fn notes(&self, most: usize) -> io::Result<HashMap<String, UploadNote>> {
        let mut notes = HashMap::new();
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(notes),
            Err(error) => return Err(error),
        };
        let mut folders = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            match name.strip_suffix(".json") {
                Some(token) if is_token(token) && notes.len() < most => {
                    if let Some(note) = self.read(token) {
                        notes.insert(token.to_owned(), note);
                    }
                }
                None if is_token(name) => folders.push(name.to_owned()),
                Some(_) | None => {}
            }
        }
        for token in folders.into_iter().filter(|token| !notes.contains_key(token)) {
            self.delete(&token)?;
        }
        Ok(notes)
    }

    fn read(&self, token: &str) -> Option<UploadNote> {
        let mut text = Vec::new();
        fs::File::open(self.note(token)).ok()?.take(NOTE_BYTES).read_to_end(&mut text).ok()?;
        let note: UploadNote = serde_json::from_slice(&text).ok()?;
        note.content.is_some().then_some(note)
    }

    /// Writes a file, and the note when all of it is there. Fails if another writer was first.
    pub(super) fn write(&self, token: &str, note: &UploadNote, bytes: &[u8]) -> io::Result<()> {
        self.make()?;
        let path = self.file(token, &note.name);
        let folder = self.path.join(token);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {}
            Err(error) => return Err(error),
        }
        let written = new_file(&path, bytes).and_then(|()| {
            let draft = folder.join(".note");
            new_file(&draft, &serde_json::to_vec(note)?)?;
            fs::rename(draft, self.note(token))
        });
        if written.is_err() {
            // The same token may be tried again, on a disk with more room.
            let _ = fs::remove_dir_all(&folder);
        }
        written
    }

    pub(super) fn delete(&self, token: &str) -> io::Result<()> {
        for gone in [fs::remove_file(self.note(token)), fs::remove_dir_all(self.path.join(token))] {
            match gone {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for UploadFolder {
    fn drop(&mut self) {
        if self.is_fleeting {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn is_token(name: &str) -> bool {
    name.len() == TOKEN && name.bytes().all(|letter| letter.is_ascii_hexdigit())
}

fn new_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
