//! Small notes of facades, which outlive the hub: what a client chose before its session is opened.

use crate::error::HubError;
use crate::hub::Hub;

/// The longest note. A folder of notes is read as a whole.
const NOTE_BYTES: usize = 128 << 10;

impl Hub {
    /// The note with this name.
    pub async fn note(&self, name: &str) -> Result<Option<String>, HubError> {
        Ok(self.notes(name).await?.into_iter().find(|(known, _)| known == name).map(|(_, value)| value))
    }

    /// The notes whose names begin so, with their names, in the order of the names.
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, String)>, HubError> {
        Ok(self.inner.keyring.notes(prefix).await?)
    }

    /// Stores a note in place of the earlier one. A name has letters, digits, `-`, `_` and `/`.
    pub async fn put_note(&self, name: &str, value: String) -> Result<(), HubError> {
        if value.len() > NOTE_BYTES {
            return Err(HubError::Invalid(format!(
                "this is longer than {NOTE_BYTES} bytes, and cannot be kept"
            )));
        }
        Ok(self.inner.keyring.put_note(name, value).await?)
    }

    /// Stores a note in a folder, in place of the one with the same name. The folder keeps as many notes as it may have:
    /// the last ones in the order of their names.
    pub async fn put_note_among(
        &self,
        folder: &str,
        name: &str,
        value: String,
        most: usize,
    ) -> Result<(), HubError> {
        let key = format!("{folder}/{name}");
        self.put_note(&key, value).await?;
        let notes = self.notes(&format!("{folder}/")).await?;
        let surplus = notes.len().saturating_sub(most);
        for (old, _) in notes.into_iter().filter(|(known, _)| *known != key).take(surplus) {
            self.drop_note(&old).await?;
        }
        Ok(())
    }

    /// Deletes a note. Returns whether it was there.
    pub async fn drop_note(&self, name: &str) -> Result<bool, HubError> {
        Ok(self.inner.keyring.drop_note(name).await?)
    }
}
