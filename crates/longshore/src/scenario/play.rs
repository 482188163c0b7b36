//! The playing of a scenario: a client that says what it has to say and waits for what should be true.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use longshore_model::approval::{Decision, Subject};
use longshore_model::capability::Mode;
use longshore_model::command::{Command, Prompt, Reply};
use longshore_model::event::{Body, Event};
use longshore_model::id::{ApprovalId, Seq, SessionId, TurnId};
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnOutcome};
use longshore_session::{OpenRequest, Subscription, WithRaw};

use super::set::ScenarioStep;
use super::stage::ScenarioStage;

/// How long one step may take: longer than any agent takes on a busy machine.
const WITHIN: Duration = Duration::from_secs(120);

/// How long a process may live after the turn that began it was stopped: much shorter than it would live by itself.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// How often the disk and the processes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// The one client of the session.
pub(super) struct ScenarioClient<'a> {
    stage: &'a ScenarioStage,
    session: SessionId,
    news: Subscription,
    pub(super) events: Vec<Arc<Event>>,
    /// The turn that was asked for last.
    turn: Option<TurnId>,
    decided: Vec<ApprovalId>,
}

impl<'a> ScenarioClient<'a> {
    pub(super) async fn open(stage: &'a ScenarioStage, agent: &str, mode: Mode) -> Result<Self> {
        let cwd = stage.folder.work().display().to_string();
        let request =
            OpenRequest { agent: agent.to_owned(), cwd, mode: Some(mode), ..OpenRequest::default() };
        let info = stage.hub.open(request).await.context("no session could be opened")?;
        let news = stage.hub.subscribe(info.session_id, Seq::ZERO, WithRaw::No).await?;
        let (events, decided) = (Vec::new(), Vec::new());
        Ok(Self { stage, session: info.session_id, news, events, turn: None, decided })
    }

    /// One step. What does not come true is an error in words.
    pub(super) async fn take(&mut self, step: &ScenarioStep) -> Result<()> {
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
            ScenarioStep::Speaks => {
                self.until("it said nothing", |talk| talk.speaks() || talk.end().is_some()).await?;
                if self.speaks() {
                    Ok(())
                } else {
                    bail!("the turn ended before it said anything{}", self.why())
                }
            }
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
            ScenarioStep::Kill => {
                let pid = self.stage.running().pop().context("no agent runs")?;
                Ok(rustix::process::kill_process_group(pid, rustix::process::Signal::KILL)?)
            }
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
            ScenarioStep::Said(words) => match self.said().contains(words) {
                true => Ok(()),
                false => bail!("it did not say `{words}`"),
            },
            // The log remembers for an agent that does not.
            ScenarioStep::Written(_) if self.stage.memory_in_log => Ok(()),
            ScenarioStep::Written(words) => self.written(words).await,
            ScenarioStep::Remind(text) => self.remind(text).await,
            ScenarioStep::File((name, line)) => {
                let text = std::fs::read_to_string(self.stage.folder.work().join(name)).unwrap_or_default();
                if text.lines().any(|one| one == line) {
                    Ok(())
                } else {
                    bail!("{name} does not say `{line}`")
                }
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
            ScenarioStep::NoFile(name) => match self.stage.folder.work().join(name).exists() {
                true => bail!("{name} is there, though nobody allowed it"),
                false => Ok(()),
            },
            ScenarioStep::NothingWaits => {
                match self.stage.hub.session(self.session).await?.approvals.is_empty() {
                    true => Ok(()),
                    false => bail!("an approval still waits"),
                }
            }
            ScenarioStep::ToldModel(words) => {
                let requests =
                    self.stage.model.as_ref().map(|model| model.requests().requests).unwrap_or_default();
                let last = requests.last().map(|request| request.body.to_string()).unwrap_or_default();
                if last.contains(words) { Ok(()) } else { bail!("the model was not told `{words}`") }
            }
        }
    }

    /// Hears until something is true; otherwise says so.
    async fn until(&mut self, otherwise: &str, is_so: impl Fn(&Self) -> bool) -> Result<()> {
        let waiting = async {
            while !is_so(self) {
                let frames = self.news.next().await?;
                for frame in frames.iter() {
                    self.events.push(Arc::clone(frame.event()?));
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

    /// The first approval that nobody has decided.
    async fn asks(&mut self) -> Result<ApprovalId> {
        self.until("it did not ask", |talk| talk.open_approval().is_some() || talk.end().is_some()).await?;
        self.open_approval().with_context(|| format!("the turn ended without a question{}", self.why()))
    }

    async fn decide(&mut self, approval: ApprovalId, decision: Decision) -> Result<()> {
        self.decided.push(approval);
        let decide = Command::Decide { approval, decision, message: None, input: None };
        self.command(decide).await.with_context(|| format!("it does not take the answer {decision:?}"))
    }

    /// The change that waits for an answer has these lines.
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

    /// Gives the first of these answers that can be given to whatever is asked, until the turn ends.
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

    /// Looks at the machine until something is so; otherwise says so.
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
        // One with a process for each turn learns in the turn that it has forgotten, and that turn is lost.
        if self.has_forgotten() && self.end().is_some_and(|end| end.outcome == TurnOutcome::Failed) {
            self.command(Command::Revive { from_log: true }).await?;
            self.prompt(text).await?;
            self.ends().await?;
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.events.iter().any(|event| matches!(event.body, Body::SessionReady(_)))
    }

    fn has_forgotten(&self) -> bool {
        let forgot = |event: &Arc<Event>| matches!(&event.body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed);
        self.events.iter().any(forgot)
    }

    /// Why its process is gone.
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

    /// What it said in the turn that was asked for last.
    fn said(&self) -> String {
        let of_turn = self.events.iter().filter(|event| event.turn == self.turn);
        let done = of_turn.filter(|event| matches!(event.body, Body::MessageDone { .. }));
        done.map(|event| event.text()).collect::<Vec<_>>().join("\n")
    }

    /// What the end of the turn says of its reason.
    fn why(&self) -> String {
        let error = self.end().and_then(|end| end.error.as_ref());
        error.map(|error| format!(": {}", error.message)).unwrap_or_default()
    }

    /// What can be answered.
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

/// A word of ours, as the contract has it.
fn named(outcome: &TurnOutcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Whether a process that works in this folder has these words in its command line. Where a machine does not tell in which
/// folder a process works, the words have to do.
fn runs_in(work: &Path, words: &str) -> bool {
    let Ok(all) = std::fs::read_dir("/proc") else {
        let listed = std::process::Command::new("ps").args(["-A", "-o", "args="]).output();
        return listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains(words));
    };
    all.flatten().any(|entry| {
        let at = entry.path();
        let line = std::fs::read(at.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words) && std::fs::read_link(at.join("cwd")).is_ok_and(|cwd| cwd == work)
    })
}

/// Whether a file somewhere below has these words in it.
fn holds(folder: &Path, words: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => holds(&entry.path(), words),
        Ok(kind) if kind.is_file() => std::fs::read(entry.path())
            .is_ok_and(|bytes| bytes.windows(words.len()).any(|window| window == words.as_bytes())),
        _ => false,
    })
}
