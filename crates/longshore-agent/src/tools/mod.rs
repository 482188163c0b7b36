//! The tools of the built-in agent: their list, the judge, and how calls run.
//!
//! | module | holds |
//! |---|---|
//! | `interface` | the messages between the loop and its tools |
//! | `definitions`, `request` | the definitions of the tools for the model, and a parsed call |
//! | `judge` | whether a call may run: mode, rules, paths, commands that only read |
//! | `setting` | the sandbox of a command |
//! | `shell`, `exec`, `command` | commands that run until they end, and terminals that stay open |
//! | `patch`, `edits` | changes of files, all or none |
//! | `read`, `search`, `text` | tools that only read files |
//! | `mcp` | tools of other programs |
//! | `bound` | how much of a tool's output is kept |

mod bound;
mod command;
mod definitions;
mod edits;
mod exec;
mod interface;
mod judge;
mod mcp;
mod patch;
mod read;
mod request;
mod search;
mod setting;
mod shell;
mod text;

use longshore_models::tool::ToolDefinition;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use longshore_model::capability::Mode;
use longshore_model::item::{FileDiff, ToolCall, ToolKind, ToolStatus};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::command::{CommandSetting, Script, Surroundings};
use self::edits::Edits;
use self::exec::Terminals;
use self::mcp::Servers;
use self::request::ToolRequest;
use self::setting::{CommandContext, Temporary};
use crate::sandbox;
use longshore_drivers::host_io::files::locate;

pub use mcp::McpStart;

pub use interface::{
    CallApproval, CallVerdict, Elicitation, Permit, Progress, Risk, ToolInvocation, ToolResult, ToolSettings,
};

/// The beginning of the refusal of a call to an unknown tool.
pub(super) const UNKNOWN: &str = "there is no tool called";

/// The notice for people if the sandbox lacks its view of the file system.
const NO_VIEW: &str = "this system gives a sandbox no view of the file system of its own (a container, most likely): \
     commands that you allow can change git's settings and hooks, and modes and times of files outside of the work tree";

/// The tools of one session. Dropping it ends the terminals and the MCP servers.
#[derive(Debug)]
pub struct Toolbox {
    root: std::path::PathBuf,
    network: bool,
    /// The reason why there is no sandbox. None if there is one.
    no_sandbox: Option<String>,
    rules: RwLock<Vec<String>>,
    surroundings: Surroundings,
    temporary: Arc<Temporary>,
    terminals: Terminals,
    servers: Servers,
    news: Mutex<Option<mpsc::Receiver<McpStart>>>,
    notices: Vec<String>,
}

impl Toolbox {
    /// Prepares the tools, and starts the MCP servers. [`Toolbox::notices`] has what failed.
    pub async fn new(settings: ToolSettings) -> Self {
        let ToolSettings { cwd, network, sandbox, allow, secrets, servers, .. } = settings;
        let no_sandbox = match sandbox {
            true => sandbox::available().err(),
            false => Some("it is switched off".to_owned()),
        };
        let mut notices = Vec::new();
        if let Some(why) = &no_sandbox {
            notices.push(format!("commands run without a sandbox, so each one asks, except in full: {why}"));
        } else if !sandbox::keeps() {
            notices.push(NO_VIEW.to_owned());
        }
        let setting = mcp::McpSetting {
            cwd: cwd.clone(),
            secrets: secrets.clone(),
            wait: settings.servers_within,
            patience: settings.mcp_timeout,
            patience_of: settings.mcp_timeouts,
        };
        let (servers, failed, news) = Servers::start(servers, &setting).await;
        notices.extend(failed);
        Self {
            root: cwd,
            network,
            no_sandbox,
            rules: RwLock::new(allow),
            surroundings: Surroundings::new(secrets),
            temporary: Arc::default(),
            terminals: Terminals::default(),
            servers,
            news: Mutex::new(Some(news)),
            notices,
        }
    }

    /// The later results of MCP servers that were still starting. The receiver can be taken once.
    pub fn news(&self) -> Option<mpsc::Receiver<McpStart>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Notices for people: an MCP server did not start, or there is no sandbox.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The definitions of the tools for the model. The tools of MCP servers may change at any time.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions = definitions::built_in();
        definitions.extend(self.servers.definitions());
        definitions
    }

    /// The form of a call for the timeline.
    pub fn tool_call(&self, call: &ToolInvocation) -> ToolCall {
        let request = ToolRequest::of(call, &self.servers);
        let mut shown = ToolCall {
            name: call.name.clone(),
            kind: request.as_ref().map_or(ToolKind::Other, ToolRequest::kind),
            command: None,
            cwd: None,
            input: call.arguments.clone(),
        };
        let run = match &request {
            Ok(ToolRequest::Shell(shell::ShellArguments { command, cwd, .. })) => Some((command, cwd)),
            Ok(ToolRequest::Exec(exec::ExecArguments::Start { command, cwd, .. })) => Some((command, cwd)),
            Ok(ToolRequest::Mcp(target, _)) => {
                shown.name = target.name();
                None
            }
            Ok(_) | Err(_) => None,
        };
        if let Some((command, cwd)) = run {
            shown.command = Some(command.line());
            let place = locate(&self.root, cwd.as_deref().unwrap_or("."));
            shown.cwd = place.ok().map(|place| place.path.display().to_string());
        }
        shown
    }

    /// Decides whether a call may run in this mode. Refuses a call that is malformed or impossible, with the reason.
    pub fn verdict(&self, call: &ToolInvocation, mode: Mode) -> CallVerdict {
        match ToolRequest::of(call, &self.servers) {
            Ok(request) => self.judge(&request, mode),
            Err(fault) => CallVerdict::Refuse(fault),
        }
    }

    fn judge(&self, request: &ToolRequest, mode: Mode) -> CallVerdict {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let ground = judge::Ground {
            root: &self.root,
            mode,
            sandbox: self.no_sandbox.is_none(),
            network: self.network,
            rules: &rules,
            servers: &self.servers,
        };
        judge::verdict(request, &ground)
    }

    /// The changes that an editing call would make.
    pub fn preview(&self, call: &ToolInvocation) -> Option<FileDiff> {
        let mut edits = Edits::new(&self.root);
        match ToolRequest::of(call, &self.servers).ok()? {
            ToolRequest::Patch(text) => patch::plan(&text, &mut edits).ok()?,
            ToolRequest::Write(arguments) => edits.change(&arguments.path, arguments.content).ok()?,
            ToolRequest::Shell(_)
            | ToolRequest::Exec(_)
            | ToolRequest::Read(_)
            | ToolRequest::Fetch(_)
            | ToolRequest::List(_)
            | ToolRequest::Search(_)
            | ToolRequest::Image(_)
            | ToolRequest::Mcp(..) => return None,
        }
        Some(edits.diff(ToolStatus::Running))
    }

    /// Adds rules of [`CallApproval::always`], for as long as the toolbox lives.
    pub fn allow(&self, rules: &[String]) {
        let mut known = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        known.extend(rules.iter().cloned());
    }

    /// Runs a call until it ends or is cancelled. Dropping the future stops the call too.
    pub async fn run(
        &self,
        call: ToolInvocation,
        permit: Permit,
        progress: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) -> ToolResult {
        let request = match ToolRequest::of(&call, &self.servers) {
            Ok(request) => request,
            Err(fault) => return ToolResult::failed(fault),
        };
        match self.judge(&request, permit.mode) {
            CallVerdict::Go => {}
            CallVerdict::Ask(_) if permit.approved => {}
            CallVerdict::Ask(ask) => {
                let text = format!("this needs a yes from a person: {}", ask.reason);
                return ToolResult::ended(ToolStatus::Declined, text);
            }
            CallVerdict::Refuse(fault) => return ToolResult::failed(fault),
        }
        self.go(request, permit, progress, cancel).await
    }

    async fn go(
        &self,
        request: ToolRequest,
        permit: Permit,
        progress: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) -> ToolResult {
        match request {
            ToolRequest::Shell(arguments) => {
                let shell::ShellArguments { command: script, cwd, timeout_ms, escalate, .. } = arguments;
                let setting = match self.setting(script.clone(), cwd, escalate, permit).await {
                    Ok(setting) => setting,
                    Err(fault) => return ToolResult::failed(fault),
                };
                let timeout = timeout_ms.map_or(shell::TIMEOUT, Duration::from_millis).min(shell::LONGEST);
                let run = shell::ShellRun { script, setting, timeout };
                shell::run(run, &self.surroundings, progress, cancel).await
            }
            ToolRequest::Exec(arguments) => {
                let setting = match &arguments {
                    exec::ExecArguments::Start { command, cwd, escalate, .. } => {
                        match self.setting(command.clone(), cwd.clone(), *escalate, permit).await {
                            Ok(setting) => Some(setting),
                            Err(fault) => return ToolResult::failed(fault),
                        }
                    }
                    exec::ExecArguments::Write { .. }
                    | exec::ExecArguments::Read { .. }
                    | exec::ExecArguments::Yield { .. }
                    | exec::ExecArguments::Kill { .. } => None,
                };
                self.terminals.run(arguments, setting, &self.surroundings, progress, cancel).await
            }
            ToolRequest::Mcp(target, arguments) => {
                self.servers.call(&target, arguments, progress, cancel).await
            }
            ToolRequest::Patch(_)
            | ToolRequest::Write(_)
            | ToolRequest::Read(_)
            | ToolRequest::Fetch(_)
            | ToolRequest::List(_)
            | ToolRequest::Search(_)
            | ToolRequest::Image(_) => {
                let root = self.root.clone();
                let done = tokio::task::spawn_blocking(move || with_files(request, &root, &cancel)).await;
                done.unwrap_or_else(|error| ToolResult::failed(format!("the tool broke: {error}")))
            }
        }
    }

    /// The folder and the sandbox of a command. This reads from the disk.
    async fn setting(
        &self,
        script: Script,
        cwd: Option<String>,
        escalate: bool,
        permit: Permit,
    ) -> Result<CommandSetting, String> {
        let stage = CommandContext {
            root: self.root.clone(),
            locked: !escalate && self.no_sandbox.is_none(),
            network: self.network,
            permit,
            temporary: Arc::clone(&self.temporary),
        };
        let set = move || stage.set(&script, cwd.as_deref().unwrap_or("."));
        tokio::task::spawn_blocking(set).await.map_err(|error| format!("the tool broke: {error}"))?
    }
}

/// Runs a tool that needs only the disk.
fn with_files(request: ToolRequest, root: &std::path::Path, cancel: &CancellationToken) -> ToolResult {
    let look = |path: &str, look: &dyn Fn(&std::path::Path) -> ToolResult| match locate(root, path) {
        Ok(place) => look(&place.path),
        Err(fault) => ToolResult::failed(fault.to_string()),
    };
    let mut edits = Edits::new(root);
    let planned = match request {
        ToolRequest::Patch(text) => patch::plan(&text, &mut edits),
        ToolRequest::Write(arguments) => edits.change(&arguments.path, arguments.content),
        ToolRequest::Read(arguments) => return look(&arguments.path, &|file| read::lines(file, &arguments)),
        ToolRequest::Fetch(arguments) => {
            return look(&arguments.path, &|file| read::whole(file, &arguments.path));
        }
        ToolRequest::List(arguments) => {
            return look(&arguments.path, &|folder| read::list(folder, &arguments));
        }
        ToolRequest::Search(arguments) => {
            return look(&arguments.path, &|place| search::search(place, &arguments, cancel));
        }
        ToolRequest::Image(arguments) => {
            return look(&arguments.path, &|file| read::image(file, &arguments.path));
        }
        ToolRequest::Shell(_) | ToolRequest::Exec(_) | ToolRequest::Mcp(..) => {
            Err("this tool needs more than the disk".to_owned())
        }
    };
    match planned.and_then(|()| edits.commit()) {
        Ok(()) => {
            let diff = Some(edits.diff(ToolStatus::Completed));
            ToolResult { diff, ..ToolResult::done(format!("Done:\n{}", edits.summary())) }
        }
        Err(fault) => ToolResult::failed(fault),
    }
}
