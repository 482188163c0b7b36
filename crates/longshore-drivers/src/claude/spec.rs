//! Claude Code in the table: how Longshore finds and starts it.

use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::{
    Claude, INSTALL, LOGIN, NAME, PROGRAM, TITLE, arguments, capabilities, environment, mcp_config, offline,
};
use crate::account::Account;
use crate::argv::quoted;
use crate::claude::import::Transcripts;
use crate::discover::{AgentSettings, Finding, Surroundings, Transport, find_program};
use crate::import::Records;
use crate::offline::{Offline, OfflinePlace};
use crate::spec::{Agent, AgentSpec, CallBack, Channel, Invocation, Purpose};

/// Where Claude Code keeps its login.
pub(crate) const ACCOUNT: Account = Account {
    variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    home: ("CLAUDE_CONFIG_DIR", ".claude"),
    files: &[".credentials.json"],
    without: Some(("settings.json", "apiKeyHelper")),
};

/// The command that continues a conversation in Claude Code's own terminal.
pub(crate) const RESUME: &str = "claude --resume {native}";

/// Claude Code, through `claude -p` with stream-json in both directions.
#[derive(Debug, Default)]
pub struct ClaudeSpec {
    /// A command of the settings, under the settings' name.
    own: Option<Own>,
}

#[derive(Debug)]
struct Own {
    name: String,
    title: String,
    install: String,
    program: String,
    /// The command's own arguments, before ours.
    arguments: Vec<String>,
    /// The command that continues a conversation in the agent's own terminal.
    resume: String,
}

/// How versions up to about 2.1 call back. Later versions report that they may not, and end.
///
/// They reconnect after every close code except 4001 and 4003. After these two they end, as at the end of
/// their input.
const CALL_BACK: CallBack =
    CallBack { address: "--sdk-url", token: "CLAUDE_CODE_SESSION_ACCESS_TOKEN", farewell: 4001 };

impl ClaudeSpec {
    /// An agent of the settings. Its command is not empty.
    pub fn of_settings(name: &str, settings: &AgentSettings) -> Agent {
        let mut words = settings.command.iter().cloned();
        let program = words.next().unwrap_or_default();
        let own = Own {
            name: name.to_owned(),
            title: settings.title.clone().unwrap_or_else(|| name.to_owned()),
            install: format!("put {program} where programs are, or set its path in the settings"),
            resume: settings.command.iter().map(|word| quoted(word) + " ").collect::<String>()
                + "--resume {native}",
            program,
            arguments: words.collect(),
        };
        Arc::new(Self { own: Some(own) })
    }
}

impl AgentSpec for ClaudeSpec {
    fn name(&self) -> &str {
        self.own.as_ref().map_or(NAME, |own| &own.name)
    }

    fn title(&self) -> &str {
        self.own.as_ref().map_or(TITLE, |own| &own.title)
    }

    fn install(&self) -> &str {
        self.own.as_ref().map_or(INSTALL, |own| &own.install)
    }

    fn login(&self) -> Option<&str> {
        self.own.is_none().then_some(LOGIN)
    }

    fn account(&self) -> Option<Account> {
        self.own.is_none().then_some(ACCOUNT)
    }

    fn resume(&self) -> Option<&str> {
        Some(self.own.as_ref().map_or(RESUME, |own| &own.resume))
    }

    fn records(&self) -> Option<&'static dyn Records> {
        Some(&Transcripts)
    }

    fn tested(&self) -> Option<&str> {
        // The version of a command with arguments is unknown: it may be the version of an interpreter.
        self.own.as_ref().is_none_or(|own| own.arguments.is_empty()).then_some("2.1.197")
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        Some(offline::offline(place))
    }

    fn driver_name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        let Some(own) = &self.own else {
            return find_program(PROGRAM, Some("CLAUDE_PATH"), settings, around);
        };
        let whole = PathBuf::from(&own.program);
        let path = settings.path.clone().or_else(|| whole.is_absolute().then_some(whole));
        find_program(&own.program, None, &AgentSettings { path, ..settings.clone() }, around)
    }

    fn invocation(&self, purpose: Purpose<'_>) -> Invocation {
        let launch = match purpose {
            Purpose::Session(launch) => Some(launch),
            Purpose::Query(_) | Purpose::Machine => None,
        };
        let before = self.own.as_ref().map_or(&[][..], |own| &own.arguments);
        let env = environment().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Invocation {
            arguments: before.iter().cloned().chain(arguments(launch)).collect(),
            env: env.collect(),
            files: launch.and_then(mcp_config).into_iter().collect(),
        }
    }

    fn channel(&self, settings: &AgentSettings) -> Channel {
        match settings.transport {
            Transport::Stdio => Channel::Lines,
            Transport::Socket => Channel::Socket(CALL_BACK),
        }
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Claude::new())
    }
}
