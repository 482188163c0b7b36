//! The settings of a turn, as far as they change a session: mode, model, effort.
//!
//! The client sends all of them with every prompt, also those that nobody chose: a thread of another client has the
//! client's own defaults. So a setting only counts where it says something of this session.

use longshore_model::capability::{Mode, ModelInfo};
use longshore_model::command::Command;
use longshore_model::info::SessionInfo;

/// The mode of a new session: what the client lets the agent do without asking. None leaves it to the hub.
pub(super) fn first_mode(policy: Option<&str>, sandbox: Option<&str>, modes: &[Mode]) -> Option<Mode> {
    let never = policy == Some("never");
    let wanted = match sandbox {
        Some("danger-full-access") if never => &[Mode::Full, Mode::AutoEdit, Mode::Ask][..],
        // Without a sandbox the agent would have to ask before everything that it cannot take back.
        Some("danger-full-access" | "workspace-write") => &[Mode::AutoEdit, Mode::Ask],
        Some("read-only") if never => &[Mode::Plan, Mode::Ask],
        Some("read-only") => &[Mode::Ask, Mode::Plan],
        Some(_) | None => return None,
    };
    nearest(wanted, modes)
}

fn nearest(wanted: &[Mode], modes: &[Mode]) -> Option<Mode> {
    wanted.iter().copied().find(|mode| modes.contains(mode))
}

/// The mode that a prompt brings along, if it brings another one.
pub(super) fn next_mode(
    info: &SessionInfo,
    sandbox: Option<&str>,
    collaboration: Option<&str>,
) -> Option<Mode> {
    let modes = &info.capabilities.modes;
    let wanted = match (collaboration, sandbox, info.mode) {
        (Some("plan"), _, _) => nearest(&[Mode::Plan], modes),
        // Full access is chosen, never a default.
        (_, Some("dangerFullAccess"), _) => nearest(&[Mode::Full], modes),
        // The plan is over.
        (Some(_), Some("workspaceWrite"), Mode::Plan) => nearest(&[Mode::AutoEdit, Mode::Ask], modes),
        (Some(_), _, Mode::Plan) => nearest(&[Mode::Ask, Mode::AutoEdit], modes),
        (_, Some("workspaceWrite"), Mode::Full) => nearest(&[Mode::AutoEdit, Mode::Ask], modes),
        (_, Some("readOnly"), Mode::Full | Mode::AutoEdit) => nearest(&[Mode::Ask, Mode::Plan], modes),
        (_, _, Mode::Plan | Mode::Ask | Mode::AutoEdit | Mode::Full) => None,
    };
    wanted.filter(|mode| *mode != info.mode)
}

/// The commands for the model and the effort. The client has one list of models for all agents, so a model that the
/// session's agent does not have was not chosen for this session.
pub(super) fn of_model(
    info: &SessionInfo,
    models: &[ModelInfo],
    model: Option<&str>,
    effort: Option<&str>,
) -> Vec<Command> {
    let known = model.filter(|model| models.iter().any(|known| known.id == *model));
    let next = known.filter(|model| info.capabilities.models && info.model.as_deref() != Some(model));
    let efforts = ModelInfo::efforts_of(models, known.or(info.model.as_deref()));
    let effort = effort
        .filter(|effort| info.capabilities.effort && info.effort.as_deref() != Some(effort))
        .filter(|effort| efforts.iter().any(|known| known == effort));
    let model = next.map(|model| Command::SetModel(model.to_owned()));
    model.into_iter().chain(effort.map(|effort| Command::SetEffort(effort.to_owned()))).collect()
}

/// A mode as the client's sandbox.
pub(super) fn sandbox_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan | Mode::Ask => "read-only",
        Mode::AutoEdit => "workspace-write",
        Mode::Full => "danger-full-access",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Mode; 4] = [Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full];

    #[test]
    fn only_full_access_that_never_asks_lets_an_agent_do_everything() {
        for policy in [None, Some("on-request"), Some("never")] {
            for sandbox in ["read-only", "workspace-write", "danger-full-access"] {
                let full = first_mode(policy, Some(sandbox), &ALL) == Some(Mode::Full);
                assert_eq!(
                    full,
                    policy == Some("never") && sandbox == "danger-full-access",
                    "{policy:?} {sandbox}"
                );
            }
        }
        assert_eq!(first_mode(None, None, &ALL), None);
        assert_eq!(first_mode(None, Some("workspace-write"), &[Mode::Ask]), Some(Mode::Ask));
    }
}
