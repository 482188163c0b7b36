//! The keyring in the file of the log: a small table that the one writer changes.

use std::time::Duration;

use longshore_model::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteLog;
use super::sqlite_error::SqliteError;
use crate::clock::now;
use crate::{KeyEntry, KeyUpdate, KeyWatch, Keyring, LogError, LogFuture, Revision};

impl Keyring for SqliteLog {
    fn get(&self, key: String) -> LogFuture<'_, Option<KeyEntry>> {
        Box::pin(self.readers.run("reading a key", move |reader| find(reader, &key, now())))
    }

    fn list(&self, prefix: String) -> LogFuture<'_, Vec<KeyEntry>> {
        Box::pin(self.readers.run("listing keys", move |reader| list(reader, &prefix, now())))
    }

    fn put_if(
        &self,
        key: String,
        value: String,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> LogFuture<'_, Option<Revision>> {
        Box::pin(async move {
            let until = ttl.map(|ttl| now().plus_millis(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)));
            let (put, text) = (key.clone(), value.clone());
            let put = move |writer: &Connection| put_if(writer, &put, &text, expected, until);
            let revision = Revision::new(self.change(put).await?);
            if revision == Revision::NONE {
                return Ok(None);
            }
            self.keys.tell(KeyUpdate::Put(KeyEntry { key, value, revision }));
            Ok(Some(revision))
        })
    }

    fn delete(&self, key: String, expected: Option<Revision>) -> LogFuture<'_, bool> {
        Box::pin(async move {
            let deleted = key.clone();
            let deleted = self.change(move |writer| delete(writer, &deleted, expected)).await? > 0;
            if deleted {
                self.keys.tell(KeyUpdate::Deleted(key));
            }
            Ok::<_, LogError>(deleted)
        })
    }

    fn watch(&self, prefix: String) -> KeyWatch {
        self.keys.watch(prefix)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<KeyEntry> {
    let revision = Revision::new(row.get::<_, i64>(2)? as u64);
    Ok(KeyEntry { key: row.get(0)?, value: row.get(1)?, revision })
}

fn find(reader: &Connection, key: &str, now: Timestamp) -> Result<Option<KeyEntry>, SqliteError> {
    let mut statement = reader.prepare_cached(
        "SELECT key, value, revision FROM keys WHERE key = ?1 AND (until IS NULL OR until > ?2)",
    )?;
    Ok(statement.query_row(params![key, now.micros()], entry).optional()?)
}

fn list(reader: &Connection, prefix: &str, now: Timestamp) -> Result<Vec<KeyEntry>, SqliteError> {
    let mut statement = reader.prepare_cached(
        "SELECT key, value, revision FROM keys WHERE substr(key, 1, length(?1)) = ?1 \
         AND (until IS NULL OR until > ?2) ORDER BY key",
    )?;
    let entries = statement.query_map(params![prefix, now.micros()], entry)?;
    Ok(entries.collect::<rusqlite::Result<_>>()?)
}

/// Returns the new revision; 0 if another writer was first.
fn put_if(
    writer: &Connection,
    key: &str,
    value: &str,
    expected: Revision,
    until: Option<Timestamp>,
) -> Result<u64, SqliteError> {
    let now = now();
    writer.execute("DELETE FROM keys WHERE until <= ?1", [now.micros()])?;
    let stands_at = find(writer, key, now)?.map(|entry| entry.revision).unwrap_or_default();
    if stands_at != expected {
        return Ok(0);
    }
    writer.execute("DELETE FROM keys WHERE key = ?1", [key])?;
    writer.execute(
        "INSERT INTO keys (key, value, until) VALUES (?1, ?2, ?3)",
        params![key, value, until.map(Timestamp::micros)],
    )?;
    Ok(writer.last_insert_rowid() as u64)
}

fn delete(writer: &Connection, key: &str, expected: Option<Revision>) -> Result<u64, SqliteError> {
    let expected = expected.map(|expected| expected.number() as i64);
    let gone = writer.execute(
        "DELETE FROM keys WHERE key = ?1 AND (?2 IS NULL OR revision = ?2) AND (until IS NULL OR until > ?3)",
        params![key, expected, now().micros()],
    )?;
    Ok(gone as u64)
}
