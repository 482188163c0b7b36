//! The body of a streamed answer: the log of a session from one prompt on, until the turn of that prompt is over.
//!
//! A body is a cursor over the log. So it may begin when the turn ended long ago, or before a restart of the hub, and a
//! client that does not read blocks nobody. It ends cleanly whatever happens: after a body that breaks off, clients
//! send the message again and show everything twice. Only a revoked device gets no end.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{FutureExt, stream};
use longshore_model::id::Seq;
use longshore_session::Frames;
use tracing::warn;

use super::framing::Framing;
use super::turn::TurnReader;
use super::wire::ChatMessageResponse;
use crate::auth::Caller;
use crate::outgo::{OutgoShare, OutgoSubscription, OutgoText};

/// How often a quiet stream sends a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many bytes of objects are written at once.
const PIECE: usize = 32 << 10;

/// The objects of one turn.
pub(super) struct TurnStream {
    subscription: OutgoSubscription,
    reader: TurnReader,
    framing: Framing,
    /// Objects up to this event are not sent.
    after: Seq,
    batch: Option<FrameBatch>,
    has_ended: bool,
}

/// Frames that were read, of which some are not written yet.
struct FrameBatch {
    frames: Frames,
    at: usize,
    /// The room of the frames.
    share: OutgoShare,
}

impl TurnStream {
    pub(super) fn new(
        subscription: OutgoSubscription,
        reader: TurnReader,
        framing: Framing,
        after: Seq,
    ) -> Self {
        Self { subscription, reader, framing, after, batch: None, has_ended: false }
    }

    /// The answer whose body is this stream. It breaks off when the caller must leave.
    pub(super) fn response(self, caller: Caller) -> Response {
        let kind = self.framing.content_type();
        let dismissed = async move { caller.dismissed().await }.boxed();
        let pieces = stream::try_unfold((self, dismissed), |(mut turn, mut dismissed)| async move {
            tokio::select! {
                biased;
                () = &mut dismissed => Err(io::Error::other("the token is no longer valid")),
                piece = turn.next() => Ok(piece.map(|piece| (piece, (turn, dismissed)))),
            }
        });
        let headers =
            [(header::CONTENT_TYPE, kind), (header::HeaderName::from_static("x-accel-buffering"), "no")];
        (headers, Body::from_stream(pieces)).into_response()
    }

    /// The whole answer in one object, once the turn is over.
    pub(super) async fn whole(mut self) -> ChatMessageResponse {
        let mut whole = self.reader.quiet();
        while !self.reader.is_over() {
            match self.subscription.next().await {
                Ok((frames, _share)) => {
                    for frame in frames.iter() {
                        match frame.event() {
                            Ok(event) => {
                                self.reader.read(event).into_iter().for_each(|next| whole.settle(next))
                            }
                            Err(error) => whole.settle(self.reader.broken(&error.to_string())),
                        }
                    }
                }
                Err(error) => whole.settle(self.reader.broken(&error.to_string())),
            }
        }
        whole
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(batch) = self.batch.take() {
                let piece = self.write(batch);
                if piece.is_empty() && !self.has_ended {
                    continue;
                }
                return (!piece.is_empty()).then_some(piece);
            }
            if self.has_ended {
                return None;
            }
            match tokio::time::timeout(HEARTBEAT, self.subscription.next()).await {
                Err(_) => return Some(self.framing.sign_of_life(&self.reader.quiet()).into()),
                Ok(Ok((frames, share))) => self.batch = Some(FrameBatch { frames, at: 0, share }),
                Ok(Err(error)) => {
                    warn!(session = %self.subscription.of().session(), %error, "a stream of objects ends");
                    let (seq, mut text) = (self.subscription.of().cursor(), String::new());
                    let last = self.reader.broken(&error.to_string());
                    self.framing.write(&mut text, seq, &last);
                    return Some(self.end(text).into());
                }
            }
        }
    }

    /// Writes the next objects. Those that only add text become one.
    fn write(&mut self, mut batch: FrameBatch) -> Bytes {
        let (mut text, mut held) = (String::new(), None);
        while let Some(frame) = batch.frames.get(batch.at) {
            batch.at += 1;
            let seq = frame.seq();
            let object = match frame.event() {
                Ok(event) => self.reader.read(event),
                Err(error) => Some(self.reader.broken(&error.to_string())),
            };
            if let Some(object) = object.filter(|_| seq > self.after) {
                held = Some(self.join(&mut text, held.take(), (seq, object)));
            }
            if self.reader.is_over() || text.len() > PIECE {
                break;
            }
        }
        if let Some((seq, object)) = held {
            self.framing.write(&mut text, seq, &object);
        }
        if self.reader.is_over() {
            text = self.end(text);
        } else if batch.at < batch.frames.len() {
            self.batch = Some(batch);
            return text.into();
        }
        Bytes::from_owner(OutgoText::new(text, batch.share))
    }

    /// The object that may still grow, after all others are written.
    fn join(
        &self,
        text: &mut String,
        before: Option<(Seq, ChatMessageResponse)>,
        (seq, object): (Seq, ChatMessageResponse),
    ) -> (Seq, ChatMessageResponse) {
        let Some((last, mut before)) = before else { return (seq, object) };
        match before.join(object) {
            None => (seq, before),
            Some(object) => {
                self.framing.write(text, last, &before);
                (seq, object)
            }
        }
    }

    fn end(&mut self, mut text: String) -> String {
        self.has_ended = true;
        text.push_str(self.framing.end());
        text
    }
}
