//! Recordings of what agents did: one JSON file per agent, which people can read and review.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use super::set::scenarios;
use super::shape::{Shape, Thing};

/// What one agent did in every scenario.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAgent {
    /// The agent.
    pub agent: String,
    /// The version of the agent in the recording.
    pub version: Option<String>,
    /// The shapes, by the name of the scenario.
    pub scenarios: BTreeMap<String, Shape>,
}

/// The recorded agents, with their files.
const RECORDED: [(&str, &str); 12] = [
    ("codex", include_str!("recorded/codex.json")),
    ("codex-exec", include_str!("recorded/codex-exec.json")),
    ("claude", include_str!("recorded/claude.json")),
    ("opencode", include_str!("recorded/opencode.json")),
    ("gemini", include_str!("recorded/gemini.json")),
    ("copilot", include_str!("recorded/copilot.json")),
    ("codex-acp", include_str!("recorded/codex-acp.json")),
    ("claude-code-acp", include_str!("recorded/claude-code-acp.json")),
    ("opencode-acp", include_str!("recorded/opencode-acp.json")),
    ("react", include_str!("recorded/react.json")),
    ("claude-agent-acp", include_str!("recorded/claude-agent-acp.json")),
    ("qwen", include_str!("recorded/qwen.json")),
];

impl RecordedAgent {
    /// The recording of an agent.
    pub fn of(agent: &str) -> Option<Self> {
        let (_, text) = RECORDED.iter().find(|(name, _)| *name == agent)?;
        Self::parse(text).ok()
    }

    /// Reads a file.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The names of the recorded agents.
    pub fn agents() -> impl Iterator<Item = &'static str> {
        RECORDED.iter().map(|(name, _)| *name)
    }

    /// Writes a file with one thing per line, so that each difference is one line.
    pub fn text(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let version = self.version.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let mut text = format!("{{\n  \"agent\": {},\n  \"version\": {version},\n", quoted(&self.agent));
        text.push_str("  \"scenarios\": {");
        let played = scenarios().iter().filter_map(|scenario| self.scenarios.get_key_value(&scenario.name));
        for (at, (name, shape)) in played.enumerate() {
            let _ = write!(text, "{}\n    {}: [", if at > 0 { "," } else { "" }, quoted(name));
            let line =
                |thing: &Thing| format!("\n      {}", serde_json::to_string(thing).unwrap_or_default());
            text.push_str(&shape.iter().map(line).collect::<Vec<_>>().join(","));
            text.push_str("\n    ]");
        }
        text.push_str("\n  }\n}\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::program::Program;

    #[test]
    fn every_file_can_be_read_and_knows_every_scenario_that_its_agent_can_play() {
        let agents = longshore_drivers::table::all(&std::collections::BTreeMap::new()).unwrap();
        for (agent, text) in RECORDED {
            let recorded = RecordedAgent::parse(text).unwrap();
            assert_eq!(recorded.agent, agent);
            let names: Vec<&str> = recorded.scenarios.keys().map(String::as_str).collect();
            let known = agents.iter().find(|known| known.name() == agent).map(|known| known.capabilities());
            assert_eq!(known.is_none(), Program::of(Path::new(agent)).is_some(), "{agent}");
            let can =
                known.unwrap_or_else(|| longshore_drivers::acp::AcpRow::named(agent, agent).capabilities());
            let playable =
                scenarios().iter().filter(|scenario| scenario.fits(&can) && scenario.is_offered(&can));
            let mut all: Vec<&str> = playable.map(|scenario| scenario.name.as_str()).collect();
            all.sort_unstable();
            assert_eq!(names, all, "{agent}: play it again with `longshore verify {agent} --write FILE`");
            assert_eq!(recorded.text(), text, "{agent}: the file is as `--write` would write it");
        }
    }
}
