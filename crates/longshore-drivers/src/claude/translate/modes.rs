//! What a mode is in their words.
//!
//! `bypassPermissions` is refused to root and to every process that was not started for it, and can then not be
//! left or entered. So `full` is `acceptEdits`, and the driver says yes by itself to whatever is still asked: the same for
//! everybody, and changed at any time. What a person's own settings deny stays denied.

use longshore_model::capability::Mode;

/// A mode in their words.
pub fn native_mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Plan => "plan",
        Mode::Ask => "default",
        Mode::AutoEdit | Mode::Full => "acceptEdits",
    }
}

/// A mode of theirs in our words, where we have one.
pub(super) fn mode_of(native: &str) -> Option<Mode> {
    match native {
        "plan" => Some(Mode::Plan),
        "default" => Some(Mode::Ask),
        "acceptEdits" => Some(Mode::AutoEdit),
        "bypassPermissions" => Some(Mode::Full),
        _ => None,
    }
}
