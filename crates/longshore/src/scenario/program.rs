//! ACP agents that are not built in, known by the names of their programs. Their settings need not repeat
//! what this table says.

use std::path::Path;

use super::installed::MODEL_URL;
use super::recorded::RecordedAgent;

/// An ACP agent that is known by its program.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    /// The variables that point the agent at the scripted model, like `verify_env` in the settings.
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

    /// The recording of the agent.
    pub(super) fn recorded(&self) -> Option<RecordedAgent> {
        RecordedAgent::of(self.name)
    }
}
