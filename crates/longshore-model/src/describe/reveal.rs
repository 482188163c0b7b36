//! Writes out characters without a shape, for texts on which a person decides.

use std::fmt::Write;

/// The text with every invisible or commanding character written out: `\x1b`, `\u{202e}`.
pub fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => shown.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(shown, "\\x{:02x}", c as u32);
            }
            c if is_commanding(c) || is_invisible(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", c as u32);
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a terminal, or the reader's eye, obeys this character instead of showing it.
pub fn is_commanding(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Letters without a shape, and blanks that are none on the keyboard.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}'
            | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_shape_is_written_out() {
        assert_eq!(
            reveal("rm\u{1b}[2K x\r\u{202e}y\u{200b}\u{9b}é\u{a0}\u{2800}\n"),
            "rm\\x1b[2K x\\r\\u{202e}y\\u{200b}\\u{9b}é\\u{a0}\\u{2800}\n"
        );
    }
}
