//! Sessions as rows of the list of threads.

use longshore_model::info::{SessionInfo, Status};

use super::wire::{GitInfo, Thread, ThreadCapabilities, Turn};

/// The providers that the client knows, and how the agent is called that stands for each.
const PROVIDERS: [(&str, &str); 5] = [
    ("codex", "codex"),
    ("copilot-acp", "copilot"),
    ("claude", "claude"),
    ("claude-mcp", "claude"),
    ("opencode", "opencode"),
];

/// The provider as which the client shows an agent. It shows all that it does not know as Codex.
fn provider_of(agent: &str) -> &'static str {
    ["copilot", "claude", "opencode"]
        .into_iter()
        .find(|known| agent.contains(known))
        .and_then(|known| PROVIDERS.iter().find(|(_, agent)| *agent == known))
        .map_or("codex", |(provider, _)| provider)
}

/// The agent that a client means by a provider: another agent's name means that agent.
pub(super) fn agent_of(provider: &str) -> &str {
    PROVIDERS.iter().find(|(known, _)| *known == provider).map_or(provider, |(_, agent)| agent)
}

/// A session as a thread, with these turns.
pub(super) fn thread<'a>(info: &'a SessionInfo, turns: Vec<Turn<'a>>) -> Thread<'a> {
    let seconds = |at: longshore_model::time::Timestamp| at.micros() / 1_000_000;
    let can = &info.capabilities;
    let branch = info.git.as_ref().and_then(|git| git.branch.as_deref());
    let git_info = (info.repo.is_some() || branch.is_some())
        .then_some(GitInfo { origin_url: info.repo.as_deref(), branch });
    Thread {
        id: info.session_id,
        title: &info.title,
        name: &info.title,
        preview: info.preview.as_deref(),
        created_at: seconds(info.created_at),
        updated_at: seconds(info.updated_at),
        status: match info.status {
            // The word by which the list marks a thread that works.
            Status::Active => "inProgress",
            Status::Idle => "idle",
            Status::Completed => "completed",
            Status::Error => "error",
            Status::Interrupted => "interrupted",
        },
        provider: provider_of(&info.provider),
        model_provider: &info.provider,
        model: info.model.as_deref(),
        archived: info.archived,
        cwd: &info.cwd,
        git_info,
        capabilities: ThreadCapabilities {
            attach: can.attachments,
            filter: true,
            approvals: can.approvals,
            streaming: can.streaming,
            prompt: true,
        },
        turns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_is_shown_as_a_provider_that_the_client_knows() {
        for (agent, provider) in [
            ("codex", "codex"),
            ("codex-exec", "codex"),
            ("claude-code-acp", "claude"),
            ("copilot", "copilot-acp"),
            ("opencode-acp", "opencode"),
            ("react", "codex"),
            ("gemini", "codex"),
        ] {
            assert_eq!(provider_of(agent), provider, "{agent}");
        }
        assert_eq!(
            (agent_of("copilot-acp"), agent_of("claude-mcp"), agent_of("react")),
            ("copilot", "claude", "react")
        );
    }
}
