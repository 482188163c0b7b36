//! OpenCode's counterparts of our modes: the rules of a session, of which the last matching rule counts, and
//! the agent `plan`.

use longshore_model::capability::Mode;
use serde_json::{Value, json};

/// The answer of a mode to a request for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeVerdict {
    Allow,
    Ask,
    Deny,
}

/// The rules of a mode. OpenCode adds them to the existing rules, so each mode repeats every rule that
/// another mode may have set.
pub(super) fn rules(mode: Mode) -> Value {
    let rule =
        |permission: &str, action: &str| json!({"permission": permission, "pattern": "*", "action": action});
    let asks = ["bash", "webfetch", "external_directory", "doom_loop"];
    let mut rules = vec![match mode {
        Mode::Full => rule("*", "allow"),
        Mode::Plan => rule("edit", "deny"),
        Mode::Ask => rule("edit", "ask"),
        Mode::AutoEdit => rule("edit", "allow"),
    }];
    if mode != Mode::Full {
        rules.extend(asks.map(|permission| rule(permission, "ask")));
    }
    Value::from(rules)
}

/// The mode's answer to a request for permission. The rules decide most requests. OpenCode still asks for
/// sub-agents, because it gives them other rules.
pub(super) fn verdict(mode: Mode, permission: &str) -> ModeVerdict {
    match (mode, permission) {
        (Mode::Full, _) | (Mode::AutoEdit, "edit") => ModeVerdict::Allow,
        (Mode::Plan, "edit") => ModeVerdict::Deny,
        (Mode::Plan | Mode::Ask | Mode::AutoEdit, _) => ModeVerdict::Ask,
    }
}

/// `provider/model`, as two parts.
pub(super) fn split(model: &str) -> Option<(&str, &str)> {
    model.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}
