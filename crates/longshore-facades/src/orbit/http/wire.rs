//! What the web app sends over HTTP, and what it reads.
//!
//! ```text
//! GET  /admin/status                                    every five seconds, while the page is open
//! POST /admin/token/sessions/new {label, mode}          -> {ok, token, session}
//! POST /uploads/new {filename, mime, bytes}             -> {token, uploadUrl, viewUrl, localPath, filename, mime, expiresAt}
//! PUT  /uploads/TOKEN  the content                      -> {ok, url}
//! GET  /u/TOKEN        for `<img src>`, without a token  -> the content
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many lines a page wants.
#[derive(Debug, Deserialize)]
pub(super) struct Limit {
    pub(super) limit: Option<String>,
}

impl Limit {
    /// The number within its bounds; what is no number is the usual one.
    pub(super) fn within(&self, usual: usize, most: usize) -> usize {
        let asked = self.limit.as_deref().and_then(|limit| limit.parse().ok());
        asked.unwrap_or(usual).clamp(1, most)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Service {
    pub(super) service: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Range {
    pub(super) range: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repair {
    #[serde(default)]
    pub(super) actions: Vec<String>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) ok: bool,
    pub(super) summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NewSession {
    pub(super) label: Option<String>,
    pub(super) mode: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ById {
    #[serde(default)]
    pub(super) id: String,
}

/// A device. The app knows two modes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenSession {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) mode: &'static str,
    pub(super) created_at: i64,
    pub(super) last_used_at: i64,
    pub(super) revoked_at: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeepUploads {
    pub(super) retention_days: Option<f64>,
    pub(super) prune_interval_hours: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredUploads {
    pub(super) file_count: usize,
    pub(super) total_bytes: u64,
    pub(super) oldest_at: Option<String>,
    pub(super) newest_at: Option<String>,
    pub(super) last_prune_at: Option<String>,
    pub(super) last_prune_message: Option<String>,
    pub(super) last_prune_source: Option<&'static str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NewUpload {
    #[serde(default)]
    pub(super) filename: String,
    #[serde(default)]
    pub(super) mime: String,
    pub(super) bytes: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UploadPlace {
    pub(super) token: String,
    pub(super) upload_url: String,
    pub(super) view_url: String,
    pub(super) local_path: String,
    pub(super) filename: String,
    pub(super) mime: String,
    pub(super) expires_at: i64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewTitle {
    #[serde(default)]
    pub(super) thread_id: String,
    pub(super) title: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ProviderChanges {
    #[serde(default)]
    pub(super) providers: serde_json::Map<String, Value>,
}

/// What is set for an agent.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderSettings {
    pub(super) enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) executable_path: Option<String>,
}

/// A verb, as the page lists it.
#[derive(Debug, Serialize)]
pub(super) struct ListedVerb {
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    pub(super) args: Vec<&'static str>,
    pub(super) description: &'static str,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) tokens: u64,
    pub(super) cost: f64,
    pub(super) threads: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct OfProvider {
    pub(super) provider: String,
    #[serde(flatten)]
    pub(super) totals: Totals,
}

#[derive(Debug, Serialize)]
pub(super) struct OfDay {
    pub(super) day: String,
    pub(super) provider: String,
    pub(super) tokens: u64,
}
