//! The scribe: the input of a driver, its time, and the driver's output, in one argument.
//!
//! A driver may emit several drafts for one line. A draft that *quotes* the line carries the line as its raw
//! frame. A draft that the driver *says* does not. A line that no draft quotes is *kept* unchanged. So the
//! driver drops no line and reports no line twice.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{Context, SessionId, TurnId};

/// Records what a driver emits for one input.
#[derive(Debug)]
pub(crate) struct Scribe<'a> {
    /// The line from the agent; none for an input without a line, for example a tick.
    pub(crate) raw: Option<&'a Raw>,
    /// The time, and new ids.
    pub(crate) cx: Context<'a>,
    /// The output so far.
    pub(crate) out: &'a mut Output,
    /// How many drafts the output had before this input.
    before: usize,
}

impl<'a> Scribe<'a> {
    /// A scribe for an input without a line.
    pub(crate) fn new(cx: &'a mut Context<'_>, out: &'a mut Output) -> Self {
        let before = out.said.len();
        Self { raw: None, cx: Context { now: cx.now, ids: cx.ids }, out, before }
    }

    /// A scribe for a line.
    pub(crate) fn hearing(
        raw: impl Into<Option<&'a Raw>>,
        cx: &'a mut Context<'_>,
        out: &'a mut Output,
    ) -> Self {
        Self { raw: raw.into(), ..Self::new(cx, out) }
    }

    /// A scribe on the same output whose drafts do not carry the line.
    pub(crate) fn bare(&mut self) -> Scribe<'_> {
        Scribe::new(&mut self.cx, self.out)
    }

    /// Emits a draft that does not carry the line.
    pub(crate) fn say(&mut self, session: SessionId, draft: Draft) {
        self.out.say(session, draft);
    }

    /// Emits a draft that carries the line.
    pub(crate) fn quote(&mut self, session: SessionId, draft: Draft) {
        self.out.say(session, draft.raw(self.raw.cloned()));
    }

    /// Emits a draft for the line. Only the first draft of a line carries the line.
    pub(crate) fn quote_once(&mut self, session: SessionId, draft: Draft) {
        match self.has_quoted() {
            true => self.say(session, draft),
            false => self.quote(session, draft),
        }
    }

    /// Emits drafts for the line. Only the last of these drafts carries the line.
    pub(crate) fn quote_all(&mut self, session: SessionId, drafts: Vec<Draft>) {
        let last = drafts.len().saturating_sub(1);
        for (at, draft) in drafts.into_iter().enumerate() {
            match at == last {
                true => self.quote(session, draft),
                false => self.say(session, draft),
            }
        }
    }

    /// Lets the last draft carry the line. Returns false if there is no draft.
    pub(crate) fn quote_last(&mut self) -> bool {
        match self.out.said[self.before..].last_mut() {
            Some((_, draft)) => {
                draft.raw = self.raw.cloned();
                true
            }
            None => false,
        }
    }

    /// Emits a notice for people that carries the line, if there is a session for it.
    pub(crate) fn notice(
        &mut self,
        session: impl Into<Option<SessionId>>,
        turn: Option<TurnId>,
        level: NoticeLevel,
        text: impl Into<String>,
    ) {
        if let Some(session) = session.into() {
            self.quote(session, Draft::new(Body::Notice { level }).turn(turn).text(text));
        }
    }

    /// Keeps the line unchanged, if there is a session for it.
    pub(crate) fn keep(
        &mut self,
        session: impl Into<Option<SessionId>>,
        turn: Option<TurnId>,
        kind: impl Into<String>,
        fault: Option<RawFault>,
    ) {
        if let Some(session) = session.into() {
            self.quote(session, Draft::new(Body::Raw { kind: kind.into(), fault }).turn(turn));
        }
    }

    /// Whether a draft carries the line.
    pub(crate) fn has_quoted(&self) -> bool {
        self.out.said[self.before..].iter().any(|(_, draft)| draft.raw.is_some())
    }
}
