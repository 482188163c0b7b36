//! Carries thoughts of one service through the API of another.
//!
//! A service needs its thoughts back unchanged. Clients keep the fields that their API has for a thought (`signature`,
//! `encrypted_content`, `reasoning_details`) and send them again. So the gateway puts the service's data into these
//! fields, in a sealed form that it recognises.

use longshore_model::service::{ModelApi, host_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The prefix of data that the gateway sealed.
const MARK: &str = "longshore:";

/// The service that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The API of the service.
    pub api: ModelApi,
    /// The host of the service.
    pub place: String,
}

impl Service {
    /// The service at an address.
    pub fn new(api: ModelApi, url: &str) -> Self {
        Self { api, place: host_of(url).to_owned() }
    }
}

/// The content of a seal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SealedData {
    pub(super) api: ModelApi,
    /// The host of the service that needs the data back.
    #[serde(default)]
    pub(super) from: Option<String>,
    pub(super) data: Value,
}

pub(super) fn seal(service: &Service, data: Value) -> String {
    let sealed = SealedData { api: service.api, from: Some(service.place.clone()), data };
    format!("{MARK}{}", serde_json::to_string(&sealed).unwrap_or_default())
}

/// Opens a seal. Returns none if another service wrote the data, or if the thought had no data.
pub(super) fn open(text: &str) -> Option<SealedData> {
    let sealed: SealedData = serde_json::from_str(text.strip_prefix(MARK)?).ok()?;
    (!sealed.data.is_null()).then_some(sealed)
}
