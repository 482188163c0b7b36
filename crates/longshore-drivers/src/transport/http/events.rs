//! The stream of events. The transport holds it open, opens it again when it breaks, and gives up when the
//! server is gone.
//!
//! Every line of data is one message. A server that spreads a message over several lines would need more
//! code. No agent does that.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use longshore_model::event::{Raw, RawFault};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::client::{Failure, Peer};
use crate::transport::{Limits, Lines, WireLine};

/// How long the transport waits before it opens a broken stream again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A stream that was open this long was good. After it, the pauses start again from the shortest.
const HELD: Duration = Duration::from_secs(5);

/// An event of the stream.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    Connected,
    Disconnected,
    Event(Raw),
    Garbled {
        text: Raw,
        fault: RawFault,
    },
    /// The stream could not be opened again for too long. This is the last event.
    Lost(String),
}

pub(crate) struct EventStream {
    pub(crate) peer: Peer,
    pub(crate) path: &'static str,
    pub(crate) says_nothing: fn(&str) -> bool,
    pub(crate) limits: Limits,
    pub(crate) hear: mpsc::Sender<StreamEvent>,
}

/// Nobody takes the events any more.
struct NoListener;

impl EventStream {
    /// Follows the stream until nobody takes its events, or the server is lost.
    pub(crate) async fn follow(self) {
        let (mut pause, mut down_since) = (PAUSES.0, Instant::now());
        loop {
            let why = match self.peer.follow(self.path, self.limits.answer).await {
                Ok(body) => {
                    let opened = Instant::now();
                    let Ok(why) = self.listen(body).await else { return };
                    if opened.elapsed() > HELD {
                        (pause, down_since) = (PAUSES.0, Instant::now());
                    }
                    why
                }
                Err(failure) => failure,
            };
            tracing::debug!(path = self.path, error = %why, "a stream of events is not open");
            if down_since.elapsed() > self.limits.stuck {
                drop(self.hear.send(StreamEvent::Lost(why.to_string())).await);
                return;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Reads the stream until it breaks.
    async fn listen(&self, mut body: Incoming) -> Result<Failure, NoListener> {
        self.say(StreamEvent::Connected).await?;
        let mut lines = Lines::new(self.limits.line, self.limits.kept);
        let why = loop {
            // A running server sends heartbeats. A server that sends nothing at all is gone.
            match timeout(self.limits.silence, body.frame()).await {
                Err(_) => break Failure::Late(self.limits.silence.as_secs()),
                Ok(None) => break Failure::Body("it ended".to_owned()),
                Ok(Some(Err(error))) => break Failure::Broke(error),
                Ok(Some(Ok(frame))) => {
                    if let Some(bytes) = frame.data_ref() {
                        lines.room().extend_from_slice(bytes);
                    }
                }
            }
            while let Some(line) = lines.next() {
                match line {
                    WireLine::Whole(text) => {
                        if let Some(data) = text.strip_prefix("data:").map(str::trim)
                            && !data.is_empty()
                            && !(self.says_nothing)(data)
                        {
                            self.say(StreamEvent::Event(data.into())).await?;
                        }
                    }
                    WireLine::Garbled { text, fault } => {
                        self.say(StreamEvent::Garbled { text, fault }).await?
                    }
                }
            }
        };
        self.say(StreamEvent::Disconnected).await?;
        Ok(why)
    }

    async fn say(&self, heard: StreamEvent) -> Result<(), NoListener> {
        self.hear.send(heard).await.map_err(|_| NoListener)
    }
}
