//! The events of a session: a page of JSON, all of them as NDJSON, or live as server-sent events, as `Accept` says.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_session::{HubError, Subscription};
use tracing::warn;

use super::call;
use super::params::EventsParams;
use crate::gate::Gate;
use crate::problem::Problem;

/// How often a quiet stream says that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many events of a stream are read at once.
const PAGE: usize = 512;

/// `GET /api/v1/sessions/{id}/events`.
pub(super) async fn events(
    gate: Gate,
    id: Result<Path<SessionId>, PathRejection>,
    query: Result<Query<EventsParams>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (Path(session), Query(mut params)) = (id?, query?);
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("text/event-stream") {
        params.after = last_event_id(&headers)?.unwrap_or(params.after);
        return live(&gate, session, params).await;
    }
    if accept.contains("application/x-ndjson") {
        return all(gate, session, params).await;
    }
    let page = call::events(&gate, session, params).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], page.to_json()).into_response())
}

/// Where a client that comes back left off. Browsers send it by themselves.
fn last_event_id(headers: &HeaderMap) -> Result<Option<Seq>, Problem> {
    let Some(last) = headers.get("last-event-id").filter(|last| !last.is_empty()) else { return Ok(None) };
    let seq = last.to_str().ok().and_then(|last| last.parse().ok()).map(Seq);
    seq.map(Some).ok_or_else(|| Problem::invalid("`Last-Event-ID` is not the seq of an event"))
}

async fn live(gate: &Gate, session: SessionId, params: EventsParams) -> Result<Response, Problem> {
    let subscription = gate.subscribe(session, params.after, call::with_raw(params.raw)).await?;
    let stream = stream::unfold(subscription, move |mut subscription: Subscription| async move {
        let text = match tokio::time::timeout(HEARTBEAT, subscription.next()).await {
            Err(_) => ":\n\n".to_owned(),
            Ok(Ok(frames)) => {
                let mut text = String::new();
                for frame in frames.iter() {
                    let _ = write!(text, "id: {}\ndata: {}\n\n", frame.seq(), json_of(frame, params.raw));
                }
                text
            }
            Ok(Err(error)) => {
                warn!(%session, %error, "a stream ends");
                return None;
            }
        };
        Some((Ok::<_, std::convert::Infallible>(text), subscription))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response())
}

/// All events up to now, a line each. A log that cannot be read on cuts the body short, so that nobody takes the part
/// for the whole.
async fn all(gate: Gate, session: SessionId, params: EventsParams) -> Result<Response, Problem> {
    let head = gate.session(session).await?.head;
    let raw = params.raw;
    let stream = stream::try_unfold((gate, params.after), move |(gate, after)| async move {
        if after >= head {
            return Ok(None);
        }
        let frames = gate.events(session, after, PAGE, call::with_raw(raw)).await?;
        let Some(last) = frames.last().map(Frame::seq) else { return Ok::<_, HubError>(None) };
        let lines: String = frames.iter().flat_map(|frame| [json_of(frame, raw), "\n".into()]).collect();
        Ok(Some((lines, (gate, last))))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(stream)).into_response())
}

/// The JSON of an event on one line. An agent's own frame may bring line breaks along; outside of strings, which
/// cannot have any, they mean nothing.
pub(super) fn json_of(frame: &Frame, raw: bool) -> Cow<'_, str> {
    if !raw {
        return frame.json().into();
    }
    let json = frame.json_with_raw();
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ").into() } else { json.into() }
}
