//! One agent process: its driver, its pipes, and its sessions, in one task.
//!
//! The task waits for many things at once: a stop, room at the hub, messages of sessions, the driver's
//! deadline, output of the agent (pipes, port or callback connection), and room in the agent's input.
//! Backpressure: while anything waits for room at the hub, the task does not read the agent's output, and
//! everything else continues. So an interrupt reaches an agent whose session is full: the driver has already
//! handled every line that was read. The order holds, because new drafts line up behind the waiting ones, and
//! new output of the agent stays in the pipe behind its earlier output.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use longshore_model::anchor::{Answer, FromAnchor};
use longshore_model::driver::{Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel, Raw, RawFault};
use longshore_model::id::{QueryId, SessionId};
use longshore_model::lifecycle::TurnOutcome;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::ending::{self, Cause, Ending};
use super::first_start::FirstStart;
use super::interrupts::{Interrupts, UnheededInterrupt};
use super::job::{ProcessJob, Purpose, Started};
use super::outbox::Outbox;
use super::process::{AgentProcess, ProcessEvent};
use super::recorder::Recorder;
use super::routes::{Route, RouteEnd, RouteMessage, Routes};
use super::translator::Translator;
use crate::clock;
use crate::host_io::HostIo;
use crate::transport::http::{Http, HttpEvent};
use crate::transport::socket::{self, Socket};
use crate::transport::{ChildExit, WireLine, at};

/// How many messages and ticks the task handles while the hub has no room. Each adds a few drafts to the
/// outbox.
const HEARD_WHILE_WAITING: usize = 256;

/// The shortest time between two ticks. Without it, a driver whose deadline stays in the past would keep a
/// core busy.
const BETWEEN_TICKS: Duration = Duration::from_millis(10);

/// Where the answer goes to a question that came through the route.
type Asker = oneshot::Sender<Result<Answer, String>>;

pub(crate) struct AgentTask {
    title: String,
    /// The session for which the process was started. None if the process hosts many sessions.
    root: Option<SessionId>,
    /// The sessions that were opened here, and their children.
    hosted: Vec<SessionId>,
    /// The sessions of `hosted` that were opened here, in a process for many sessions.
    opened: HashSet<SessionId>,
    /// The sessions of `hosted` that the agent has reported as ready.
    began: HashSet<SessionId>,
    /// The open questions that came through the route.
    asked: HashMap<QueryId, Asker>,
    /// How long a process for many sessions stays when it hosts none, and since when it has hosted none.
    linger: Option<Duration>,
    idle_since: Instant,
    process: AgentProcess,
    first_start: Arc<FirstStart>,
    /// The agent has not written anything yet.
    silent: bool,
    http: Option<Http>,
    /// The connection of a program that calls back.
    socket: Option<Socket>,
    recorder: Recorder,
    /// Handles files and commands for the driver.
    host_io: HostIo,
    translator: Translator,
    pub(crate) outbox: Outbox,
    out: Output,
    /// Why the anchor is stopping the process.
    cause: Option<Cause>,
    /// Interrupts that the agent has not followed yet.
    interrupts: Interrupts,
    /// How many messages and ticks the task has handled since the hub last had room.
    heard: usize,
    ticked: Instant,
    route: Route,
    routes: Arc<Routes>,
}

impl AgentTask {
    pub(crate) fn new(job: &ProcessJob, started: Started) -> Self {
        let root = job.route.root;
        let linger = match job.purpose {
            Purpose::Machine => Some(job.config.linger),
            Purpose::Session(_) | Purpose::Query(..) => None,
        };
        let Started { process, mark, first_start, http, socket, recorder, translator } = started;
        Self {
            title: job.agent.title().to_owned(),
            root,
            hosted: root.into_iter().collect(),
            opened: HashSet::new(),
            began: HashSet::new(),
            asked: HashMap::new(),
            linger,
            idle_since: Instant::now(),
            process,
            first_start,
            silent: true,
            http,
            socket,
            recorder,
            host_io: HostIo::under(mark),
            translator,
            outbox: Outbox::new(Arc::clone(&job.deliver)),
            out: Output::default(),
            cause: None,
            interrupts: Interrupts::new(root, &job.config.limits),
            heard: 0,
            ticked: Instant::now(),
            route: job.route.clone(),
            routes: Arc::clone(&job.routes),
        }
    }

    pub(crate) fn begin(&mut self, purpose: Purpose) {
        match purpose {
            Purpose::Session(launch) => self.translate(Input::Open(launch)),
            Purpose::Query(id, query) => self.translate(Input::Ask { id, query }),
            Purpose::Machine => {}
        }
    }

    /// Runs until the process has ended and all of its output is in the outbox.
    pub(crate) async fn live(&mut self, end: &mut RouteEnd) -> ChildExit {
        loop {
            if self.outbox.is_empty() {
                self.heard = 0;
            }
            let tells = !self.process.is_full() && !self.socket.as_ref().is_some_and(Socket::is_full);
            let full = !tells || self.http.as_ref().is_some_and(Http::is_full);
            let reads = self.outbox.is_empty() && tells && !self.host_io.is_full();
            let hears = self.cause.is_none() && !full && self.heard < HEARD_WHILE_WAITING;
            let tick = if hears { self.next_tick() } else { None };
            let leaves = self.leaves_at();
            let unheeded = self.interrupts.due().filter(|_| self.cause.is_none());
            tokio::select! {
                biased;
                cause = stopped(&mut end.stop), if self.cause.is_none() => {
                    // Messages that came before the stop go to the agent before its end.
                    while let Ok(message) = end.messages.try_recv() {
                        self.hear(message);
                    }
                    self.stop(cause);
                }
                () = self.outbox.deliver_next(), if !self.outbox.is_empty() => {}
                Some(message) = end.messages.recv(), if hears => self.hear(message),
                () = sleep_until(tick.unwrap_or_else(Instant::now)), if tick.is_some() => {
                    self.ticked = Instant::now();
                    self.heard += 1;
                    self.translate(Input::Tick);
                }
                () = sleep_until(leaves.unwrap_or_else(Instant::now)), if leaves.is_some() => {
                    self.stop(Cause::Idle);
                }
                () = at(unheeded) => self.end_unheeded(),
                (id, result) = self.host_io.next(), if hears && self.host_io.is_busy() => {
                    self.translate(Input::WorkDone { id, result });
                }
                spoke = spoken(&mut self.http, reads), if self.http.is_some() && self.cause.is_none() => {
                    match spoke {
                        HttpEvent::Input(said) => {
                            self.translate(Input::Http(said));
                        }
                        HttpEvent::Garbled { text, fault } => self.translate(Input::Garbled { text, fault }),
                        HttpEvent::Lost(why) => self.stop(Cause::Lost(why)),
                    }
                }
                spoke = over_socket(&mut self.socket, reads), if self.socket.is_some() => {
                    self.take_lines();
                    match spoke {
                        socket::SocketEvent::Readable | socket::SocketEvent::Room => {}
                        socket::SocketEvent::Stuck => self.stop(Cause::Stuck),
                        socket::SocketEvent::Lost(why) => self.stop(Cause::Lost(why)),
                    }
                }
                news = self.process.next(reads) => {
                    self.take_lines();
                    match news {
                        ProcessEvent::Readable | ProcessEvent::Room => {}
                        ProcessEvent::Stuck => self.stop(Cause::Stuck),
                        ProcessEvent::HungUp => self.stop(Cause::HungUp),
                        ProcessEvent::TurnEnded(ended) => self.turn_ended(ended),
                        ProcessEvent::Ended(ended) => {
                            if let Some(socket) = &mut self.socket {
                                socket.hear_last_words().await;
                                self.take_lines();
                            }
                            self.recorder.ended(&ended);
                            return ended;
                        }
                    }
                }
            }
        }
    }

    /// How the process ended, in general and for every session that it hosted.
    pub(crate) fn endings(self, ended: ChildExit) -> (Ending, Vec<(SessionId, Ending)>) {
        let of = |began| Ending::of(&self.title, ended.clone(), self.cause.clone(), began);
        let began = |session: &SessionId| self.began.contains(session);
        let gone = self.hosted.iter().map(|session| (*session, of(began(session)))).collect();
        let ending = of(self.root.is_none());
        for (_, asker) in self.asked {
            // The asker may have given up.
            drop(asker.send(Err(ending.reason.clone())));
        }
        (ending, gone)
    }

    fn hear(&mut self, message: RouteMessage) {
        self.heard += 1;
        match message {
            RouteMessage::Open(launch) => {
                let session = launch.session;
                if self.hosted.contains(&session) {
                    // The session starts anew in the same process, so its old conversation ends first.
                    self.translate(Input::Close { session });
                    self.let_go(session, Ending::let_go(true));
                }
                self.opened.insert(session);
                self.hosted.push(session);
                self.began.remove(&session);
                self.translate(Input::Open(launch));
            }
            RouteMessage::Ask { id, query, answer } => {
                // The task forgets the questions whose askers gave up.
                self.asked.retain(|_, asker| !asker.is_closed());
                self.asked.insert(id, answer);
                self.translate(Input::Ask { id, query });
            }
            RouteMessage::Tell(session, command) => {
                self.interrupts.told(session, &command);
                self.translate(Input::Tell { session, command });
            }
            RouteMessage::LetGo(session) => {
                self.translate(Input::Close { session });
                self.release(session, Ending::let_go(self.opened.contains(&session)));
            }
        }
        self.idle_since = Instant::now();
    }

    /// Stops hosting a session, and removes its route to this process.
    fn release(&mut self, session: SessionId, ending: Ending) {
        self.routes.release(session, self.route.process);
        self.let_go(session, ending);
    }

    fn let_go(&mut self, session: SessionId, ending: Ending) {
        self.hosted.retain(|hosted| *hosted != session);
        self.opened.remove(&session);
        self.interrupts.forget(session);
        self.idle_since = Instant::now();
        let Ending { sleep, reason } = ending;
        self.outbox.send(FromAnchor::Gone { session, sleep, reason });
    }

    fn take_lines(&mut self) {
        while let Some(line) = self.process.line().or_else(|| self.socket.as_mut()?.line()) {
            let (text, fault) = match line {
                WireLine::Whole(text) => (text, None),
                WireLine::Garbled { text, fault } => (text, Some(fault)),
            };
            if std::mem::take(&mut self.silent) {
                self.first_start.is_ready();
            }
            if let Some(http) = &mut self.http {
                http.line(&text);
            }
            let input = match fault {
                None => Input::Line(Raw::clone(&text)),
                Some(fault) => Input::Garbled { text: Raw::clone(&text), fault },
            };
            match self.translator.works() {
                true => self.translate(input),
                false => self.recorder.unheard(&text),
            }
            if !self.translator.works() {
                self.keep(text, fault);
            }
        }
    }

    /// Handles the end of a turn's process. The driver continues.
    fn turn_ended(&mut self, ended: Result<ChildExit, String>) {
        self.process.is_over();
        if let Ok(ended) = &ended {
            self.recorder.ended(ended);
        }
        let Ending { sleep, reason } = match ended {
            Ok(ended) => Ending::of(&self.title, ended, None, true),
            Err(reason) => Ending::not_started(reason),
        };
        self.translate(Input::Ended { sleep, reason });
    }

    /// Calls the driver, and carries out its output.
    fn translate(&mut self, input: Input) {
        let now = clock::now();
        self.recorder.handed(&input, now);
        let result = self.translator.handle(input, now, &mut self.out);
        let Output {
            mut said,
            mut lines,
            run,
            halt,
            mut requests,
            answers,
            host_requests,
            delegates,
            ended,
            finished,
        } = std::mem::take(&mut self.out);
        for (session, draft) in said.drain(..) {
            self.host(session);
            if listens(&draft.body) {
                self.began.insert(session);
            }
            self.say(session, draft);
        }
        for (session, call, request) in delegates {
            self.outbox.send(FromAnchor::Delegate { session, call, request });
        }
        for (id, answer) in answers {
            match self.asked.remove(&id) {
                // The asker may have given up.
                Some(asker) => drop(asker.send(answer)),
                None => self.outbox.send(FromAnchor::Answer { id, answer }),
            }
            self.idle_since = Instant::now();
        }
        if let Some(run) = run {
            self.recorder.ran(&run);
            self.process.run(run);
        }
        if halt {
            self.process.halt();
        }
        self.recorder.wrote(&lines);
        match &mut self.socket {
            Some(socket) => socket.tell(lines.drain(..)),
            None => self.process.tell(lines.drain(..)),
        }
        for work in host_requests {
            self.host_io.begin(work);
        }
        self.recorder.asked(&requests);
        if let Some(http) = &mut self.http {
            http.ask(requests.drain(..));
        }
        // The lists go back to `out`, so that the next line uses their memory again.
        (self.out.said, self.out.lines, self.out.requests) = (said, lines, requests);
        for (session, reason) in ended {
            if self.hosted.contains(&session) {
                self.release(session, Ending::given_up(reason, self.began.contains(&session)));
            }
        }
        if let Some(reason) = finished {
            self.stop(Cause::Finished(reason));
        }
        if let Err(words) = result {
            tracing::error!(agent = self.title, words, "a driver panicked");
            self.stop(Cause::Panicked(words));
        }
    }

    /// Puts a draft into the outbox. If the draft ends an interrupted turn, the commands of that turn end
    /// too.
    fn say(&mut self, session: SessionId, mut draft: Draft) {
        if matches!(self.cause, Some(Cause::Shutdown)) && !self.interrupts.is_told(session) {
            draft = ending::without_end_of_turn(draft);
        }
        self.interrupts.said(session, draft.turn, &draft.body);
        if let Body::TurnFinished(end) = &draft.body {
            self.host_io.turn_ends(session, end.outcome == TurnOutcome::Interrupted);
        }
        self.outbox.say(session, draft);
    }

    /// Ends the process, because the agent did not follow an interrupt.
    fn end_unheeded(&mut self) {
        let Some(UnheededInterrupt { session, turn, within }) = self.interrupts.overdue() else { return };
        let cause = Cause::Unheeded { within };
        let text = Ending::of(&self.title, ChildExit::default(), Some(cause.clone()), true).reason;
        tracing::warn!(agent = self.title, within_s = within.as_secs(), "an interrupt was not heeded");
        // The turn ends when the process has ended, so waiting prompts go to the next process.
        self.say(session, Draft::new(Body::Notice { level: NoticeLevel::Warning }).turn(turn).text(text));
        self.stop(cause);
        self.process.kill();
    }

    /// Keeps a line that no driver translates any more.
    fn keep(&mut self, text: Raw, fault: Option<RawFault>) {
        if let Some(session) = self.root.or_else(|| self.hosted.first().copied()) {
            let body = Body::Raw { kind: "untranslated".to_owned(), fault };
            self.outbox.say(session, Draft::new(body).raw(text));
        }
    }

    /// Hosts a session that the driver mentions for the first time. This happens before the hub hears of the
    /// session, so that the hub can answer. If the session has its own process by now, it stays there.
    fn host(&mut self, session: SessionId) {
        if !self.hosted.contains(&session) && self.routes.adopt(session, &self.route) {
            self.hosted.push(session);
        }
    }

    /// Begins to stop the process. The first cause counts.
    fn stop(&mut self, cause: Cause) {
        self.cause.get_or_insert(cause);
        if let Some(socket) = &mut self.socket {
            socket.stop();
        }
        self.process.stop();
    }

    fn next_tick(&self) -> Option<Instant> {
        let deadline = Instant::now() + clock::until(self.translator.deadline()?);
        Some(deadline.max(self.ticked + BETWEEN_TICKS))
    }

    /// When a process for many sessions ends because no session needs it.
    fn leaves_at(&self) -> Option<Instant> {
        let linger = self.linger.filter(|_| self.cause.is_none() && self.opened.is_empty())?;
        self.asked.values().all(oneshot::Sender::is_closed).then(|| self.idle_since + linger)
    }
}

/// Whether this event shows that the agent is ready.
fn listens(body: &Body) -> bool {
    matches!(body, Body::SessionReady(_) | Body::SessionRevived { .. })
}

async fn spoken(http: &mut Option<Http>, read: bool) -> HttpEvent {
    match http {
        Some(http) => http.next(read).await,
        None => std::future::pending().await,
    }
}

async fn over_socket(socket: &mut Option<Socket>, read: bool) -> socket::SocketEvent {
    match socket {
        Some(socket) => socket.next(read).await,
        None => std::future::pending().await,
    }
}

/// Resolves when the process must stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<Option<Cause>>) -> Cause {
    let cause = stop.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
    // Nobody holds the sender any more, so nobody can stop the process.
    cause.unwrap_or(Cause::Shutdown)
}
