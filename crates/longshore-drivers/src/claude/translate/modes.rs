//! Claude's counterparts of our modes.
//!
//! Claude refuses `bypassPermissions` to root, and to every process that was not started for it. Then no
//! change of the mode can enter or leave it. So `full` is `acceptEdits`, and the driver itself allows every
//! remaining request. This works for every user, and the mode can change at any time. What a person's own
//! settings deny stays denied.

use longshore_model::capability::Mode;

/// Claude's name of a mode.
pub fn native_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "plan",
        Mode::Ask => "default",
        Mode::AutoEdit | Mode::Full => "acceptEdits",
    }
}

/// Our mode for a mode of Claude, if there is one.
pub(super) fn mode_of(native: &str) -> Option<Mode> {
    match native {
        "plan" => Some(Mode::Plan),
        "default" => Some(Mode::Ask),
        "acceptEdits" => Some(Mode::AutoEdit),
        "bypassPermissions" => Some(Mode::Full),
        _ => None,
    }
}
