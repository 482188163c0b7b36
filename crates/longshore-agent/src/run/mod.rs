//! The process: one task that runs the machine, and around it the pipes, the model, the tools and the clock.
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

/// How much of what models and tools say may wait.
const WAITING: usize = 256;
/// How much of it is taken at once, and written in one go.
const AT_ONCE: usize = 64;

/// How much memory it may take: many times what a long conversation needs, and little enough for any machine.
const MEMORY: u64 = 2 << 30;

/// How long what tools have started may take to end: less than the hub gives us.
const WIND_UP: Duration = Duration::from_secs(1);

/// Why the agent cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Its settings cannot be read.
    #[error("the settings in {VARIABLE} cannot be understood: {0}")]
    ReactSettings(#[from] serde_json::Error),
    /// Nothing names a model service.
    #[error("nothing says where a model is; {}", longshore_drivers::react::SET_UP)]
    NoModel,
    /// The variable with the key is not set.
    #[error("the variable {0}, which is to hold the key of the model's service, is not set")]
    NoKey(String),
    /// The setting is no address.
    #[error("base_url cannot be used: {0}")]
    NoAddress(#[from] NoAddress),
    /// HTTP cannot be spoken.
    #[error("HTTP cannot be spoken here: {0}")]
    Http(#[from] reqwest::Error),
    /// The pipes to the hub are broken.
    #[error("the pipes to the hub are broken: {0}")]
    Io(#[from] io::Error),
}

/// What happened outside of the machine.
enum OutsideEvent {
    To(MachineInput),
    Wonders { call: String, elicitation: Elicitation },
    McpStart(McpStart),
}

/// Runs the agent on this process's pipes, until the hub hangs up.
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
    /// The tools that the model is told of.
    offered: Vec<ToolDefinition>,
    tell: mpsc::Sender<OutsideEvent>,
    asking: HashMap<u64, AbortHandle>,
    running: HashMap<String, CancellationToken>,
    askers: HashMap<u64, oneshot::Sender<QuestionAnswer>>,
    next_asker: u64,
    /// Lines that are not written yet.
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

    /// The hub has hung up. What tools have started ends with us, also what the leash of a tool does not reach.
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

    /// Makes ready what a session needs.
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

    /// MCP servers may have other tools than they had.
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
            OutsideEvent::Wonders { call, elicitation } => {
                self.next_asker += 1;
                let asker = self.next_asker;
                let Elicitation { server, message, fields, url, answer } = elicitation;
                self.askers.retain(|_, answer| !answer.is_closed());
                self.askers.insert(asker, answer);
                let text = url.map(|url| format!("{message}\n{url}")).unwrap_or(message);
                self.handle(MachineInput::Wonders { call, asker, source: server, text, fields });
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
                    // Whoever asked may have given up.
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

/// What came with a prompt and lies in a file is read, where the model can look at it.
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

/// So many seconds, and not none: nothing would ever be waited for.
fn patience(seconds: u64) -> Duration {
    Duration::from_secs(seconds.max(1))
}

/// Seconds since 1970.
fn seconds(now: Timestamp) -> i64 {
    now.micros() / 1_000_000
}
