//! Whether the markup within a paragraph is settled, so that what follows cannot change how its beginning looks.

/// Signs with which anything may begin: links, tags, entities, escapes, tables.
const OPEN: &str = "\\&<>|~[]!";

/// Whether every emphasis and every span of code is closed, and nothing else is open. Careful: in doubt it is not.
pub(super) fn is_settled(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let run = |from: usize| chars[from..].iter().take_while(|c| **c == chars[from]).count();
    let mut open: Option<(char, usize)> = None;
    let mut at = 0;
    while let Some(sign) = chars.get(at).copied() {
        match sign {
            '`' => {
                let length = run(at);
                let Some(end) = closing(&chars, at + length, length) else { return false };
                at = end;
            }
            '*' | '_' => {
                let length = run(at);
                let before = at.checked_sub(1).and_then(|before| chars.get(before)).copied();
                // What it is cannot be told before the next character is there.
                let Some(after) = chars.get(at + length).copied() else { return false };
                let begins = before.is_none_or(char::is_whitespace) && after.is_alphanumeric();
                let ends = before.is_some_and(char::is_alphanumeric)
                    && (after.is_whitespace() || ".,;:)".contains(after));
                match open {
                    Some(opened) if opened == (sign, length) && ends => open = None,
                    None if begins && length <= 3 => open = Some((sign, length)),
                    // Within a word it is the sign itself.
                    None if sign == '_'
                        && before.is_some_and(char::is_alphanumeric)
                        && after.is_alphanumeric() => {}
                    Some(_) | None => return false,
                }
                at += length;
            }
            sign if OPEN.contains(sign) => return false,
            _ => at += 1,
        }
    }
    open.is_none()
}

/// Where a span of code ends that began before `from` with so many signs; the sign after that is known.
fn closing(chars: &[char], from: usize, length: usize) -> Option<usize> {
    let mut at = from;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| **c == '`').count();
        if run == length && at + run < chars.len() {
            return Some(at + run);
        }
        at += run.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_is_settled() {
        for settled in
            ["plain words, and more.", "a **bold** word", "call `fn(x)` now", "snake_case_name is fine"]
        {
            assert!(is_settled(settled), "{settled}");
        }
        for open in
            ["a **bold", "a **bold**", "see [here](x", "`code", "`code`", "2 * 3", "a &amp", "x_", "**a *b**"]
        {
            assert!(!is_settled(open), "{open}");
        }
    }
}
