//! Sample sessions to append: the same on every run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Batch, Journal, LogError, Mark, WithRaw};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::event::{Body, Event};
use longshore_model::frame::Frame;
use longshore_model::id::{ItemId, Seq, SessionId, TurnId};
use longshore_model::info::{Activity, SessionInfo, Status};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use uuid::Uuid;

/// No two appends of a story have the same nonce.
static NONCE: AtomicU64 = AtomicU64::new(1);

/// A time of the story.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + second * 1_000_000)
}

/// The session with this number.
pub fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(0x5e55_0000 + number))
}

/// The item with this number.
pub fn item(number: u128) -> ItemId {
    ItemId(Uuid::from_u128(0x17e_0000 + number))
}

/// The turn with this number.
pub fn turn(number: u128) -> TurnId {
    TurnId(Uuid::from_u128(0x7u128 << 64 | number))
}

/// Makes the events of a session, one second apart.
pub struct Talk {
    /// The session.
    pub session: SessionId,
    /// The seq of its last event.
    pub seq: Seq,
    /// The running turn.
    pub turn: Option<TurnId>,
    /// The second of its last event.
    pub clock: i64,
}

impl Talk {
    /// A session without events.
    pub fn new(number: u128) -> Self {
        Self { session: session(number), seq: Seq::ZERO, turn: None, clock: 0 }
    }

    /// Makes the next event.
    pub fn say(&mut self, body: Body, item: Option<ItemId>, text: &str, raw: Option<&str>) -> Frame {
        self.seq = self.seq.next();
        self.clock += 1;
        let event = Event {
            seq: self.seq,
            session: self.session,
            agent: "codex".into(),
            at: at(self.clock),
            turn: self.turn,
            item,
            parent: None,
            text: (!text.is_empty()).then(|| text.to_owned()),
            body,
        };
        Frame::encode(event, raw.map(Into::into)).unwrap()
    }

    /// A turn in which the agent streams these pieces as one message. Every event has a raw frame.
    pub fn turn_of(&mut self, number: u128, pieces: &[&str]) -> Vec<Frame> {
        let message = item(number);
        self.turn = Some(turn(number));
        let mut frames =
            vec![self.say(Body::TurnStarted { prompt: None }, None, "", Some("{\"m\":\"turn\"}"))];
        frames.push(self.say(Body::MessageStarted, Some(message), "", Some("{\"m\":\"start\"}")));
        for piece in pieces {
            let raw = format!("{{\"m\":\"delta\",\"turn\":{number},\"p\":{piece:?}}}");
            frames.push(self.say(Body::MessageDelta, Some(message), piece, Some(&raw)));
        }
        let done = Body::MessageDone { phase: None, partial: false };
        frames.push(self.say(done, Some(message), &pieces.concat(), Some("{\"m\":\"done\"}")));
        let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed));
        frames.push(self.say(end, None, "", Some("{\"m\":\"done\"}")));
        self.turn = None;
        frames
    }

    /// The session's row, with a change.
    pub fn info(&self, change: impl FnOnce(&mut SessionInfo)) -> Arc<SessionInfo> {
        let mut info = SessionInfo {
            provider: "codex".into(),
            session_id: self.session,
            title: "a session".into(),
            project: None,
            repo: None,
            status: Status::Idle,
            created_at: at(0),
            updated_at: at(self.clock),
            touched_at: None,
            preview: None,
            metadata: BTreeMap::new(),
            raw_session: None,
            activity: Activity::Sleeping,
            cwd: "/home/me/boat".into(),
            mode: Mode::Ask,
            model: None,
            effort: None,
            queue_held: false,
            cut_by_restart: false,
            mcp_servers: Vec::new(),
            native: None,
            imported: None,
            capabilities: Capabilities::default(),
            head: self.seq,
            turn: None,
            queue: Vec::new(),
            approvals: Vec::new(),
            questions: Vec::new(),
            usage: Usage::default(),
            context_percent: None,
            cost_usd: None,
            git: None,
            commands: Vec::new(),
            archived: false,
            parent: None,
            forked_from: None,
        };
        change(&mut info);
        Arc::new(info)
    }

    /// A batch of these events.
    pub fn batch(&self, frames: Vec<Frame>) -> Batch {
        Batch { session: self.session, frames: frames.into(), info: None }
    }
}

/// Appends a batch at the end of its session, without a second writer.
pub async fn append(log: &dyn Journal, batch: Batch) -> Result<Mark, LogError> {
    let head = log.head(batch.session).await?;
    log.append(batch, head.mark, Uuid::from_u128(u128::from(NONCE.fetch_add(1, Ordering::Relaxed)))).await
}

/// The end of a session.
pub async fn end(log: &dyn Journal, session: SessionId) -> Seq {
    log.head(session).await.unwrap().seq
}

/// All events of a session, read in pages.
pub async fn all(log: &dyn Journal, session: SessionId, page: usize, raw: WithRaw) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    loop {
        let after = frames.last().map(Frame::seq).unwrap_or_default();
        let read = log.read(session, after, page, raw).await.unwrap();
        assert!(read.len() <= page);
        if read.is_empty() {
            return frames;
        }
        frames.extend(read);
    }
}

/// The seqs of frames.
pub fn seqs(frames: &[Frame]) -> Vec<u64> {
    frames.iter().map(|frame| frame.seq().0).collect()
}

/// The parts of a frame that must survive a log.
pub fn parts(frames: &[Frame]) -> Vec<(u64, String, Option<String>)> {
    let part =
        |frame: &Frame| (frame.seq().0, frame.json().to_owned(), frame.raw().map(|raw| raw.to_string()));
    frames.iter().map(part).collect()
}
