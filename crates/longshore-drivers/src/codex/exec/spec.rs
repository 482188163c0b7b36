//! `codex exec` in the table: how Longshore finds and starts it.

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::{Exec, NAME, TITLE, capabilities};
use crate::account::Account;
use crate::codex;
use crate::discover::{AgentSettings, Finding, Surroundings};
use crate::import::Records;
use crate::offline::{Offline, OfflinePlace};
use crate::spec::{AgentSpec, Channel, Invocation, Purpose};

/// Codex, through `codex exec --json`.
#[derive(Clone, Copy, Debug)]
pub struct ExecSpec;

impl AgentSpec for ExecSpec {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        TITLE
    }

    fn install(&self) -> &str {
        codex::CodexSpec.install()
    }

    fn login(&self) -> Option<&str> {
        codex::CodexSpec.login()
    }

    fn account(&self) -> Option<Account> {
        codex::CodexSpec.account()
    }

    fn resume(&self) -> Option<&str> {
        codex::CodexSpec.resume()
    }

    fn records(&self) -> Option<&'static dyn Records> {
        codex::CodexSpec.records()
    }

    fn tested(&self) -> Option<&str> {
        codex::CodexSpec.tested()
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        codex::CodexSpec.offline(place)
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        codex::spec::find(settings, around)
    }

    /// The arguments that all runs have in common. A person chose the folder of the session, so it need not
    /// be a git work tree.
    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::of(&["exec", "--json", "--skip-git-repo-check"])
    }

    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Turns
    }

    fn models_of(&self) -> Option<&str> {
        Some(codex::NAME)
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Exec::new())
    }
}
