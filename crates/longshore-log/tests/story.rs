//! The stories, told by the backends of this crate.

use std::path::Path;
use std::sync::Arc;

use longshore_log::story::{self, Reopen};
use longshore_log::{LogSettings, MemoryLog, SqliteLog, Stores};

fn memory() -> Stores {
    Arc::new(MemoryLog::new()).into()
}

fn sqlite(folder: &Path) -> Stores {
    Arc::new(SqliteLog::open(folder, &LogSettings::default()).unwrap()).into()
}

/// A log in a folder, and how it is opened again.
async fn on_disk(story: impl AsyncFnOnce(Stores, Reopen<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let reopen = |log: Stores| {
        drop(log);
        sqlite(folder.path())
    };
    story(sqlite(folder.path()), &reopen).await;
}

#[tokio::test]
async fn memory_tells_the_story_of_a_journal() {
    story::journal(memory(), &|log| log).await;
}

#[tokio::test]
async fn sqlite_tells_the_story_of_a_journal() {
    on_disk(story::journal).await;
}

#[tokio::test]
async fn memory_tells_the_story_of_a_catalog_and_is_made_anew() {
    story::catalog(memory(), &|log| log, memory()).await;
}

#[tokio::test]
async fn sqlite_tells_the_story_of_a_catalog_and_is_made_anew() {
    let other = tempfile::tempdir().unwrap();
    on_disk(async |log, reopen| story::catalog(log, reopen, sqlite(other.path())).await).await;
}

#[tokio::test]
async fn memory_tells_the_story_of_a_keyring() {
    story::keyring(memory(), &|log| log).await;
}

#[tokio::test]
async fn sqlite_tells_the_story_of_a_keyring() {
    on_disk(story::keyring).await;
}
