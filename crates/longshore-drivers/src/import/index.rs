//! The index of all records, and what is known of each.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use longshore_model::event::Raw;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;

use super::lines::RecordPart;
use super::{Base, Head, RECORDS, RecordLines, Records};

/// How deep below its folders an agent's records may lie: year, month and day, or project, session and sub-agents.
const DEPTH: usize = 4;
/// How much of a record is looked at for what it is about, in lines of a usual length.
const LOOKED_AT: u64 = 1 << 20;
/// A longer line counts as no more than this: a prompt may have a whole file in it, and stands in a record twice.
const USUAL_LINE: u64 = 64 << 10;
/// How much is looked at however long the lines are.
const LOOKED_AT_MOST: u64 = 64 << 20;
/// How many forks of forks a record may go back to.
const FORKS: usize = 16;

/// A record: whose, by its place among the agents, and the agent's name for the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) agent: usize,
    pub(super) native: NativeId,
}

/// A record as it lies on the disk.
#[derive(Clone, Debug)]
pub(super) struct RecordFile {
    key: Key,
    file: PathBuf,
    size: u64,
    written: Timestamp,
}

/// What is known of a record.
#[derive(Debug)]
pub(super) struct RecordEntry {
    file: PathBuf,
    size: u64,
    /// When somebody last wrote to it.
    pub(super) written: Timestamp,
    /// What its beginning tells, and how long it was when that was looked at.
    head: Option<(u64, Option<Arc<Head>>)>,
    /// How long it was when the hub was last told of it.
    told: Option<u64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Index {
    known: HashMap<Key, RecordEntry>,
}

/// Looks through an agent's folders. Nothing is opened.
pub(super) fn walk(agent: usize, records: &dyn Records, folders: &[PathBuf], found: &mut Vec<RecordFile>) {
    let mut left: Vec<(PathBuf, usize)> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = left.pop() {
        // A folder that is not there has nothing in it.
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
    /// Takes in what lies on the disk: those that are new or have changed, the one that was written to last first.
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
            // Of two records of one conversation the later one counts.
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

    /// How many conversations there are, as far as they were looked at.
    pub(super) fn count(&self) -> usize {
        let is_one = |known: &&RecordEntry| matches!(known.head, Some((_, Some(_))));
        self.known.values().filter(is_one).count()
    }

    /// What the beginning of a record tells, and how long the whole record is.
    pub(super) fn look(&mut self, key: &Key, records: &dyn Records) -> Option<(Arc<Head>, u64)> {
        let head = self.head(key, records)?;
        let size = self.known.get(key)?.size;
        let before: u64 = self.bases(&head, key.agent, records).iter().map(|base| base.until).sum();
        Some((head, before + size))
    }

    /// How long the whole record is by now; none when it is not known, or gone.
    pub(super) fn size_now(&mut self, key: &Key, records: &dyn Records) -> Option<u64> {
        let known = self.known.get_mut(key)?;
        known.size = std::fs::metadata(&known.file).ok()?.len();
        self.look(key, records).map(|(_, size)| size)
    }

    /// The hub knows of it.
    pub(super) fn told(&mut self, key: &Key, size: u64) {
        if let Some(known) = self.known.get_mut(key) {
            known.told = Some(size);
        }
    }

    /// How long the file itself is.
    pub(super) fn size(&self, key: &Key) -> u64 {
        self.known.get(key).map_or(0, |known| known.size)
    }

    /// The files that a record is made of, in their order.
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

    /// What comes before a record, the oldest first.
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
            // There was nothing in it, and nothing has come since.
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
