//! The agent's process: one task that runs the machine, connected to the pipes, the model, the tools and the clock.
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | messages of models and tools | 256 | they wait |
//! | lines to the hub | the output of one batch of messages | the machine waits, and so do models and tools |
//! | lines from the hub | one | the hub waits |

mod files;
mod http;
mod tool_tasks;

use longshore_models::http::NoAddress;
use longshore_models::tool::ToolDefinition;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use longshore_model::approval::QuestionAnswer;
use longshore_model::command::AgentCommand;
use longshore_model::event::NoticeLevel;
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::machine::{Effect, Machine, MachineInput, Opening};
use super::tools::{Elicitation, McpStart, ToolSettings, Toolbox};
use crate::memory::Memory;
use longshore_drivers::react::settings::{AGENTS_VARIABLE, ReactSettings, VARIABLE};
use longshore_drivers::react::wire::ToAgent;

use crate::AgentLine;
use longshore_drivers::{clock, leash};

/// How many messages of models and tools may wait.
const WAITING: usize = 256;
/// How many messages the agent handles before it writes the resulting lines.
const AT_ONCE: usize = 64;

/// How much memory the process may take. A long conversation needs far less, and every machine has this much.
const MEMORY: u64 = 2 << 30;

/// How long the processes of tools may take to end. It is less than the hub gives the agent.
const WIND_UP: Duration = Duration::from_secs(1);

/// The reason why the agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The settings cannot be parsed.
    #[error("the settings in {VARIABLE} cannot be understood: {0}")]
    ReactSettings(#[from] serde_json::Error),
    /// No setting names a model service.
    #[error("nothing says where a model is; {}", longshore_drivers::react::SET_UP)]
    NoModel,
    /// The environment variable with the key is not set.
    #[error("the variable {0}, which is to hold the key of the model's service, is not set")]
    NoKey(String),
    /// The address of the service is no valid address.
    #[error("base_url cannot be used: {0}")]
    NoAddress(#[from] NoAddress),
    /// The HTTP client cannot be built.
    #[error("HTTP cannot be spoken here: {0}")]
    Http(#[from] reqwest::Error),
    /// The pipes to the hub are broken.
    #[error("the pipes to the hub are broken: {0}")]
    Io(#[from] io::Error),
}

/// An event outside of the machine.
enum OutsideEvent {
    To(MachineInput),
    Elicits { call: String, elicitation: Elicitation },
    McpStart(McpStart),
}

/// Runs the agent on the pipes of this process, until the hub closes them.
pub async fn run() -> Result<(), RunError> {
    leash::allow(MEMORY);
    let settings: ReactSettings = match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => serde_json::from_str(&text)?,
        Ok(_) | Err(_) => ReactSettings::default(),
    };
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let settings = settings.resolved(var).ok_or(RunError::NoModel)?;
    let key = match &settings.key_env {
        Some(name) => Some(var(name).ok_or_else(|| RunError::NoKey(name.clone()))?),
        None => None,
    };
    let agents = var(AGENTS_VARIABLE).unwrap_or_default();
    let agents = agents.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let service = http::Service::new(&settings, key)?;
    let (tell, happened) = mpsc::channel(WAITING);
    let process = AgentProcess {
        machine: Machine::new(settings.clone()),
        ids: Ids::seeded(getrandom::u64().unwrap_or_else(|_| clock::now().micros() as u64)),
        settings,
        service,
        agents,
        toolbox: None,
        offered: Vec::new(),
        tell,
        asking: HashMap::new(),
        running: HashMap::new(),
        askers: HashMap::new(),
        next_asker: 0,
        unsaid: Vec::new(),
        finished: false,
    };
    process.live(happened).await
}

struct AgentProcess {
    machine: Machine,
    ids: Ids,
    settings: ReactSettings,
    service: http::Service,
    agents: Vec<String>,
    toolbox: Option<Arc<Toolbox>>,
    /// The tools that the model knows.
    offered: Vec<ToolDefinition>,
    tell: mpsc::Sender<OutsideEvent>,
    asking: HashMap<u64, AbortHandle>,
    running: HashMap<String, CancellationToken>,
    askers: HashMap<u64, oneshot::Sender<QuestionAnswer>>,
    next_asker: u64,
    /// Lines that the process has not written yet.
    unsaid: Vec<u8>,
    finished: bool,
}

impl AgentProcess {
    async fn live(mut self, mut happened: mpsc::Receiver<OutsideEvent>) -> Result<(), RunError> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut stdout = tokio::io::stdout();
        let mut batch = Vec::with_capacity(AT_ONCE);
        while !self.finished {
            if !self.unsaid.is_empty() {
                stdout.write_all(&self.unsaid).await?;
                stdout.flush().await?;
                self.unsaid.clear();
            }
            let deadline = self.machine.deadline();
            let wait = deadline.map(clock::until).unwrap_or_default();
            tokio::select! {
                line = lines.next_line() => match line? {
                    Some(line) => self.line(&line).await,
                    None => {
                        self.wind_up(happened).await;
                        return Ok(());
                    }
                },
                _ = happened.recv_many(&mut batch, AT_ONCE) => {
                    for one in batch.drain(..) {
                        self.happened(one);
                    }
                }
                () = tokio::time::sleep(wait), if deadline.is_some() => self.handle(MachineInput::Tick),
            }
        }
        stdout.write_all(&self.unsaid).await?;
        stdout.flush().await?;
        Ok(())
    }

    /// Stops all requests and calls when the hub has closed the pipes. Then it waits up to `WIND_UP` for the tasks of
    /// the calls. These end the processes of tools, also processes that the leash of a tool does not reach.
    async fn wind_up(self, happened: mpsc::Receiver<OutsideEvent>) {
        self.running.values().for_each(CancellationToken::cancel);
        self.asking.values().for_each(AbortHandle::abort);
        drop((self, happened));
        let alive = tokio::runtime::Handle::current().metrics();
        let mut pace = tokio::time::interval(WIND_UP / 200);
        for _ in 0..200 {
            if alive.num_alive_tasks() == 0 {
                return;
            }
            pace.tick().await;
        }
    }

    async fn line(&mut self, line: &str) {
        match ToAgent::of_line(line) {
            Ok(ToAgent::Open(launch)) => {
                let opening = self.open(*launch).await;
                self.handle(MachineInput::Open(Box::new(opening)));
            }
            Ok(ToAgent::Tell(command)) => {
                let command = with_files(command).await;
                self.look_for_tools();
                self.handle(MachineInput::Told(command));
            }
            Ok(ToAgent::Models(id)) => {
                let models = self.service.models(self.settings.model.as_deref()).await;
                self.say(&AgentLine::models(id, models));
            }
            Err(error) => tracing::warn!(%error, "cannot understand a line of the hub"),
        }
    }

    /// Prepares a session.
    async fn open(&mut self, launch: longshore_model::anchor::Launch) -> Opening {
        use longshore_model::anchor::Start;
        let mut launch = launch;
        let memory = match &mut launch.start {
            Start::Lines { lines } => {
                let lines = std::mem::take(lines);
                files::look_again(Memory::of_lines(&lines)).await
            }
            Start::New | Start::Told { .. } | Start::Resume { .. } | Start::Fork { .. } => Memory::default(),
        };
        let toolbox = Toolbox::new(ToolSettings {
            network: self.settings.network,
            sandbox: self.settings.sandbox,
            allow: self.settings.allow.clone(),
            secrets: self.settings.key_env.iter().cloned().collect(),
            servers: std::mem::take(&mut launch.mcp_servers),
            mcp_timeout: patience(self.settings.mcp_timeout_s),
            mcp_timeouts: self
                .settings
                .mcp_timeouts_s
                .iter()
                .map(|(name, seconds)| (name.clone(), patience(*seconds)))
                .collect(),
            ..ToolSettings::new(&launch.cwd)
        });
        let named = launch.model.clone().or_else(|| self.settings.model.clone());
        let (toolbox, advice) = tokio::join!(toolbox, files::advice(&launch.cwd));
        let mut notices = toolbox.notices().to_vec();
        let model = match named {
            Some(model) => Some(model),
            None => match self.service.models(None).await {
                Ok(models) => models.into_iter().next().map(|model| model.id),
                Err(error) => {
                    let section = format!("[agents.{}]", launch.agent);
                    notices.push(format!(
                        "no model is set under {section}, and the service does not list any: {error}"
                    ));
                    None
                }
            },
        };
        if let Some(mut news) = toolbox.news() {
            let tell = self.tell.clone();
            tokio::spawn(async move {
                while let Some(news) = news.recv().await {
                    if tell.send(OutsideEvent::McpStart(news)).await.is_err() {
                        return;
                    }
                }
            });
        }
        let toolbox = Arc::new(toolbox);
        self.toolbox = Some(Arc::clone(&toolbox));
        self.offered = toolbox.definitions();
        Opening {
            launch,
            memory,
            model,
            tools: self.offered.clone(),
            describe: Arc::new(move |call| toolbox.tool_call(call)),
            agents: self.agents.clone(),
            advice,
            notices,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Gives the machine the new list of tools, if an MCP server has changed its tools.
    fn look_for_tools(&mut self) {
        let found = self.toolbox.as_ref().map(|toolbox| toolbox.definitions()).unwrap_or_default();
        if found != self.offered {
            self.offered.clone_from(&found);
            self.handle(MachineInput::Tools(found));
        }
    }

    fn happened(&mut self, happened: OutsideEvent) {
        match happened {
            OutsideEvent::To(MachineInput::Ran { call, result }) => {
                self.running.remove(&call);
                self.look_for_tools();
                self.handle(MachineInput::Ran { call, result });
            }
            OutsideEvent::To(input) => self.handle(input),
            OutsideEvent::McpStart(news) => {
                self.look_for_tools();
                self.handle(match news {
                    McpStart::Ready(name) => {
                        let text = format!("the MCP server `{name}` is ready, and its tools are there");
                        MachineInput::Notice { level: NoticeLevel::Info, text }
                    }
                    McpStart::Failed(text) => MachineInput::Notice { level: NoticeLevel::Warning, text },
                });
            }
            OutsideEvent::Elicits { call, elicitation } => {
                self.next_asker += 1;
                let asker = self.next_asker;
                let Elicitation { server, message, fields, url, answer } = elicitation;
                self.askers.retain(|_, answer| !answer.is_closed());
                self.askers.insert(asker, answer);
                let text = url.map(|url| format!("{message}\n{url}")).unwrap_or(message);
                self.handle(MachineInput::Elicits { call, asker, source: server, text, fields });
            }
        }
    }

    fn handle(&mut self, input: MachineInput) {
        let mut effects = Vec::new();
        let mut cx = Context { now: clock::now(), ids: &mut self.ids };
        self.machine.handle(input, &mut cx, &mut effects);
        for effect in effects {
            self.carry_out(effect);
        }
    }

    fn say(&mut self, said: &AgentLine) {
        match serde_json::to_writer(&mut self.unsaid, said) {
            Ok(()) => self.unsaid.push(b'\n'),
            Err(error) => tracing::error!(%error, "a line cannot be written"),
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Say(said) => self.say(&said),
            Effect::Ask { number, request } => {
                let asking = self.service.ask(number, request, self.tell.clone());
                self.asking.retain(|_, task| !task.is_finished());
                self.asking.insert(number, tokio::spawn(asking).abort_handle());
            }
            Effect::Hush { number } => {
                if let Some(task) = self.asking.remove(&number) {
                    task.abort();
                }
            }
            Effect::Weigh { call, mode } => {
                let Some(toolbox) = &self.toolbox else { return };
                tool_tasks::weigh(Arc::clone(toolbox), call, mode, self.tell.clone());
            }
            Effect::Run { call, permit } => {
                let Some(toolbox) = &self.toolbox else { return };
                let id = call.id.clone();
                let cancel = tool_tasks::run(Arc::clone(toolbox), call, permit, self.tell.clone());
                self.running.insert(id, cancel);
            }
            Effect::Cancel { call } => {
                if let Some(cancel) = self.running.remove(&call) {
                    cancel.cancel();
                }
            }
            Effect::Reply { asker, answer } => {
                if let Some(asker) = self.askers.remove(&asker) {
                    // The tool may no longer wait for the answer.
                    drop(asker.send(answer));
                }
            }
            Effect::Allow(rules) => {
                if let Some(toolbox) = &self.toolbox {
                    toolbox.allow(&rules);
                }
            }
            Effect::Finish(reason) => {
                tracing::warn!(reason, "there is nothing to do");
                self.finished = true;
            }
        }
    }
}

/// Reads the image files that a prompt attaches, so that the model can see them.
async fn with_files(command: AgentCommand) -> AgentCommand {
    match command {
        AgentCommand::Prompt { turn, prompt, text, attachments } => {
            AgentCommand::Prompt { turn, prompt, text, attachments: files::images(attachments).await }
        }
        AgentCommand::Steer { turn, prompt, text, attachments } => {
            AgentCommand::Steer { turn, prompt, text, attachments: files::images(attachments).await }
        }
        other @ (AgentCommand::Interrupt { .. }
        | AgentCommand::Decide { .. }
        | AgentCommand::Answer { .. }
        | AgentCommand::SetMode(_)
        | AgentCommand::SetModel(_)
        | AgentCommand::SetEffort(_)
        | AgentCommand::Rename(_)
        | AgentCommand::Archive(_)
        | AgentCommand::Child { .. }) => other,
    }
}

/// A duration of at least a second: with none, every wait would fail at once.
fn patience(seconds: u64) -> Duration {
    Duration::from_secs(seconds.max(1))
}

/// The seconds since 1970.
fn seconds(now: Timestamp) -> i64 {
    now.micros() / 1_000_000
}
