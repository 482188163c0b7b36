//! The owner's token: its rules, and the token of the environment. The program removes that variable first of
//! all, so that no child process inherits it and none shows it to others in `/proc`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// The variable that names it.
pub const VARIABLE: &str = "LONGSHORE_TOKEN";

/// Why something is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NoToken {
    #[error("is empty")]
    Empty,
    #[error("is not one word of printable ASCII letters, digits and signs")]
    NotOneWord,
}

/// The token in the text of a file or a variable: one printable word, with blanks around it at most. A header
/// cannot carry anything else, so nobody could use another token.
pub fn word(text: &[u8]) -> Result<&str, NoToken> {
    let word = text.trim_ascii();
    match std::str::from_utf8(word) {
        Ok("") => Err(NoToken::Empty),
        Ok(word) if word.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(word),
        _ => Err(NoToken::NotOneWord),
    }
}

/// The token of the environment that this program was started with. An empty variable is none.
pub fn of_environment() -> Result<Option<&'static str>, NoToken> {
    static TOKEN: OnceLock<Result<Option<String>, NoToken>> = OnceLock::new();
    let read = || match std::env::var_os(VARIABLE) {
        Some(text) if text != OsStr::new("") => word(text.as_bytes()).map(|word| Some(word.to_owned())),
        _ => Ok(None),
    };
    TOKEN.get_or_init(read).as_ref().map(Option::as_deref).map_err(|fault| *fault)
}

/// Remembers the token and takes it out of the environment, also out of the place where the system looks when somebody reads
/// `/proc/PID/environ`: a process that we have begun to start shows the same place, until it is another program.
///
/// # Safety
///
/// No other thread may run: it could be reading the environment.
#[allow(unsafe_code, reason = "the environment belongs to all threads")]
pub unsafe fn hide() {
    let _ = of_environment();
    // SAFETY: the text is ours to write to its end, and nobody else reads it now.
    unsafe {
        let value = libc::getenv(c"LONGSHORE_TOKEN".as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value, 0, libc::strlen(value));
        }
        std::env::remove_var(VARIABLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_word_that_fits_into_a_header() {
        for (text, token) in [("s3cret\n", "s3cret"), (" a+/=~ ", "a+/=~"), ("x", "x")] {
            assert_eq!(word(text.as_bytes()), Ok(token));
        }
        for (text, fault) in [
            (&b""[..], NoToken::Empty),
            (b" \t\n", NoToken::Empty),
            (b"two words", NoToken::NotOneWord),
            (b"two\nlines", NoToken::NotOneWord),
            (b"bell\x07", NoToken::NotOneWord),
            ("schlüssel".as_bytes(), NoToken::NotOneWord),
            (b"\xff\xfe", NoToken::NotOneWord),
        ] {
            assert_eq!(word(text), Err(fault), "{text:?}");
        }
    }
}
