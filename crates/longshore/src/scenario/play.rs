//! Plays a scenario: a client does its steps, and waits for what should become true.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use longshore_drivers::capture::CaptureEntry;
use longshore_model::approval::{Decision, Subject};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::{Command, Prompt, Reply};
use longshore_model::event::{Body, Event};
use longshore_model::id::{ApprovalId, Seq, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnOutcome};
use longshore_model::timeline::{Content, Timeline};
use longshore_session::{OpenRequest, Subscription, WithRaw};

use super::installed::InstalledAgent;
use super::machine::{has_line, holds, runs_in};
use super::set::{Scenario, ScenarioStep};
use super::shape::{Shape, shape_of};
use super::stage::ScenarioStage;

/// The longest time of one step: longer than any agent takes on a busy machine.
const WITHIN: Duration = Duration::from_secs(120);

/// How long a process may live after its turn was stopped. Without the stop, it would live much longer.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// How often the client looks at the disk and the processes.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// The only client of the session.
pub(super) struct ScenarioClient {
    stage: ScenarioStage,
    /// The agent's capabilities.
    can: Capabilities,
    session: SessionId,
    news: Subscription,
    events: Vec<Arc<Event>>,
    /// The last event before the present scenario.
    before: Seq,
    /// The mode of the session.
    mode: Mode,
    /// The turn of the last prompt.
    turn: Option<TurnId>,
    /// How many requests the model had received before the last prompt.
    asked: u64,
    decided: Vec<ApprovalId>,
}

impl ScenarioClient {
    pub(super) async fn open(found: &InstalledAgent, below: &Path, mode: Mode) -> Result<Self> {
        let stage = ScenarioStage::set_up(found, below).await?;
        let request = OpenRequest {
            agent: found.agent.name().to_owned(),
            cwd: stage.folder.work().display().to_string(),
            mode: Some(mode),
            ..OpenRequest::default()
        };
        let info = stage.hub.open(request).await.context("no session could be opened")?;
        let news = stage.hub.subscribe(info.session_id, Seq::ZERO, WithRaw::No).await?;
        Ok(Self {
            stage,
            can: found.agent.capabilities(),
            session: info.session_id,
            news,
            events: Vec::new(),
            before: Seq::ZERO,
            mode,
            turn: None,
            asked: 0,
            decided: Vec::new(),
        })
    }

    /// Plays a scenario. The error says in words what did not become true.
    pub(super) async fn perform(&mut self, scenario: &Scenario, mode: Mode) -> Result<()> {
        self.stage.prepare(scenario)?;
        if mode != self.mode {
            self.command(Command::SetMode(mode)).await?;
            self.mode = mode;
        }
        if !self.events.is_empty() {
            let head = self.stage.hub.session(self.session).await?.head;
            let all = |talk: &Self| talk.last() >= head;
            self.until("what was recorded is not told", all).await?;
        }
        (self.before, self.turn) = (self.last(), None);
        for step in &scenario.steps {
            self.take(step).await?;
        }
        self.calls_are_known(scenario)
    }

    /// The events of the session.
    pub(super) fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    /// The shape of the scenario.
    pub(super) fn shape(&self, scenario: &Scenario) -> Shape {
        let events: Vec<&Event> = self.events.iter().map(|event| &**event).collect();
        shape_of(&events, self.before, scenario)
    }

    /// The version that the agent reports.
    pub(super) fn version(&self) -> Option<String> {
        self.events.iter().find_map(|event| match &event.body {
            Body::SessionReady(ready) => ready.version.clone(),
            _ => None,
        })
    }

    /// Ends the agent and deletes everything except the wire.
    pub(super) async fn leave(self) -> Vec<CaptureEntry> {
        self.stage.strike().await
    }

    /// Does one step. The error says in words what did not become true.
    async fn take(&mut self, step: &ScenarioStep) -> Result<()> {
        match step {
            ScenarioStep::Ready => {
                self.until("it never began to listen", |talk| talk.is_ready() || talk.slept().is_some())
                    .await?;
                match self.slept() {
                    Some(why) if !self.is_ready() => bail!("it did not begin to listen: {why}"),
                    _ => Ok(()),
                }
            }
            ScenarioStep::Prompt(text) => self.prompt(text).await,
            ScenarioStep::Speaks => self.speaks_first().await,
            ScenarioStep::AtWork => self.at_work().await,
            ScenarioStep::Works => self.works().await,
            ScenarioStep::Asks => self.asks().await.map(|_| ()),
            ScenarioStep::Shows(lines) => self.shows(lines).await,
            ScenarioStep::Decide(decision) => {
                let approval = self.asks().await?;
                self.decide(approval, *decision).await
            }
            ScenarioStep::AllowAll => self.answer_all(&[Decision::AllowOnce]).await,
            ScenarioStep::DenyAll => self.answer_all(&[Decision::Deny, Decision::Cancel]).await,
            ScenarioStep::EndsUnasked => self.ends_unasked().await,
            ScenarioStep::Interrupt => self.command(Command::Interrupt).await,
            ScenarioStep::Kill => self.stage.kill(),
            ScenarioStep::Ends => self.ends().await,
            ScenarioStep::Ended(outcome) => match self.end().map(|end| end.outcome) {
                Some(ended) if ended == *outcome => Ok(()),
                Some(ended) => bail!(
                    "the turn ended {}, and should have ended {}{}",
                    named(&ended),
                    named(outcome),
                    self.why()
                ),
                None => bail!("the turn has not ended"),
            },
            ScenarioStep::Said(words) => {
                need(self.said().contains(words), || format!("it did not say `{words}`"))
            }
            // The log is the memory of an agent that has none.
            ScenarioStep::Written(_) if self.can.memory_in_log => Ok(()),
            ScenarioStep::Written(words) => self.written(words).await,
            ScenarioStep::Remind(text) => self.remind(text).await,
            ScenarioStep::File((name, line)) => {
                let file = self.stage.folder.work().join(name);
                need(has_line(&file, line), || format!("{name} does not say `{line}`"))
            }
            ScenarioStep::Appears(name) => {
                let file = self.stage.folder.work().join(name);
                self.looks(WITHIN, &format!("{name} did not come to be"), move || file.exists()).await
            }
            ScenarioStep::Gone(words) => {
                let (work, words) = (self.stage.folder.work(), words.clone());
                let otherwise = format!("a process still runs `{words}`");
                self.looks(GONE_WITHIN, &otherwise, move || !runs_in(&work, &words)).await
            }
            ScenarioStep::NoFile(name) => {
                let file = self.stage.folder.work().join(name);
                need(!file.exists(), || format!("{name} is there, though nobody allowed it"))
            }
            ScenarioStep::Tells(line) => self.tells(line),
            ScenarioStep::Listed => self.is_listed().await,
            ScenarioStep::NothingWaits => {
                let waiting = self.stage.hub.session(self.session).await?.approvals;
                need(waiting.is_empty(), || "an approval still waits".to_owned())
            }
            ScenarioStep::ToldModel(words) => {
                need(self.told_model(words), || format!("the model was not told `{words}`"))
            }
        }
    }

    /// Reads events until a condition is true; otherwise fails with `otherwise`.
    async fn until(&mut self, otherwise: &str, is_so: impl Fn(&Self) -> bool) -> Result<()> {
        let waiting = async {
            while !is_so(self) {
                let frames = self.news.next().await?;
                for frame in frames.iter() {
                    let event = Arc::clone(frame.event()?);
                    if event.seq != self.last().next() && self.last() != Seq::ZERO {
                        bail!("a gap or a double at event {}", event.seq);
                    }
                    self.events.push(event);
                }
            }
            Ok::<_, anyhow::Error>(())
        };
        match tokio::time::timeout(WITHIN, waiting).await {
            Ok(heard) => heard,
            Err(_) => bail!("{otherwise} within {} s", WITHIN.as_secs()),
        }
    }

    async fn command(&mut self, command: Command) -> Result<()> {
        self.stage.hub.command(self.session, command, "verify".to_owned()).await?;
        Ok(())
    }

    async fn prompt(&mut self, text: &str) -> Result<()> {
        self.asked = self.requests();
        let prompt = Command::Prompt(Prompt { text: text.to_owned(), ..Prompt::default() });
        match self.stage.hub.command(self.session, prompt, "verify".to_owned()).await? {
            Reply::Prompted { turn, .. } => {
                self.turn = Some(turn);
                Ok(())
            }
            Reply::Done | Reply::Decided(_) | Reply::Answered(_) => bail!("the prompt was not taken"),
        }
    }

    async fn ends(&mut self) -> Result<()> {
        self.until("the turn did not end", |talk| talk.end().is_some()).await
    }

    /// The first undecided approval.
    async fn asks(&mut self) -> Result<ApprovalId> {
        self.until("it did not ask", |talk| talk.open_approval().is_some() || talk.end().is_some()).await?;
        self.open_approval().with_context(|| format!("the turn ended without a question{}", self.why()))
    }

    async fn decide(&mut self, approval: ApprovalId, decision: Decision) -> Result<()> {
        self.decided.push(approval);
        let decide = Command::Decide { approval, decision, message: None, input: None };
        self.command(decide).await.with_context(|| format!("it does not take the answer {decision:?}"))
    }

    /// Checks that the change in the waiting approval has these lines.
    async fn shows(&mut self, lines: &[String]) -> Result<()> {
        let approval = self.asks().await?;
        let asked = self.events.iter().find_map(|event| match &event.body {
            Body::ApprovalRequested(request) if request.approval == approval => Some(&request.subject),
            _ => None,
        });
        let Some(Subject::Edit { changes, .. }) = asked else { bail!("it asks without showing the change") };
        let has = |line: &&String| {
            changes.iter().flat_map(|change| change.diff.lines()).any(|shown| shown == line.as_str())
        };
        match lines.iter().find(|line| !has(line)) {
            Some(line) => bail!("the change that is to be approved does not show `{line}`"),
            None => Ok(()),
        }
    }

    /// Waits until the agent works on the last prompt. Not every agent shows this by itself.
    async fn at_work(&mut self) -> Result<()> {
        if self.can.streaming {
            return self.speaks_first().await;
        }
        let Some(model) = self.stage.model.clone() else { bail!("there is no model") };
        let asked = model.requests_when(|heard| heard.count() > self.asked);
        match tokio::time::timeout(WITHIN, asked).await {
            Ok(_) => Ok(()),
            Err(_) => bail!("it did not ask its model within {} s", WITHIN.as_secs()),
        }
    }

    async fn speaks_first(&mut self) -> Result<()> {
        self.until("it said nothing", |talk| talk.speaks() || talk.end().is_some()).await?;
        if self.speaks() { Ok(()) } else { bail!("the turn ended before it said anything{}", self.why()) }
    }

    async fn works(&mut self) -> Result<()> {
        let began = |talk: &Self| {
            let began = |event: &Arc<Event>| {
                event.turn == talk.turn && matches!(event.body, Body::ToolStarted(_) | Body::ToolUpdated(_))
            };
            talk.events.iter().any(began)
        };
        self.until("no tool call began", |talk| began(talk) || talk.end().is_some()).await?;
        if began(self) { Ok(()) } else { bail!("the turn ended before a tool call began{}", self.why()) }
    }

    async fn ends_unasked(&mut self) -> Result<()> {
        self.until("the turn did not end", |talk| talk.open_approval().is_some() || talk.end().is_some())
            .await?;
        match self.open_approval() {
            Some(_) => bail!("it asks, though nobody has to be asked in this mode"),
            None => Ok(()),
        }
    }

    /// Answers every request until the turn ends, each with the first of these answers that is possible.
    async fn answer_all(&mut self, answers: &[Decision]) -> Result<()> {
        loop {
            self.until("the turn did not end", |talk| talk.open_approval().is_some() || talk.end().is_some())
                .await?;
            if self.end().is_some() {
                return Ok(());
            }
            if let Some(approval) = self.open_approval() {
                let can_be = |answer: &&Decision| self.options(approval).contains(answer);
                let answer = answers.iter().find(can_be).or(answers.first()).copied();
                self.decide(approval, answer.context("no answer is known")?).await?;
            }
        }
    }

    async fn written(&mut self, words: &str) -> Result<()> {
        let (folder, words) = (self.stage.folder.path.clone(), words.to_owned());
        self.looks(WITHIN, "it did not write down what it said", move || holds(&folder, &words)).await
    }

    /// Looks at the machine until a condition is true; otherwise fails with `otherwise`.
    async fn looks(
        &self,
        within: Duration,
        otherwise: &str,
        is_so: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<()> {
        let is_so = Arc::new(is_so);
        let mut pace = tokio::time::interval(LOOK_EVERY);
        let waiting = async {
            loop {
                pace.tick().await;
                let is_so = Arc::clone(&is_so);
                if tokio::task::spawn_blocking(move || is_so()).await? {
                    return Ok(());
                }
            }
        };
        match tokio::time::timeout(within, waiting).await {
            Ok(found) => found,
            Err(_) => bail!("{otherwise} within {} s", within.as_secs()),
        }
    }

    async fn remind(&mut self, text: &str) -> Result<()> {
        self.prompt(text).await?;
        self.ends().await?;
        // An agent with one process per turn learns only during the turn that it has forgotten, and that turn
        // fails.
        if self.has_forgotten() && self.end().is_some_and(|end| end.outcome == TurnOutcome::Failed) {
            self.command(Command::Revive { from_log: true }).await?;
            self.prompt(text).await?;
            self.ends().await?;
        }
        Ok(())
    }

    /// Checks that the diff of a finished change has this line.
    fn tells(&self, line: &str) -> Result<()> {
        let timeline = Timeline::of(self.events.iter().map(|event| &**event));
        let mut made = timeline.items.iter().filter(|item| item.seq > self.before);
        let told = made.any(|item| match &item.content {
            Content::Tool { changes, .. } | Content::Diff { changes, .. } => {
                changes.iter().flat_map(|change| change.diff.lines()).any(|told| told == line)
            }
            _ => false,
        });
        if told { Ok(()) } else { bail!("no change is told with `{line}`") }
    }

    /// Checks that the session's row has the first and the last text, the usage, and the agent's own id of
    /// the conversation.
    async fn is_listed(&self) -> Result<()> {
        let info = self.stage.hub.session(self.session).await?;
        let first = self.events.iter().find(|event| matches!(event.body, Body::UserMessage { .. }));
        let first = first.map(|event| event.text()).unwrap_or_default();
        let uses = |event: &Arc<Event>| match &event.body {
            Body::TurnFinished(end) => end.usage.as_ref().is_some_and(|usage| usage.output.is_some()),
            _ => false,
        };
        let said = self.said();
        let preview = info.preview.as_deref().unwrap_or_default();
        match () {
            () if info.title != first => bail!("its title is `{}`, and should be `{first}`", info.title),
            () if preview != said => bail!("its preview is `{preview}`, and should be `{said}`"),
            () if info.usage.output.is_some() != self.events.iter().any(uses) => {
                bail!("what the session used is not what its turns used")
            }
            () if info.native.is_none() => bail!("the agent has no name for the conversation"),
            () if info.capabilities.streaming != self.can.streaming => {
                bail!("it streams otherwise than it says")
            }
            () => Ok(()),
        }
    }

    /// Checks that every tool call has a name and belongs to a turn, whenever the call ended.
    fn calls_are_known(&self, scenario: &Scenario) -> Result<()> {
        let timeline = Timeline::of(self.events.iter().map(|event| &**event));
        let nameless = timeline.items.iter().find(|item| {
            matches!(&item.content, Content::Tool { call, .. } if item.turn.is_none() || call.name.is_empty())
        });
        match nameless {
            Some(item) => bail!("a tool call has no name or no turn in `{}`: {}", scenario.name, item.text),
            None => Ok(()),
        }
    }

    /// The seq of the last event that the client received.
    fn last(&self) -> Seq {
        self.events.last().map_or(Seq::ZERO, |event| event.seq)
    }

    /// Whether any request since the last prompt has these words. The last one may ask for a title instead.
    fn told_model(&self, words: &str) -> bool {
        let Some(model) = &self.stage.model else { return false };
        let heard = model.requests();
        let mut numbered = (heard.dropped..).zip(&heard.requests);
        numbered.any(|(at, request)| at >= self.asked && request.body.to_string().contains(words))
    }

    fn requests(&self) -> u64 {
        self.stage.model.as_ref().map_or(0, |model| model.requests().count())
    }

    fn is_ready(&self) -> bool {
        self.events.iter().any(|event| matches!(event.body, Body::SessionReady(_)))
    }

    fn has_forgotten(&self) -> bool {
        let forgot = |event: &Arc<Event>| matches!(&event.body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed);
        self.events.iter().any(forgot)
    }

    /// Why the agent's process is gone.
    fn slept(&self) -> Option<&str> {
        let slept = |event: &&Arc<Event>| matches!(event.body, Body::SessionSleeping(_));
        self.events.iter().find(slept).map(|event| event.text())
    }

    fn speaks(&self) -> bool {
        self.events.iter().any(|event| event.turn == self.turn && matches!(event.body, Body::MessageDelta))
    }

    fn end(&self) -> Option<&TurnEnd> {
        self.events.iter().filter(|event| event.turn == self.turn).find_map(|event| match &event.body {
            Body::TurnFinished(end) => Some(end),
            _ => None,
        })
    }

    /// The agent's text in the turn of the last prompt.
    fn said(&self) -> String {
        let of_turn = self.events.iter().filter(|event| event.turn == self.turn);
        let done = of_turn.filter(|event| matches!(event.body, Body::MessageDone { .. }));
        done.map(|event| event.text()).collect::<Vec<_>>().join("\n")
    }

    /// The reason that the end of the turn gives.
    fn why(&self) -> String {
        let error = self.end().and_then(|end| end.error.as_ref());
        error.map(|error| format!(": {}", error.message)).unwrap_or_default()
    }

    /// The possible answers to an approval.
    fn options(&self, approval: ApprovalId) -> &[Decision] {
        let options = self.events.iter().find_map(|event| match &event.body {
            Body::ApprovalRequested(request) if request.approval == approval => Some(&request.options[..]),
            _ => None,
        });
        options.unwrap_or_default()
    }

    fn open_approval(&self) -> Option<ApprovalId> {
        let asked = self.events.iter().filter_map(|event| match &event.body {
            Body::ApprovalRequested(request) => Some(request.approval),
            _ => None,
        });
        let over = |approval: ApprovalId| {
            let closes = |event: &Arc<Event>| matches!(&event.body, Body::ApprovalExpired { approval: expired } if *expired == approval);
            self.decided.contains(&approval) || self.events.iter().any(closes)
        };
        asked.into_iter().find(|approval| !over(*approval))
    }
}

/// An error that says `otherwise`, unless it is so.
fn need(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if is_so { Ok(()) } else { bail!(otherwise()) }
}

/// The name of an outcome in the contract.
fn named(outcome: &TurnOutcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}
