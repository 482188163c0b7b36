//! Thoughts of one service on their way through the API of another.
//!
//! A service wants its thoughts back as it gave them. Clients keep what their API lets a thought carry (`signature`,
//! `encrypted_content`) and send it again, so that is where they travel, sealed in a text that is known as ours.

use longshore_drivers::react::settings::Api;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// By what ours are known.
const MARK: &str = "longshore:";

#[derive(Serialize, Deserialize)]
struct Sealed {
    api: Api,
    data: Value,
}

pub(super) fn seal(api: Api, data: Value) -> String {
    format!("{MARK}{}", serde_json::to_string(&Sealed { api, data }).unwrap_or_default())
}

/// None for what another service wrote: it is of no use to ours.
pub(super) fn open(text: &str) -> Option<(Api, Value)> {
    let Sealed { api, data } = serde_json::from_str(text.strip_prefix(MARK)?).ok()?;
    Some((api, data))
}
