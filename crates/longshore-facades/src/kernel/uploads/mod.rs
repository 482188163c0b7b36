//! Files that clients send before the prompt to which they belong.
//!
//! A client announces a file and gets a token for it, sends the content, and names the token in a prompt. Whoever has the
//! token can read the file: nobody guesses 256 bits. The content lies in a folder of the hub, where local agents can read it:
//! `FOLDER/TOKEN/NAME`, with a note about it in `FOLDER/TOKEN.json`. What has no note was never sent as a whole.

mod content;
mod folder;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::time::Timestamp;
use longshore_session::{Hub, HubError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;
use tracing::warn;

pub(crate) use content::FileContent;
use folder::UploadFolder;

use crate::auth::Token;
use crate::gate::{Gate, GateError};

/// The largest file.
pub(crate) const FILE_BYTES: u64 = 25 << 20;
/// The most bytes of all files. The oldest files make room for new ones.
pub(crate) const TOTAL_BYTES: u64 = 2 << 30;
/// The most files.
pub(crate) const FILES: usize = 10_000;
/// How long an announced file may take to come.
const COMES_WITHIN_MS: i64 = 10 * 60 * 1_000;
/// How often the hub asks whether it is time to clean up.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// The note about how long files are kept.
const RETENTION: &str = "uploads/retention";
const HOUR_MS: i64 = 3_600_000;

/// How long files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Retention {
    /// Days; 0 is for ever.
    pub(crate) days: u32,
    /// How often the hub looks for older files.
    pub(crate) every_hours: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: 0, every_hours: 6 }
    }
}

/// Why a file is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UploadError {
    #[error("the file is larger than {} MiB", FILE_BYTES >> 20)]
    TooLarge,
    #[error("the file is larger than announced")]
    LargerThanAnnounced,
    #[error("no file was announced under this token, or too long ago; announce it again")]
    Unknown,
    #[error("the file was announced as `{0}`")]
    OtherType(String),
    #[error("this file is here already; announce another one")]
    Here,
    #[error("the hub cannot keep the file: {0}")]
    Disk(#[from] io::Error),
}

/// A file that may come.
#[derive(Clone, Debug)]
pub(crate) struct UploadTicket {
    pub(crate) token: String,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) media_type: String,
    pub(crate) until: Timestamp,
}

/// What is known of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UploadNote {
    name: String,
    media_type: String,
    bytes: u64,
    at: Timestamp,
    content: Option<FileContent>,
}

/// A file that is here.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) content: FileContent,
}

/// A clean-up.
#[derive(Clone, Debug)]
pub(crate) struct UploadPrune {
    pub(crate) at: Timestamp,
    pub(crate) removed: usize,
    /// Whether a person asked for it.
    pub(crate) by_hand: bool,
}

/// What is in the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct UploadStats {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) oldest: Option<Timestamp>,
    pub(crate) newest: Option<Timestamp>,
    pub(crate) last_prune: Option<UploadPrune>,
}

#[derive(Debug, Default)]
struct UploadState {
    notes: HashMap<String, UploadNote>,
    retention: Retention,
    last_prune: Option<UploadPrune>,
    looked_at: Option<Timestamp>,
}

/// All files.
#[derive(Debug)]
pub(crate) struct Uploads {
    folder: Arc<UploadFolder>,
    state: Mutex<UploadState>,
}

impl Uploads {
    /// Opens the store; without a folder, in one that is deleted with the store.
    pub(crate) fn open(folder: Option<PathBuf>, retention: Retention) -> Arc<Self> {
        let folder = UploadFolder::at(folder);
        let notes = folder.notes(FILES).unwrap_or_else(|error| {
            warn!(folder = %folder.path().display(), %error, "cannot read which files clients sent earlier");
            HashMap::new()
        });
        let state = UploadState { notes, retention, ..UploadState::default() };
        Arc::new(Self { folder: Arc::new(folder), state: Mutex::new(state) })
    }

    /// How long files are kept, as somebody said to an earlier hub.
    pub(crate) async fn noted_retention(hub: &Hub) -> Result<Retention, HubError> {
        let noted = hub.notes(RETENTION).await?;
        Ok(noted.first().and_then(|(_, noted)| serde_json::from_str(noted).ok()).unwrap_or_default())
    }

    /// Cleans up from time to time, as long as the store is there.
    pub(crate) fn keep_tidy(self: &Arc<Self>, now: impl Fn() -> Timestamp + Send + 'static) {
        let uploads = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut looks = tokio::time::interval_at(Instant::now() + LOOK_EVERY, LOOK_EVERY);
            loop {
                looks.tick().await;
                let Some(uploads) = Weak::upgrade(&uploads) else { return };
                if uploads.is_time(now()) {
                    uploads.prune(now(), false).await;
                }
            }
        });
    }

    fn is_time(&self, now: Timestamp) -> bool {
        let mut state = self.state();
        let every = i64::from(state.retention.every_hours) * HOUR_MS;
        let is_time = state.looked_at.is_none_or(|last| now.millis_since(last) >= every.unsigned_abs());
        if is_time {
            state.looked_at = Some(now);
        }
        is_time
    }

    /// Gives a token for a file of that name, type and size.
    pub(crate) async fn announce(
        &self,
        name: &str,
        media_type: &str,
        bytes: u64,
        now: Timestamp,
    ) -> Result<UploadTicket, UploadError> {
        if bytes > FILE_BYTES {
            return Err(UploadError::TooLarge);
        }
        let token = Token::random().map_err(io::Error::other)?.reveal().to_owned();
        let (name, media_type) = (content::shown_name(name), content::media_type(media_type));
        let gone = {
            let mut state = self.state();
            let note = UploadNote {
                name: name.clone(),
                media_type: media_type.clone(),
                bytes,
                at: now,
                content: None,
            };
            let gone = make_room(&mut state.notes, bytes, now);
            state.notes.insert(token.clone(), note);
            gone
        };
        self.delete(gone).await;
        let path = self.folder.file(&token, &name);
        Ok(UploadTicket { token, path, name, media_type, until: now.plus_millis(COMES_WITHIN_MS) })
    }

    /// Takes the content of an announced file.
    pub(crate) async fn store(
        &self,
        token: &str,
        media_type: &str,
        bytes: Bytes,
        now: Timestamp,
    ) -> Result<(), UploadError> {
        let mut note = match self.state().notes.get(token) {
            Some(note) if note.content.is_some() => return Err(UploadError::Here),
            Some(note) if !is_stale(note, now) => note.clone(),
            Some(_) | None => return Err(UploadError::Unknown),
        };
        let length = bytes.len() as u64;
        if content::media_type(media_type) != note.media_type {
            return Err(UploadError::OtherType(note.media_type));
        }
        if length > FILE_BYTES {
            return Err(UploadError::TooLarge);
        }
        if length > note.bytes {
            return Err(UploadError::LargerThanAnnounced);
        }
        (note.bytes, note.at, note.content) = (length, now, Some(FileContent::of(&bytes)));
        let (folder, token, kept) = (Arc::clone(&self.folder), token.to_owned(), note.clone());
        let written = {
            let token = token.clone();
            blocking(move || folder.write(&token, &kept, &bytes)).await
        };
        match written {
            Ok(()) => {
                self.state().notes.insert(token, note);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(UploadError::Here),
            Err(error) => Err(error.into()),
        }
    }

    /// The file with this token, if it is here.
    pub(crate) fn find(&self, token: &str) -> Option<Upload> {
        let state = self.state();
        let note = state.notes.get(token)?;
        Some(Upload {
            path: self.folder.file(token, &note.name),
            name: note.name.clone(),
            content: note.content?,
        })
    }

    /// The file as an attachment of a prompt. It is named by its token, by its address (`/u/TOKEN`), or by its path.
    pub(crate) fn attachment(&self, named: &str) -> Option<Attachment> {
        let in_folder = Path::new(named).strip_prefix(self.folder.path()).ok();
        let first =
            in_folder.and_then(|path| path.components().next()).and_then(|part| part.as_os_str().to_str());
        let in_address =
            named.rsplit_once("/u/").map(|(_, rest)| rest.split(['?', '#', '/']).next().unwrap_or_default());
        let token = first.or(in_address).unwrap_or(named);
        let Upload { path, name, content } = self.find(token)?;
        let media_type = match content {
            FileContent::Other => {
                let announced = self.state().notes.get(token)?.media_type.clone();
                // It says that it is a picture, and is none that we know.
                if announced.starts_with("image/") { content.media_type().to_owned() } else { announced }
            }
            known => known.media_type().to_owned(),
        };
        Some(Attachment {
            name: Some(name),
            media_type,
            source: AttachmentSource::Path(path.to_str()?.to_owned()),
        })
    }

    /// Deletes what is older than it may be, and what never came.
    pub(crate) async fn prune(&self, now: Timestamp, by_hand: bool) -> usize {
        let gone = {
            let mut state = self.state();
            let days = i64::from(state.retention.days);
            let oldest = now.plus_millis(-days * 24 * HOUR_MS);
            let is_old = |note: &UploadNote| match note.content {
                Some(_) => days > 0 && note.at < oldest,
                None => is_stale(note, now),
            };
            let gone: Vec<_> =
                state.notes.extract_if(|_, note| is_old(note)).map(|(token, _)| token).collect();
            state.last_prune = Some(UploadPrune { at: now, removed: gone.len(), by_hand });
            gone
        };
        let removed = gone.len();
        self.delete(gone).await;
        removed
    }

    async fn delete(&self, tokens: Vec<String>) {
        if tokens.is_empty() {
            return;
        }
        let folder = Arc::clone(&self.folder);
        let deleted = blocking(move || tokens.iter().try_for_each(|token| folder.delete(token))).await;
        if let Err(error) = deleted {
            warn!(%error, "cannot delete files that clients sent earlier");
        }
    }

    pub(crate) fn stats(&self) -> UploadStats {
        let state = self.state();
        let here = || state.notes.values().filter(|note| note.content.is_some());
        UploadStats {
            files: here().count(),
            bytes: here().map(|note| note.bytes).sum(),
            oldest: here().map(|note| note.at).min(),
            newest: here().map(|note| note.at).max(),
            last_prune: state.last_prune.clone(),
        }
    }

    pub(crate) fn retention(&self) -> Retention {
        self.state().retention
    }

    /// Keeps files for so long from now on, and after a restart.
    pub(crate) async fn retain(&self, gate: &Gate, retention: Retention) -> Result<(), GateError> {
        gate.put_note(RETENTION, json!(retention).to_string()).await?;
        self.set_retention(retention);
        Ok(())
    }

    fn set_retention(&self, retention: Retention) {
        self.state().retention = retention;
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the folder, if it is not there.
    pub(crate) async fn ensure_folder(&self) -> io::Result<()> {
        let folder = Arc::clone(&self.folder);
        blocking(move || folder.make()).await
    }

    fn state(&self) -> MutexGuard<'_, UploadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a file was announced and did not come.
fn is_stale(note: &UploadNote, now: Timestamp) -> bool {
    note.content.is_none() && note.at.plus_millis(COMES_WITHIN_MS) < now
}

/// Takes the oldest files out until there is room for one more.
fn make_room(notes: &mut HashMap<String, UploadNote>, bytes: u64, now: Timestamp) -> Vec<String> {
    let mut gone: Vec<_> = notes.extract_if(|_, note| is_stale(note, now)).map(|(token, _)| token).collect();
    let mut total: u64 = notes.values().map(|note| note.bytes).sum();
    while notes.len() >= FILES || total + bytes > TOTAL_BYTES {
        let Some(oldest) = notes.iter().min_by_key(|(_, note)| note.at).map(|(token, _)| token.clone())
        else {
            break;
        };
        total -= notes.remove(&oldest).map_or(0, |note| note.bytes);
        gone.push(oldest);
    }
    gone
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests;
