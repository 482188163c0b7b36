//! What a mode is in their words.
//!
//! Observed of 0.166: with `untrusted` codex asks before every command that no rule allows and before every patch;
//! with `on-request` it asks only when the model itself wants out of the sandbox or patches outside the work tree;
//! with `never` it never asks. So `ask` must be `untrusted`: nothing else asks before every command and every change. The
//! sandbox stays on below it, for what a person allowed was one command and not the whole machine.
//!
//! The policy is set per thread and never in `config.toml`, where codex refuses `untrusted` and dies.

use longshore_model::capability::Mode;
use serde_json::{Value, json};

/// A mode in their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    /// `approvalPolicy`.
    pub approval: &'static str,
    /// `sandbox` of `thread/start`.
    pub sandbox: &'static str,
    /// `sandboxPolicy.type` of `turn/start`, which spells the same in camel case.
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

    /// Puts it into the parameters of `turn/start` or `thread/settings/update`.
    pub(super) fn put_into(self, params: &mut Value) {
        params["approvalPolicy"] = json!(self.approval);
        params["sandboxPolicy"] = json!({"type": self.sandbox_type});
    }
}

/// `collaborationMode`: planning is a way of working of its own, in which alone codex asks questions. Its model and effort
/// come before those of the turn.
pub(super) fn collaboration(planning: bool, model: &str, effort: Option<&str>) -> Value {
    let mode = if planning { "plan" } else { "default" };
    json!({"mode": mode, "settings": {"model": model, "reasoning_effort": effort, "developer_instructions": null}})
}
