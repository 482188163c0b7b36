//! Agents that speak ACP and are not built in, known by the names of their programs: what the settings need not say of them.

use std::path::Path;

use super::recorded::RecordedAgent;
use super::stage::MODEL_URL;

/// Such an agent.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    /// The variables that point it at the scripted model, as `verify_env` of the settings would.
    pub(super) env: &'static [(&'static str, &'static str)],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "claude-agent-acp",
        env: &[
            ("ANTHROPIC_BASE_URL", MODEL_URL),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
    },
    Program {
        name: "qwen",
        env: &[
            ("OPENAI_BASE_URL", "${MODEL_URL}/v1"),
            ("OPENAI_API_KEY", "none"),
            ("OPENAI_MODEL", "scripted"),
        ],
    },
];

impl Program {
    pub(super) fn of(path: &Path) -> Option<&'static Self> {
        let name = path.file_stem()?.to_str()?;
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// What it did when it was recorded.
    pub(super) fn recorded(&self) -> Option<RecordedAgent> {
        RecordedAgent::of(self.name)
    }
}
