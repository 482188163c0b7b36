//! Codex's counterparts of our modes.
//!
//! Codex 0.166 behaves like this. With `untrusted`, it asks before every patch and before every command that
//! no rule allows. With `on-request`, it asks only if the model wants to leave the sandbox or to patch a file
//! outside the work tree. With `never`, it never asks. So `ask` must be `untrusted`, because no other policy
//! asks before every command and every change. The sandbox stays on, because a person allows one command and
//! not the whole machine.
//!
//! The driver sets the policy per thread and never in `config.toml`: Codex refuses `untrusted` there and
//! exits.

use longshore_model::capability::Mode;
use serde_json::{Value, json};

/// Codex's counterpart of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    /// `approvalPolicy`.
    pub approval: &'static str,
    /// `sandbox` of `thread/start`.
    pub sandbox: &'static str,
    /// `sandboxPolicy.type` of `turn/start`: the same word in camel case.
    sandbox_type: &'static str,
}

impl Policy {
    pub(super) fn of(mode: Mode) -> Self {
        let (approval, sandbox, sandbox_type) = match mode {
            Mode::Plan => ("untrusted", "read-only", "readOnly"),
            Mode::Ask => ("untrusted", "workspace-write", "workspaceWrite"),
            Mode::AutoEdit => ("on-request", "workspace-write", "workspaceWrite"),
            Mode::Full => ("never", "danger-full-access", "dangerFullAccess"),
        };
        Self { approval, sandbox, sandbox_type }
    }

    /// Adds the mode to the parameters of `turn/start` or `thread/settings/update`.
    pub(super) fn put_into(self, params: &mut Value) {
        params["approvalPolicy"] = json!(self.approval);
        params["sandboxPolicy"] = json!({"type": self.sandbox_type});
    }
}

/// `collaborationMode`: planning is a separate way of working, and the only one in which Codex asks
/// questions. Its model and effort override the model and the effort of the turn.
pub(super) fn collaboration(planning: bool, model: &str, effort: Option<&str>) -> Value {
    let mode = if planning { "plan" } else { "default" };
    json!({"mode": mode, "settings": {"model": model, "reasoning_effort": effort, "developer_instructions": null}})
}
