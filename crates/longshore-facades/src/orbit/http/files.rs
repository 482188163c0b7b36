//! Files that the web app sends before a prompt, and how long they are kept.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::tokens::millis;
use super::wire::{KeepUploads, NewUpload, StoredUploads, UploadPlace};
use super::{body, failed};
use crate::auth::{self, Access};
use crate::file_body;
use crate::gate::Gate;
use crate::kernel::diary::Incident;
use crate::kernel::uploads::{Retention, Upload, UploadError};
use crate::problem::Problem;
use crate::router::App;

/// The most days that files are kept, and the most hours between two clean-ups.
const MOST: (f64, f64) = (3650.0, 168.0);
/// What a file may do in a browser: nothing, also where it is opened by itself.
const POLICY: &str = "default-src 'none'; sandbox";
/// What has a token of its own does not change.
const KEEP: &str = "private, max-age=31536000, immutable";

pub(super) async fn announce(gate: Gate, request: Request) -> Result<Response, Problem> {
    let from = auth::address(&request);
    let NewUpload { filename, mime, bytes } = body(request).await?;
    gate.check(Access::Act)?;
    let app = gate.app();
    if let Some(wait) = app.upload_rate.must_wait(from) {
        app.diary.count(Incident::Limited, "files", gate.now());
        return Err(Problem::too_many_uploads(wait));
    }
    app.upload_rate.count(from);
    let Some(bytes) = bytes.filter(|bytes| *bytes >= 1.0 && bytes.is_finite()) else {
        return Err(Problem::invalid("bytes is required"));
    };
    Ok(match app.uploads.announce(&filename, &mime, bytes as u64, gate.now()).await {
        Ok(ticket) => Json(UploadPlace {
            upload_url: format!("/uploads/{}", ticket.token),
            view_url: format!("/u/{}", ticket.token),
            local_path: ticket.path.to_string_lossy().into_owned(),
            filename: ticket.name,
            mime: ticket.media_type,
            expires_at: millis(ticket.until),
            token: ticket.token,
        })
        .into_response(),
        Err(error) => (status_of(&error), Json(failed(error.to_string()))).into_response(),
    })
}

pub(super) async fn send(
    gate: Gate,
    Path(token): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let bytes = Bytes::from_request(request, &()).await?;
    gate.check(Access::Act)?;
    Ok(match gate.app().uploads.store(&token, kind, bytes, gate.now()).await {
        Ok(()) => Json(json!({ "ok": true, "url": format!("/u/{token}") })).into_response(),
        Err(error) => (status_of(&error), error.to_string()).into_response(),
    })
}

fn status_of(error: &UploadError) -> StatusCode {
    match error {
        UploadError::TooLarge | UploadError::LargerThanAnnounced => StatusCode::PAYLOAD_TOO_LARGE,
        UploadError::Unknown | UploadError::OtherType(_) => StatusCode::BAD_REQUEST,
        UploadError::Here => StatusCode::CONFLICT,
        UploadError::Disk(_) => StatusCode::INSUFFICIENT_STORAGE,
    }
}

/// A file for everybody who has its token. A browser shows pictures, and only saves what could be a page or a script.
pub(super) async fn show(State(app): State<App>, Path(token): Path<String>) -> Response {
    let Some(Upload { path, name, content }) = app.uploads.find(&token) else {
        return Problem::no_route().into_response();
    };
    let Ok((body, length)) = file_body::open(&path).await else { return Problem::no_route().into_response() };
    let how = if content.is_picture() { "inline" } else { "attachment" };
    let mut response = (
        [
            (header::CONTENT_TYPE, content.media_type()),
            (header::CACHE_CONTROL, KEEP),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
        ],
        body,
    )
        .into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.extend(disposition(how, &name).map(|how| (header::CONTENT_DISPOSITION, how)));
    response
}

/// How a browser treats a file, and what it calls it.
pub(super) fn disposition(how: &str, name: &str) -> Option<HeaderValue> {
    let escaped: String = name
        .bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    HeaderValue::from_str(&format!("{how}; filename*=UTF-8''{escaped}")).ok()
}

pub(super) async fn stats(gate: Gate) -> Json<StoredUploads> {
    let stats = gate.app().uploads.stats();
    Json(StoredUploads {
        file_count: stats.files,
        total_bytes: stats.bytes,
        oldest_at: stats.oldest.map(|at| at.to_string()),
        newest_at: stats.newest.map(|at| at.to_string()),
        last_prune_at: stats.last_prune.as_ref().map(|prune| prune.at.to_string()),
        last_prune_message: stats.last_prune.as_ref().map(|prune| format!("removed {} files", prune.removed)),
        last_prune_source: stats.last_prune.map(|prune| if prune.by_hand { "manual" } else { "scheduled" }),
    })
}

pub(super) async fn prune(gate: Gate) -> Result<Json<Value>, Problem> {
    gate.check(Access::Act)?;
    let removed = gate.app().uploads.prune(gate.now(), true).await;
    let deed = format!("{} cleaned up the files: {removed} removed", gate.caller().name());
    gate.app().diary.note(deed, gate.now());
    Ok(Json(json!({ "ok": true, "removed": removed })))
}

pub(super) async fn retain(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let KeepUploads { retention_days, prune_interval_hours } = body(request).await?;
    let uploads = &gate.app().uploads;
    let known = uploads.retention();
    let (days, hours) = MOST;
    let retention = Retention {
        days: whole("retentionDays", retention_days, (0.0, days))?.unwrap_or(known.days),
        every_hours: whole("pruneIntervalHours", prune_interval_hours, (1.0, hours))?
            .unwrap_or(known.every_hours),
    };
    uploads.retain(&gate, retention).await?;
    let Retention { days, every_hours } = retention;
    let deed =
        format!("{} keeps files for {days} days, looked at every {every_hours} hours", gate.caller().name());
    gate.app().diary.note(deed, gate.now());
    Ok(Json(json!({ "ok": true, "retentionDays": days, "pruneIntervalHours": every_hours })))
}

fn whole(name: &str, given: Option<f64>, (least, most): (f64, f64)) -> Result<Option<u32>, Problem> {
    match given {
        None => Ok(None),
        Some(number) if (least..=most).contains(&number) => Ok(Some(number as u32)),
        Some(_) => Err(Problem::invalid(format!("{name} must be {least} to {most}"))),
    }
}
