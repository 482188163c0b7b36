//! Claude Code in the table: how it is found and started.

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::{Claude, INSTALL, LOGIN, NAME, PROGRAM, TITLE, arguments, capabilities, environment};
use crate::account::Account;
use crate::discover::{AgentSettings, Finding, Surroundings, find_program};
use crate::past::Records;
use crate::past::claude::Transcripts;
use crate::spec::{AgentSpec, Invocation, Purpose};

/// Where Claude Code keeps who is logged in.
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

/// Claude Code, through `claude -p` with stream-json both ways.
#[derive(Debug)]
pub struct Spec;

impl AgentSpec for Spec {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        TITLE
    }

    fn install(&self) -> &str {
        INSTALL
    }

    fn login(&self) -> Option<&str> {
        Some(LOGIN)
    }

    fn account(&self) -> Option<Account> {
        Some(ACCOUNT)
    }

    fn resume(&self) -> Option<&str> {
        Some("claude --resume {native}")
    }

    fn records(&self) -> Option<&'static dyn Records> {
        Some(&Transcripts)
    }

    fn tested(&self) -> Option<&str> {
        Some("2.1.197")
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        find_program(PROGRAM, Some("CLAUDE_PATH"), settings, around)
    }

    fn invocation(&self, purpose: Purpose<'_>) -> Invocation {
        let launch = match purpose {
            Purpose::Session(launch) => Some(launch),
            Purpose::Query(_) | Purpose::Machine => None,
        };
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Invocation { arguments: arguments(launch), env: environment().into_iter().map(own).collect() }
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Claude::new())
    }
}
