//! What a mode is in their words: rules of a session, of which the last that fits counts, and the agent `plan`.

use longshore_model::capability::Mode;
use serde_json::{Value, json};

/// What a mode says to a wish by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeVerdict {
    Allow,
    Ask,
    Deny,
}

/// The rules of a mode. They are added to those that are there, so each mode says all that another one may have said.
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

/// What a mode says to a wish. OpenCode decides most by the rules; what it asks all the same is the wish of a
/// sub-agent, which it gave other rules.
pub(super) fn verdict(mode: Mode, permission: &str) -> ModeVerdict {
    match (mode, permission) {
        (Mode::Full, _) | (Mode::AutoEdit, "edit") => ModeVerdict::Allow,
        (Mode::Plan, "edit") => ModeVerdict::Deny,
        (Mode::Plan | Mode::Ask | Mode::AutoEdit, _) => ModeVerdict::Ask,
    }
}

/// `provider/model`, in two.
pub(super) fn split(model: &str) -> Option<(&str, &str)> {
    model.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}
