//! The owner's token, where the environment names it. It is taken out of the environment before anything else is done, so
//! that nobody whom this program starts inherits it, and none of them shows it to others in `/proc`.

use std::sync::OnceLock;

/// The variable that names it.
pub const VARIABLE: &str = "LONGSHORE_TOKEN";

/// The token of the environment that this program was started with.
pub fn of_environment() -> Option<&'static str> {
    static TOKEN: OnceLock<Option<String>> = OnceLock::new();
    TOKEN.get_or_init(|| std::env::var(VARIABLE).ok().filter(|token| !token.is_empty())).as_deref()
}

/// Remembers the token and takes it out of the environment, also out of the place where the system looks when somebody reads
/// `/proc/PID/environ`: a process that we have begun to start shows the same place, until it is another program.
///
/// # Safety
///
/// No other thread may run: it could be reading the environment.
#[allow(unsafe_code, reason = "the environment belongs to all threads")]
pub unsafe fn hide() {
    of_environment();
    // SAFETY: the text is ours to write to its end, and nobody else reads it now.
    unsafe {
        let value = libc::getenv(c"LONGSHORE_TOKEN".as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value, 0, libc::strlen(value));
        }
        std::env::remove_var(VARIABLE);
    }
}
