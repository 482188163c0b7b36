//! The events of a session as streams: all events as NDJSON, or live events as server-sent events. The
//! `Accept` header chooses.

use std::fmt::Write;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, stream};
use longshore_model::frame::Frame;
use longshore_model::id::Seq;
use longshore_session::{HubError, PAGE_BYTES, WithRaw};
use tracing::warn;

use super::call::unreadable;
use super::input::CallInput;
use super::params::EventsParams;
use crate::gate::{Gate, GateError};
use crate::outgo::{OutgoSubscription, OutgoText, bytes_of};
use crate::problem::Problem;

/// How often a quiet stream sends a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many events a stream reads at once.
const PAGE: usize = 512;

/// The stream for which the `Accept` header asks, if any.
pub(super) fn stream(
    gate: Gate,
    input: &CallInput<'_>,
    headers: &HeaderMap,
) -> Option<BoxFuture<'static, Result<Response, Problem>>> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_live = accept.contains("text/event-stream");
    if !is_live && !accept.contains("application/x-ndjson") {
        return None;
    }
    let params = input.read::<EventsParams>().map_err(|fault| unreadable("events", &fault));
    let last = if is_live { last_event_id(headers) } else { Ok(None) };
    let streaming = async move {
        let (params, last) = (params?, last?);
        match is_live {
            true => live(&gate, EventsParams { after: last.unwrap_or(params.after), ..params }).await,
            false => all(gate, params).await,
        }
    };
    Some(streaming.boxed())
}

/// The seq after which a returning client continues. Browsers send this header by themselves.
fn last_event_id(headers: &HeaderMap) -> Result<Option<Seq>, Problem> {
    let Some(last) = headers.get("last-event-id").filter(|last| !last.is_empty()) else { return Ok(None) };
    let seq = last.to_str().ok().and_then(|last| last.parse().ok()).map(Seq);
    seq.map(Some).ok_or_else(|| Problem::invalid("`Last-Event-ID` is not the seq of an event"))
}

async fn live(gate: &Gate, params: EventsParams) -> Result<Response, Problem> {
    let subscription = gate.subscribe(params.session, params.after, with_raw(params.raw)).await?;
    let subscription = OutgoSubscription::new(subscription, gate.outgo());
    let stream = stream::unfold(subscription, move |mut subscription| async move {
        let sent = match tokio::time::timeout(HEARTBEAT, subscription.next()).await {
            Err(_) => Bytes::from_static(b":\n\n"),
            Ok(Ok((frames, share))) => {
                let mut text = String::new();
                for frame in frames.iter() {
                    let _ = write!(text, "id: {}\ndata: {}\n\n", frame.seq(), frame.line(params.raw));
                }
                Bytes::from_owner(OutgoText::new(text, share))
            }
            Ok(Err(error)) => {
                warn!(session = %params.session, %error, "a stream ends");
                return None;
            }
        };
        Some((Ok::<_, std::convert::Infallible>(sent), subscription))
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response())
}

/// All events up to now, one per line. If the log cannot be read to the end, the body is cut short, so that
/// nobody takes a part for the whole.
async fn all(gate: Gate, params: EventsParams) -> Result<Response, Problem> {
    let EventsParams { session, after, raw, .. } = params;
    let head = gate.session(session).await?.head;
    if after > head {
        return Err(HubError::Ahead { after, head }.into());
    }
    let account = gate.outgo();
    let stream = stream::try_unfold((gate, account, after), move |(gate, account, after)| async move {
        if after >= head {
            return Ok(None);
        }
        let mut room = PAGE_BYTES;
        let (frames, share) = loop {
            let mut share = account.room(room).await;
            let frames = gate.events(session, after, PAGE, with_raw(raw)).await?;
            if share.resize(bytes_of(&frames)) {
                break (frames, share);
            }
            room = bytes_of(&frames);
        };
        let Some(last) = frames.last().map(Frame::seq) else { return Ok::<_, GateError>(None) };
        let text = frames.iter().flat_map(|frame| [frame.line(raw), "\n".into()]).collect();
        Ok(Some((Bytes::from_owner(OutgoText::new(text, share)), (gate, account, last))))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(stream)).into_response())
}

pub(super) fn with_raw(raw: bool) -> WithRaw {
    if raw { WithRaw::Yes } else { WithRaw::No }
}
