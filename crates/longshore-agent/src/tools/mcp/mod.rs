//! MCP servers: programs and services that offer tools.
//!
//! The agent starts all servers at once, each within [`START_WITHIN`]. The session waits for them a while; a slower
//! server brings its tools when it is ready. If a server does not start, or ends, the session says so, and only that
//! server's tools fail. If a server is silent during a call for as long as [`McpSetting`] allows, the call ends.

mod client;
mod connect;
mod handler;
mod names;
mod process;
mod results;

use longshore_models::tool::ToolDefinition;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use longshore_model::item::ToolStatus;
use longshore_model::mcp::{McpServer, McpTransport};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, Tool};
use rmcp::service::{RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::handler::Handler;
use self::process::ServerProcess;
use super::{Progress, ToolResult};

/// How long a server may take until its tools are known. The first start may download a package.
const START_WITHIN: Duration = Duration::from_secs(60);

/// How many events of servers may wait: more than one of each server.
const NEWS: usize = 2 * longshore_model::mcp::MOST_SERVERS;

/// The running servers. Dropping them ends all servers, also servers that still start.
#[derive(Debug)]
pub(super) struct Servers {
    running: Arc<RwLock<Vec<Arc<Server>>>>,
    names: RwLock<names::ToolNames>,
    starting: JoinSet<()>,
}

/// The late result of a server's start, after the session has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpStart {
    /// The server is ready and its tools are available.
    Ready(String),
    /// The server did not start, for this reason.
    Failed(String),
}

#[derive(Debug)]
struct Server {
    name: String,
    /// The position of the server in the settings.
    place: usize,
    client: RunningService<RoleClient, Handler>,
    tools: Arc<RwLock<Vec<Tool>>>,
    process: Option<ServerProcess>,
    /// How long the server may be silent during a call.
    patience: Duration,
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) server: String,
    pub(super) tool: String,
}

impl Target {
    /// The name for people: `server.tool`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.server, self.tool)
    }
}

impl Servers {
    /// Starts all servers. The list has notices about the time in which the session waits; the receiver gets later
    /// results.
    pub(super) async fn start(
        servers: Vec<McpServer>,
        setting: &McpSetting,
    ) -> (Self, Vec<String>, mpsc::Receiver<McpStart>) {
        let (tell, mut news) = mpsc::channel(NEWS);
        let mut notices = Vec::new();
        let mut waiting: Vec<String> = Vec::new();
        let mut all = Self { running: Arc::default(), names: RwLock::default(), starting: JoinSet::new() };
        for (place, server) in servers.into_iter().enumerate() {
            if server.name.is_empty() || waiting.contains(&server.name) {
                notices
                    .push(format!("there are two MCP servers called `{}`; the first is used", server.name));
                continue;
            }
            let name = server.name.clone();
            waiting.push(name.clone());
            let (running, setting, tell) = (Arc::clone(&all.running), setting.clone(), tell.clone());
            all.starting.spawn(async move {
                let told = match start(server, place, setting).await {
                    Ok(server) => {
                        let mut running = running.write().unwrap_or_else(PoisonError::into_inner);
                        running.push(Arc::new(server));
                        running.sort_by_key(|server| server.place);
                        McpStart::Ready(name)
                    }
                    Err(fault) => McpStart::Failed(format!("the MCP server `{name}` did not start: {fault}")),
                };
                // The channel has room for the results of all servers.
                let _ = tell.try_send(told);
            });
        }
        drop(tell);
        let deadline = tokio::time::Instant::now() + setting.wait;
        let mut ended = 0;
        let mut ready = Vec::new();
        while ended < waiting.len() {
            match tokio::time::timeout_at(deadline, news.recv()).await {
                Ok(Some(McpStart::Ready(name))) => ready.push(name),
                Ok(Some(McpStart::Failed(fault))) => notices.push(fault),
                Ok(None) => break,
                Err(_) => {
                    let told = |notice: &String, name: &str| {
                        notice.starts_with(&format!("the MCP server `{name}` "))
                    };
                    waiting.retain(|name| {
                        !ready.contains(name) && !notices.iter().any(|notice| told(notice, name))
                    });
                    notices.extend(waiting.iter().map(|name| {
                        format!("the MCP server `{name}` is still starting; its tools come when it is ready")
                    }));
                    break;
                }
            }
            ended += 1;
        }
        (all, notices, news)
    }

    fn running(&self) -> Vec<Arc<Server>> {
        self.running.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.running().into_iter().find(|server| server.name == name)
    }

    /// The tools of all servers.
    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        let mut names = names::ToolNames::default();
        let mut definitions = Vec::new();
        for server in self.running() {
            for tool in server.tools().iter() {
                let target = Target { server: server.name.clone(), tool: tool.name.to_string() };
                let name = names.add(target);
                let description = tool.description.as_deref().unwrap_or_default();
                definitions.push(ToolDefinition {
                    name,
                    description: format!("{description} (MCP server {})", server.name)
                        .trim_start()
                        .to_owned(),
                    parameters: Value::Object(tool.input_schema.as_ref().clone()),
                    side_by_side: only_reads(tool),
                });
            }
        }
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = names;
        definitions
    }

    /// Finds a tool by the name of its definition, or as `server.tool` or `server__tool`.
    pub(super) fn find(&self, name: &str) -> Option<Target> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = names.find(name) {
            return Some(target.clone());
        }
        self.running().iter().find_map(|server| {
            let rest = name.strip_prefix(server.name.as_str())?;
            let tool = rest.strip_prefix('.').or_else(|| rest.strip_prefix("__"))?;
            let known = server.tools().iter().any(|known| known.name == tool);
            known.then(|| Target { server: server.name.clone(), tool: tool.to_owned() })
        })
    }

    /// Whether a tool only reads, according to its server.
    pub(super) fn only_reads(&self, target: &Target) -> bool {
        self.server(&target.server).is_some_and(|server| {
            server.tools().iter().any(|tool| tool.name == target.tool && only_reads(tool))
        })
    }

    /// Calls a tool.
    pub(super) async fn call(
        &self,
        target: &Target,
        arguments: Value,
        progress: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) -> ToolResult {
        let Some(server) = self.server(&target.server) else {
            return ToolResult::failed(format!("there is no MCP server `{}`", target.server));
        };
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            other => return ToolResult::failed(format!("the arguments must be an object, not {other}")),
        };
        let heard = server.client.service().hear(progress);
        let request = CallToolRequestParams::new(target.tool.clone()).with_arguments(arguments);
        let called = tokio::select! {
            called = server.client.call_tool(request) => called,
            // The dropped future tells the server that the request is cancelled.
            () = cancel.cancelled() => {
                return ToolResult::ended(ToolStatus::Cancelled, "[stopped by a person]");
            }
            // The dropped future cancels the request here, too.
            () = heard.silence(server.patience) => {
                return ToolResult::failed(format!(
                    "{}: the MCP server said nothing for {} s, and is no longer waited for (mcp_timeout_s). What was \
                     asked of it may have been done all the same",
                    target.name(),
                    server.patience.as_secs_f64()
                ));
            }
        };
        match called {
            Ok(result) => results::of(result),
            Err(ServiceError::McpError(error)) => {
                ToolResult::failed(format!("{}: {}", target.name(), error.message))
            }
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                ToolResult::failed(server.obituary())
            }
            Err(error) => ToolResult::failed(format!("{}: {}", target.name(), connect::plain(&error))),
        }
    }
}

fn only_reads(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint).unwrap_or(false)
}

impl Server {
    fn tools(&self) -> RwLockReadGuard<'_, Vec<Tool>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for calls of a server that has ended.
    fn obituary(&self) -> String {
        let last = self.process.as_ref().and_then(ServerProcess::last_words);
        let last = last.map(|words| format!("; its last words were:\n{words}")).unwrap_or_default();
        format!("the MCP server `{}` has ended, so its tools fail{last}", self.name)
    }
}

/// The settings with which servers start.
#[derive(Clone, Debug)]
pub(super) struct McpSetting {
    /// The folder in which servers run. It is also the root that they learn.
    pub(super) cwd: std::path::PathBuf,
    /// Variables of the agent's environment that servers do not get.
    pub(super) secrets: Vec<String>,
    /// How long the session waits for servers at its start.
    pub(super) wait: Duration,
    /// How long servers may be silent during a call.
    pub(super) patience: Duration,
    /// The same for single servers, by name.
    pub(super) patience_of: BTreeMap<String, Duration>,
}

async fn start(server: McpServer, place: usize, setting: McpSetting) -> Result<Server, String> {
    let McpServer { name, transport } = server;
    let patience = setting.patience_of.get(&name).copied().unwrap_or(setting.patience);
    let tools = Arc::new(RwLock::new(Vec::new()));
    let handler = Handler::new(name.clone(), &setting.cwd, Arc::clone(&tools));
    let process = match &transport {
        McpTransport::Stdio { command, args, env } => {
            Some(ServerProcess::start(command, args, env, &setting)?)
        }
        McpTransport::Http { .. } => None,
    };
    let (process, pipes) = match process {
        Some((process, stdout, stdin)) => (Some(process), Some((stdout, stdin))),
        None => (None, None),
    };
    let connecting = async {
        let client = match (pipes, &transport) {
            (Some(pipes), _) => connect::pipes(handler, pipes).await?,
            (None, McpTransport::Http { url, headers }) => connect::http(handler, url, headers).await?,
            (None, McpTransport::Stdio { .. }) => return Err("it has no pipes".to_owned()),
        };
        let listed = connect::tools(client.peer()).await?;
        Ok((client, listed))
    };
    let connected = match tokio::time::timeout(START_WITHIN, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(format!("it did not answer within {} seconds", START_WITHIN.as_secs())),
    };
    match connected {
        Ok((client, listed)) => {
            *tools.write().unwrap_or_else(PoisonError::into_inner) = listed;
            Ok(Server { name, place, client, tools, process, patience })
        }
        Err(fault) => {
            let last = match &process {
                Some(process) => process.ended().await,
                None => None,
            };
            Err(last.map_or(fault.clone(), |words| format!("{fault}\n{words}")))
        }
    }
}
