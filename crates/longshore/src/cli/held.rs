//! Texts about held prompts and what happens to them.

use longshore_model::info::SessionInfo;

use crate::render::held;
use crate::render::human::{plural, short_id};

/// So many prompts, with what is said of them.
pub(super) fn prompts(number: usize, of_one: &str, of_more: &str) -> String {
    format!("{} {}", plural(number, "prompt"), if number == 1 { of_one } else { of_more })
}

/// What a resume does with the prompts that are held: what a restart held is sent on with it, what a person held is not.
pub(super) fn after_resume(session: &SessionInfo) -> Option<String> {
    let number = held(session);
    let waited = prompts(number, "that was held follows", "that were held follow");
    let stays = prompts(number, "stays held", "stay held");
    match (number, session.cut_by_restart) {
        (0, _) => None,
        (_, true) => Some(waited),
        (_, false) => {
            let id = short_id(session.session_id);
            Some(format!("{stays}; `longshore queue send {id} --all` sends every held prompt"))
        }
    }
}
