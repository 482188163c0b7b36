//! Small notes of facades, which outlive the hub: what a client chose before its session is opened.

use longshore_log::Revision;

use crate::error::HubError;
use crate::hub::Hub;

/// Before the names of notes in the keyring.
const NOTES: &str = "note/";

impl Hub {
    /// The note with this name.
    pub async fn note(&self, name: &str) -> Result<Option<String>, HubError> {
        let entry = self.inner.keyring.get(format!("{NOTES}{name}")).await?;
        Ok(entry.map(|entry| entry.value))
    }

    /// Stores a note in a folder, in place of the one with the same name. The folder keeps as many notes as it may have:
    /// the last ones in the order of their names.
    pub async fn put_note(
        &self,
        folder: &str,
        name: &str,
        value: String,
        most: usize,
    ) -> Result<(), HubError> {
        let keyring = &self.inner.keyring;
        let (folder, key) = (format!("{NOTES}{folder}/"), format!("{NOTES}{folder}/{name}"));
        loop {
            let revision = keyring.get(key.clone()).await?.map_or(Revision::NONE, |entry| entry.revision);
            if keyring.put_if(key.clone(), value.clone(), revision, None).await?.is_some() {
                break;
            }
        }
        let notes = keyring.list(folder).await?;
        let surplus = notes.len().saturating_sub(most);
        for old in notes.into_iter().filter(|note| note.key != key).take(surplus) {
            keyring.delete(old.key, None).await?;
        }
        Ok(())
    }

    /// Deletes a note. It is fine if there is none.
    pub async fn drop_note(&self, name: &str) -> Result<(), HubError> {
        self.inner.keyring.delete(format!("{NOTES}{name}"), None).await?;
        Ok(())
    }
}
