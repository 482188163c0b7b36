//! The index of all records, with the known facts of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use longshore_model::event::Raw;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;

use super::lines::RecordPart;
use super::{Base, Head, RECORDS, RecordLines, Records};

/// How deep below its folders an agent's records may be: year, month and day, or project, session and
/// sub-agents.
const DEPTH: usize = 4;
/// How many bytes at the beginning of a record are searched for its head, in lines of usual length.
const LOOKED_AT: u64 = 1 << 20;
/// A longer line counts as this many bytes. A prompt may contain a whole file, and a record contains the
/// prompt twice.
const USUAL_LINE: u64 = 64 << 10;
/// How many bytes are searched, however long the lines are.
const LOOKED_AT_MOST: u64 = 64 << 20;
/// How many forks a record may be away from the first record.
const FORKS: usize = 16;

/// The key of a record: the agent's position among the agents, and the agent's id of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) agent: usize,
    pub(super) native: NativeId,
}

/// A record on the disk.
#[derive(Clone, Debug)]
pub(super) struct RecordFile {
    key: Key,
    file: PathBuf,
    size: u64,
    written: Timestamp,
}

/// The known facts of a record.
#[derive(Debug)]
pub(super) struct RecordEntry {
    file: PathBuf,
    size: u64,
    /// When the record was last written.
    pub(super) written: Timestamp,
    /// The head of the record, and the size of the file when the head was read.
    head: Option<(u64, Option<Arc<Head>>)>,
    /// The size of the file when the hub last learned of the record.
    told: Option<u64>,
}

/// All known records.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: HashMap<Key, RecordEntry>,
}

/// Finds the records in an agent's folders. It opens no file.
pub(super) fn walk(agent: usize, records: &dyn Records, folders: &[PathBuf], found: &mut Vec<RecordFile>) {
    let mut left: Vec<(PathBuf, usize)> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = left.pop() {
        // A missing folder contains no records.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let native = records.native(&path);
            if native.is_none() && path.extension().is_some() {
                continue;
            }
            let Ok(file) = std::fs::metadata(&path) else { continue };
            match native {
                _ if file.is_dir() && depth < DEPTH => left.push((path, depth + 1)),
                Some(native) if file.is_file() => {
                    let written = file.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                    let micros = written.and_then(|since| i64::try_from(since.as_micros()).ok());
                    found.push(RecordFile {
                        key: Key { agent, native },
                        file: path,
                        size: file.len(),
                        written: Timestamp::from_micros(micros.unwrap_or(0)),
                    });
                }
                Some(_) | None => {}
            }
        }
    }
}

impl Index {
    /// Takes in the records on the disk. Returns new and changed records, the latest one first.
    pub(super) fn update(&mut self, mut found: Vec<RecordFile>, since: Option<Timestamp>) -> Vec<Key> {
        found.sort_by_key(|record| std::cmp::Reverse((record.written, record.size)));
        if let Some(since) = since {
            found.truncate(found.partition_point(|record| record.written >= since));
        }
        if found.len() > RECORDS {
            tracing::warn!(
                left_out = found.len() - RECORDS,
                "too many past conversations; the oldest are left out"
            );
            found.truncate(RECORDS);
        }
        let mut known = HashMap::with_capacity(found.len());
        let mut changed = Vec::new();
        for RecordFile { key, file, size, written } in found {
            // If a conversation has two records, the one written last counts. It comes first.
            if known.contains_key(&key) {
                continue;
            }
            let before = self.known.remove(&key);
            let (head, told) = before.map_or((None, None), |before| (before.head, before.told));
            if told != Some(size) {
                changed.push(key.clone());
            }
            known.insert(key, RecordEntry { file, size, written, head, told });
        }
        self.known = known;
        changed
    }

    pub(super) fn get(&self, key: &Key) -> Option<&RecordEntry> {
        self.known.get(key)
    }

    /// How many conversations there are, among the records whose heads were read.
    pub(super) fn count(&self) -> usize {
        let is_one = |known: &&RecordEntry| matches!(known.head, Some((_, Some(_))));
        self.known.values().filter(is_one).count()
    }

    /// The head of a record, and the size of the whole record.
    pub(super) fn look(&mut self, key: &Key, records: &dyn Records) -> Option<(Arc<Head>, u64)> {
        let head = self.head(key, records)?;
        let size = self.known.get(key)?.size;
        let before: u64 = self.bases(&head, key.agent, records).iter().map(|base| base.until).sum();
        Some((head, before + size))
    }

    /// The current size of the whole record. None if the record is unknown or missing.
    pub(super) fn size_now(&mut self, key: &Key, records: &dyn Records) -> Option<u64> {
        let known = self.known.get_mut(key)?;
        known.size = std::fs::metadata(&known.file).ok()?.len();
        self.look(key, records).map(|(_, size)| size)
    }

    /// Notes that the hub knows the record at this size.
    pub(super) fn told(&mut self, key: &Key, size: u64) {
        if let Some(known) = self.known.get_mut(key) {
            known.told = Some(size);
        }
    }

    /// The size of the record's own file.
    pub(super) fn size(&self, key: &Key) -> u64 {
        self.known.get(key).map_or(0, |known| known.size)
    }

    /// The files of a record, in order.
    pub(super) fn parts(&mut self, key: &Key, records: &dyn Records) -> Option<Vec<RecordPart>> {
        let head = self.head(key, records)?;
        let bases = self.bases(&head, key.agent, records);
        let mut parts: Vec<RecordPart> = bases
            .into_iter()
            .map(|Base { native, until }| {
                let file = self.known.get(&Key { agent: key.agent, native }).map(|known| known.file.clone());
                RecordPart { file, until: Some(until) }
            })
            .collect();
        parts.push(RecordPart { file: Some(self.known.get(key)?.file.clone()), until: None });
        Some(parts)
    }

    /// The parts before a record, the oldest first.
    fn bases(&mut self, head: &Head, agent: usize, records: &dyn Records) -> Vec<Base> {
        let mut bases = Vec::new();
        let mut next = head.base.clone();
        while let Some(base) = next.take().filter(|_| bases.len() < FORKS) {
            let key = Key { agent, native: base.native.clone() };
            next = self.head(&key, records).and_then(|head| head.base.clone());
            bases.push(base);
        }
        bases.reverse();
        bases
    }

    fn head(&mut self, key: &Key, records: &dyn Records) -> Option<Arc<Head>> {
        let known = self.known.get_mut(key)?;
        match &known.head {
            Some((_, Some(head))) => return Some(Arc::clone(head)),
            // The record had no head, and has not grown since.
            Some((size, None)) if *size == known.size => return None,
            Some((_, None)) | None => {}
        }
        let head = look_at(&known.file, records).map(Arc::new);
        known.head = Some((known.size, head.clone()));
        head
    }
}

fn look_at(file: &Path, records: &dyn Records) -> Option<Head> {
    let mut lines = RecordLines::of_file(file.to_owned());
    let mut looked_at = 0;
    let mut next = || -> Option<Raw> {
        let before = lines.place();
        if looked_at > LOOKED_AT || before > LOOKED_AT_MOST {
            return None;
        }
        match lines.next() {
            Ok(line) => {
                looked_at += (lines.place() - before).min(USUAL_LINE);
                line.map(|line| line.text)
            }
            Err(error) => {
                tracing::debug!(file = %file.display(), %error, "a record cannot be read");
                None
            }
        }
    };
    records.look(file, &mut std::iter::from_fn(&mut next))
}
