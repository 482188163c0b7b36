//! Asks OpenCode for its conversations, because the tables of its database, `opencode.db`, are private.
//!
//! OpenCode writes a message of the model when the message begins, and again with every change, until the
//! message has an end. If the process was killed, the end never comes. Then the next message of the model
//! follows, or nothing for a long time. OpenCode writes a person's message before its text. The message is
//! complete when the model begins to answer.

use std::path::PathBuf;

use longshore_model::event::Raw;

use crate::discover::Surroundings;
use crate::import::{RecordReader, ServedRecords};
use crate::opencode::wire::{InfoHead, MessageHead};

pub use super::translate::Conversation;

/// The database of OpenCode.
#[derive(Clone, Copy, Debug)]
pub struct Database;

impl ServedRecords for Database {
    fn home_variables(&self) -> &'static [&'static str] {
        &["OPENCODE_DB", "XDG_DATA_HOME"]
    }

    fn files(&self, around: &Surroundings) -> Vec<PathBuf> {
        let set = around.var("XDG_DATA_HOME").map(PathBuf::from);
        let data = set.or_else(|| around.home().map(|home| home.join(".local/share")));
        let Some(data) = data.map(|data| data.join("opencode")) else { return Vec::new() };
        if let Some(named) = around.var("OPENCODE_DB") {
            // A relative path counts from the usual folder.
            let file = data.join(named);
            let mut log = file.clone().into_os_string();
            log.push("-wal");
            return [file, PathBuf::from(log)].into_iter().filter(|file| file.is_file()).collect();
        }
        // Unreleased versions have `opencode-<channel>.db` instead.
        let is_database =
            |name: &str| name.starts_with("opencode") && (name.ends_with(".db") || name.ends_with(".db-wal"));
        let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
        let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_database));
        let mut files: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        files.sort();
        files
    }

    fn places(&self, messages: &[Raw], rest: Option<u64>) -> Vec<u64> {
        let heads: Vec<Option<InfoHead>> = messages
            .iter()
            .map(|message| serde_json::from_str::<MessageHead>(message).ok().map(|message| message.info))
            .collect();
        let is_step = |head: &Option<InfoHead>| head.as_ref().is_some_and(|head| head.role == "assistant");
        let last_step = heads.iter().rposition(is_step);
        let mut places = Vec::with_capacity(messages.len());
        let mut place = 0;
        for (at, head) in heads.iter().enumerate() {
            let is_done = head.as_ref().is_some_and(|head| head.time.completed.is_some());
            if rest.is_none() && (Some(at) > last_step || (Some(at) == last_step && !is_done)) {
                return places;
            }
            let moment = head.as_ref().and_then(|head| head.time.completed.or(head.time.created));
            if let Some(moment) = moment {
                place = place.max(moment.max(1.0) as u64);
                // A message without a time gets the place of the next message.
                places.resize(at + 1, place);
            }
        }
        if let Some(rest) = rest {
            places.resize(messages.len(), place.max(rest));
        }
        places
    }

    fn reader(&self, native: &str) -> Box<dyn RecordReader> {
        Box::new(Conversation::new(native))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn user(created: u64) -> Value {
        json!({"info": {"id": "u", "role": "user", "time": {"created": created}}})
    }

    fn step(created: u64, completed: Option<u64>) -> Value {
        json!({"info": {"id": "a", "role": "assistant", "time": {"created": created, "completed": completed}}})
    }

    fn places(messages: &[Value], rest: Option<u64>) -> Vec<u64> {
        let messages: Vec<Raw> = messages.iter().map(|message| Raw::from(message.to_string())).collect();
        Database.places(&messages, rest)
    }

    #[test]
    fn a_message_stands_where_it_ended_and_never_before_another() {
        assert_eq!(places(&[user(10), step(11, Some(20)), step(21, Some(30))], None), [10, 20, 30]);
        // The user wrote this while the model worked, so it belongs to the model's message.
        assert_eq!(
            places(&[user(10), step(11, Some(20)), user(15), step(21, Some(30))], None),
            [10, 20, 20, 30]
        );
        assert_eq!(places(&[], None), [0; 0]);
    }

    #[test]
    fn what_is_not_finished_is_waited_for() {
        assert_eq!(places(&[user(10), step(11, None)], None), [10]);
        assert_eq!(places(&[user(10), step(11, None), user(12)], None), [10]);
        assert_eq!(places(&[user(10), step(11, Some(20)), user(21)], None), [10, 20]);
        assert_eq!(places(&[user(10), step(11, Some(20)), user(21)], Some(21)), [10, 20, 21]);
        // The wait ends after a rest, or when the model has continued.
        assert_eq!(places(&[user(10), step(11, None)], Some(15)), [10, 11]);
        assert_eq!(places(&[user(10), step(11, None), user(12), step(13, Some(14))], None), [10, 11, 12, 14]);
    }

    #[test]
    fn what_has_no_time_stands_with_what_comes_after_it() {
        let broken = json!("?");
        assert_eq!(
            places(&[broken.clone(), user(10), broken.clone(), step(11, Some(20))], None),
            [10, 10, 20, 20]
        );
        assert_eq!(places(&[user(10), broken], Some(15)), [10, 15]);
    }

    #[test]
    fn the_database_is_where_the_environment_says() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".local/share/opencode");
        let around = Surroundings::of([("HOME", home.path())]);
        assert!(Database.files(&around).is_empty());
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["opencode.db", "opencode.db-wal", "opencode.db-shm", "auth.json"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        assert_eq!(Database.files(&around), [folder.join("opencode.db"), folder.join("opencode.db-wal")]);
        let elsewhere = around.with(&[("OPENCODE_DB".to_owned(), "mine.db".to_owned())].into());
        assert!(Database.files(&elsewhere).is_empty());
        std::fs::write(folder.join("mine.db"), "").unwrap();
        assert_eq!(Database.files(&elsewhere), [folder.join("mine.db")]);
        let data = home.path().join(".local/share").display().to_string();
        let named = Surroundings::of([("XDG_DATA_HOME", data)]);
        assert_eq!(Database.files(&named).len(), 2);
    }
}
