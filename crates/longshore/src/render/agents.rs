//! Agents in a list: the installed ones, and how to install the others.

use std::collections::BTreeMap;

use longshore_model::capability::AgentInfo;

use super::clean::clean;
use super::columns::{Column, table, tsv};
use super::line::{InkLine, print};
use super::style::{Style, ink};
use super::{lifecycle, wrap::text_behind};

const COLUMNS: [Column; 4] = [
    Column::left("AGENT", 0, 8),
    Column::left("VERSION", 1, 6),
    Column::left("MODES", 2, 8),
    Column::left("PATH", 3, 12),
];

/// What is known of how an agent does what it did when it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStanding {
    /// Whether nothing has to be done about it.
    pub good: bool,
    /// In words.
    pub text: String,
}

/// Agents for a person: those that are here in columns, with what is known of some by their names, and the others with the
/// command that gets them.
pub fn agents_table(agents: &[AgentInfo], known: &BTreeMap<String, AgentStanding>, style: &Style) -> String {
    let signs = style.signs();
    let (here, missing): (Vec<_>, Vec<_>) = agents.iter().partition(|agent| agent.path.is_some());
    let row = |agent: &&AgentInfo| {
        let plain = |text: Option<&str>| InkLine::of(&clean(text.unwrap_or_default()), ink::PLAIN);
        let modes: Vec<String> = agent.capabilities.modes.iter().map(ToString::to_string).collect();
        // Nobody logged in, nothing done.
        let (sign, ink) =
            if agent.logged_in == Some(false) { ("!", ink::HINT) } else { (signs.done, ink::GOOD) };
        vec![
            InkLine::of(sign, ink).with(" ", ink::PLAIN).with(&clean(&agent.name), ink::BOLD),
            plain(agent.version.as_deref()),
            plain(Some(&modes.join(" "))),
            InkLine::of(&clean(agent.path.as_deref().unwrap_or_default()), ink::DIM),
        ]
    };
    let mut text = if here.is_empty() {
        print(&lifecycle::remark("no agent was found on this machine", style), style)
    } else {
        table(&COLUMNS, &here.iter().map(row).collect::<Vec<_>>(), style)
    };
    let mut lines = Vec::new();
    for agent in here.iter().filter(|agent| agent.remark.is_some()) {
        let remark = format!("{}: {}", agent.name, agent.remark.as_deref().unwrap_or_default());
        lines.extend(lifecycle::signed("!", &remark, ink::HINT, style));
    }
    for agent in here.iter().filter(|agent| agent.logged_in == Some(false)) {
        let remark = match &agent.login {
            Some(login) => format!("{}: nobody is logged in; run `{login}`", agent.name),
            None => format!("{}: nobody is logged in", agent.name),
        };
        lines.extend(lifecycle::signed("!", &remark, ink::HINT, style));
    }
    for (agent, standing) in here.iter().filter_map(|agent| Some((agent, known.get(&*agent.name)?))) {
        let (sign, ink) = if standing.good { (signs.done, ink::GOOD) } else { ("!", ink::HINT) };
        lines.extend(lifecycle::signed(sign, &format!("{}: {}", agent.name, standing.text), ink, style));
    }
    if !missing.is_empty() {
        lines.push(InkLine::default());
        lines.push(InkLine::of("not installed", ink::DIM));
    }
    let widest = missing.iter().map(|agent| agent.name.chars().count()).max().unwrap_or(0);
    for agent in missing {
        let first = InkLine::of(signs.pending, ink::DIM)
            .with(&format!(" {:<widest$}  ", clean(&agent.name)), ink::PLAIN);
        let rest = InkLine::of(&" ".repeat(first.width()), ink::PLAIN);
        lines.extend(text_behind(&clean(&agent.install), ink::CODE, style.columns(), &first, &rest));
    }
    text.push_str(&print(&lines, style));
    text
}

/// Agents for programs: name, version, path, state, modes, what there is to know or to do, and what is known of how it
/// behaves; a tab between them.
///
/// The state is `installed`, `logged out` or `missing`.
pub fn agents_tsv(agents: &[AgentInfo], known: &BTreeMap<String, AgentStanding>) -> String {
    let row = |agent: &AgentInfo| {
        let (state, note) = match (&agent.path, agent.logged_in) {
            (None, _) => ("missing", Some(agent.install.clone())),
            (Some(_), Some(false)) => ("logged out", agent.login.clone().or(agent.remark.clone())),
            (Some(_), Some(true) | None) => ("installed", agent.remark.clone()),
        };
        let modes: Vec<String> = agent.capabilities.modes.iter().map(ToString::to_string).collect();
        tsv([
            agent.name.to_string(),
            agent.version.clone().unwrap_or_default(),
            agent.path.clone().unwrap_or_default(),
            state.to_owned(),
            modes.join(" "),
            note.unwrap_or_default(),
            known.get(&*agent.name).map(|standing| standing.text.clone()).unwrap_or_default(),
        ])
    };
    agents.iter().map(row).collect()
}
