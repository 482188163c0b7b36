//! `unified_exec`: commands in terminals that stay open between calls.

mod session;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longshore_model::host_io::Exit;
use longshore_model::item::{ToolOutcome, ToolStatus};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::session::TerminalSession;
use super::bound::{BoundedOutput, WHOLE_LIMIT};
use super::command::{CommandSetting, Script, Surroundings, explain};
use super::{Progress, ToolResult};

/// How many terminals may be open at a time.
pub(super) const SESSIONS_LIMIT: usize = 16;
/// How long a call waits for output by default.
const YIELD: Duration = Duration::from_secs(1);
/// How long a call may wait for output.
const LONGEST_YIELD: Duration = Duration::from_secs(600);

/// The arguments of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub(super) enum ExecArguments {
    /// Run a command in a new terminal.
    Start {
        command: Script,
        #[serde(default, alias = "workdir")]
        cwd: Option<String>,
        #[serde(default, alias = "with_escalated_permissions")]
        escalate: bool,
        #[serde(default, alias = "justification")]
        reason: Option<String>,
        #[serde(flatten)]
        patience: Patience,
    },
    /// Type something into a terminal, then wait.
    Write {
        #[serde(deserialize_with = "name")]
        session: String,
        input: String,
        #[serde(flatten)]
        patience: Patience,
    },
    /// Read the new output without waiting.
    Read {
        #[serde(deserialize_with = "name")]
        session: String,
    },
    /// Wait for more output.
    Yield {
        #[serde(deserialize_with = "name")]
        session: String,
        #[serde(flatten)]
        patience: Patience,
    },
    /// End the command.
    Kill {
        #[serde(deserialize_with = "name")]
        session: String,
    },
}

/// How long to wait for output.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Patience {
    #[serde(default, alias = "yield_time_ms")]
    yield_ms: Option<u64>,
    /// Text that ends the wait as soon as the command prints it.
    #[serde(default)]
    until: Option<String>,
}

impl Patience {
    fn time(&self) -> Duration {
        self.yield_ms.map_or(YIELD, Duration::from_millis).min(LONGEST_YIELD)
    }
}

/// Models also write the name of a session as a number.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(name) => Ok(name),
        Value::Number(number) => Ok(number.to_string()),
        other => {
            Err(serde::de::Error::custom(format!("the session is {other}; it must be a name such as \"1\"")))
        }
    }
}

/// The terminals of one toolbox. Dropping them ends their commands.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    open: Mutex<OpenTerminals>,
}

#[derive(Debug, Default)]
struct OpenTerminals {
    sessions: BTreeMap<String, Arc<TerminalSession>>,
    /// How many terminals have been opened.
    opened: u64,
}

impl Terminals {
    /// Carries out a call. `setting` is the setting of a command to start.
    pub(super) async fn run(
        &self,
        arguments: ExecArguments,
        setting: Option<CommandSetting>,
        surroundings: &Surroundings,
        progress: mpsc::Sender<Progress>,
        cancel: CancellationToken,
    ) -> ToolResult {
        let (session, patience) = match arguments {
            ExecArguments::Start { command, patience, .. } => {
                let setting = setting.ok_or_else(|| "nothing says where it is to run".to_owned());
                match setting.and_then(|setting| self.start(&command, setting, surroundings)) {
                    Ok(session) => (session, Some(patience)),
                    Err(fault) => return ToolResult::failed(fault),
                }
            }
            ExecArguments::Write { session, input, patience } => {
                let session = match self.find(&session) {
                    Ok(session) => session,
                    Err(fault) => return ToolResult::failed(fault),
                };
                if let Err(error) = session.write(&input, &cancel).await {
                    return ToolResult::failed(format!("session {} took no input: {error}", session.name));
                }
                (session, Some(patience))
            }
            ExecArguments::Read { session } => match self.find(&session) {
                Ok(session) => (session, None),
                Err(fault) => return ToolResult::failed(fault),
            },
            ExecArguments::Yield { session, patience } => match self.find(&session) {
                Ok(session) => (session, Some(patience)),
                Err(fault) => return ToolResult::failed(fault),
            },
            ExecArguments::Kill { session } => match self.find(&session) {
                Ok(session) => {
                    session.kill();
                    (session, Some(Patience { yield_ms: Some(5000), until: None }))
                }
                Err(fault) => return ToolResult::failed(fault),
            },
        };
        let mut printed = BoundedOutput::new(WHOLE_LIMIT);
        let patience = patience.unwrap_or(Patience { yield_ms: Some(0), until: None });
        let ended = session.hear(&mut printed, &patience, &progress, &cancel).await;
        if ended.is_some() {
            self.lock().sessions.remove(&session.name);
        }
        result(&session, printed, ended, cancel.is_cancelled())
    }

    fn start(
        &self,
        script: &Script,
        setting: CommandSetting,
        surroundings: &Surroundings,
    ) -> Result<Arc<TerminalSession>, String> {
        let mut open = self.lock();
        if open.sessions.len() >= SESSIONS_LIMIT {
            // A session whose command has ended has no use but its unread output.
            open.sessions.retain(|_, session| !session.has_ended());
        }
        if open.sessions.len() >= SESSIONS_LIMIT {
            let names: Vec<&str> = open.sessions.keys().map(String::as_str).collect();
            return Err(format!(
                "{SESSIONS_LIMIT} sessions are open already ({}); kill one of them first",
                names.join(", ")
            ));
        }
        let name = (open.opened + 1).to_string();
        let session = TerminalSession::start(name.clone(), script, setting, surroundings)
            .map_err(|error| explain(script, &error))?;
        open.opened += 1;
        let session = Arc::new(session);
        open.sessions.insert(name, Arc::clone(&session));
        Ok(session)
    }

    fn find(&self, name: &str) -> Result<Arc<TerminalSession>, String> {
        let open = self.lock();
        open.sessions.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = open.sessions.keys().map(String::as_str).collect();
            match names.is_empty() {
                true => format!("there is no session {name}; none is open, start one"),
                false => format!("there is no session {name}; open are {}", names.join(", ")),
            }
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OpenTerminals> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn result(
    session: &TerminalSession,
    mut printed: BoundedOutput,
    ended: Option<Exit>,
    cancelled: bool,
) -> ToolResult {
    let (status, exit_code, remark) = match &ended {
        None => (ToolStatus::Completed, None, format!("[session {} is running]", session.name)),
        Some(Exit { code: Some(0), .. }) => {
            (ToolStatus::Completed, Some(0), format!("[session {} ended with exit code 0]", session.name))
        }
        Some(Exit { code: Some(code), .. }) => {
            let remark = format!("[session {} ended with exit code {code}]", session.name);
            (ToolStatus::Failed, Some(i64::from(*code)), remark)
        }
        Some(Exit { code: None, signal }) => {
            let signal = signal.as_deref().unwrap_or("an unknown signal");
            let remark = format!("[session {} was ended by {signal}]", session.name);
            // The model wanted to end the command, so this is no failure.
            let status = if session.was_killed() { ToolStatus::Completed } else { ToolStatus::Failed };
            (status, None, remark)
        }
    };
    printed.remark(&remark);
    let left = session.left_behind();
    if !left.is_empty() {
        printed.remark(&format!(
            "[the command left {} running in the background, which ended with it; a process that should continue must run in the foreground of a session]",
            left.join(", ")
        ));
    }
    let sandbox = session.sandbox.as_ref().filter(|_| ended.is_some() && !session.was_killed());
    let explained = sandbox.and_then(|sandbox| sandbox.explain(&session.line, exit_code, &printed.text()));
    if let Some(explained) = explained {
        printed.remark(&explained);
    }
    let status = if cancelled && ended.is_none() { ToolStatus::Cancelled } else { status };
    let data = json!({"session": session.name, "running": ended.is_none()});
    ToolResult {
        outcome: ToolOutcome { exit_code, result: data, ..ToolOutcome::of(status) },
        ..ToolResult::printed(status, &printed)
    }
}
