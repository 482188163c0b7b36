//! ACP agents in the table: the known agents, and any command of the settings.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::rows::Behind;
use super::{Acp, AcpRow, offline};
use crate::account::Account;
use crate::claude::import::Transcripts;
use crate::discover::{AgentSettings, Finding, Surroundings, find_program, is_program};
use crate::import::Records;
use crate::offline::{Offline, OfflinePlace};
use crate::spec::{Agent, AgentSpec, Invocation, Purpose};
use crate::{claude, codex};

/// An agent that speaks ACP.
#[derive(Debug)]
pub struct AcpSpec {
    row: Arc<AcpRow>,
    /// The arguments of the settings' command.
    own: Vec<String>,
}

impl AcpSpec {
    /// A known agent.
    pub fn known(row: &AcpRow) -> Agent {
        Arc::new(Self { row: Arc::new(row.clone()), own: Vec::new() })
    }

    /// An agent of the settings. Its command is not empty.
    pub fn of_settings(name: &str, settings: &AgentSettings) -> Agent {
        let (program, own) =
            settings.command.split_first().map_or(("", &[][..]), |(program, own)| (program, own));
        let mut row = AcpRow::named(name, program);
        row.behind = Behind::of_command(&settings.command);
        if let Some(title) = &settings.title {
            row.title = Cow::Owned(title.clone());
        }
        Arc::new(Self { row: Arc::new(row), own: own.to_vec() })
    }
}

impl AgentSpec for AcpSpec {
    fn name(&self) -> &str {
        &self.row.name
    }

    fn title(&self) -> &str {
        &self.row.title
    }

    fn install(&self) -> &str {
        &self.row.install
    }

    fn login(&self) -> Option<&str> {
        self.row.login
    }

    fn account(&self) -> Option<Account> {
        self.row.account
    }

    fn resume(&self) -> Option<&str> {
        match self.row.behind? {
            Behind::Codex => codex::CodexSpec.resume(),
            Behind::Claude => Some(claude::spec::RESUME),
        }
    }

    fn records(&self) -> Option<&'static dyn Records> {
        match self.row.behind? {
            Behind::Codex => codex::CodexSpec.records(),
            Behind::Claude => Some(&Transcripts),
        }
    }

    fn tested(&self) -> Option<&str> {
        self.row.tested
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        // A command of the settings may be any program, whatever its name.
        let known = super::row(&self.row.name).is_some_and(|known| known.program == self.row.program);
        if known && self.own.is_empty() { offline::offline(&self.row.name, place) } else { None }
    }

    fn driver_name(&self) -> &str {
        super::NAME
    }

    fn capabilities(&self) -> Capabilities {
        self.row.capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        let program = PathBuf::from(&*self.row.program);
        if program.is_absolute() && settings.path.is_none() {
            // The settings name the program with its absolute path.
            return match is_program(&program) {
                true => Finding { path: Some(program), remark: None },
                false => {
                    let remark = format!("the settings name {}, which is not a program", program.display());
                    Finding { path: None, remark: Some(remark) }
                }
            };
        }
        let variable = format!("{}_PATH", self.row.name.to_uppercase().replace('-', "_"));
        let found = find_program(&self.row.program, Some(&variable), settings, around);
        Finding { path: found.path.map(|path| self.row.native(&path)), ..found }
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        let arguments =
            self.row.arguments.iter().map(|word| (*word).to_owned()).chain(self.own.iter().cloned());
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let env = self.row.environment.iter().map(own).collect();
        Invocation { arguments: arguments.collect(), env, files: Vec::new() }
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Acp::new(Arc::clone(&self.row)))
    }
}
