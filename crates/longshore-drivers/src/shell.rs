//! Command lines, word by word.

use serde_json::Value;

/// The line that these words are: what a shell is given if they start one, else the words themselves.
pub(crate) fn line_of(words: &[Value]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [] => None,
        [shell, "-c" | "-lc", inner] if shell.ends_with("sh") => Some((*inner).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
