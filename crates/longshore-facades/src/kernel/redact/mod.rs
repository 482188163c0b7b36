//! Hides secrets in texts that people look at to find a fault: logs, events, the log of what was done.
//!
//! | what is hidden | by |
//! |---|---|
//! | private keys in PEM, passwords in URLs, `Bearer ...`, pairing links | their form (this file) |
//! | the value of `password=`, `"apiKey":`, `--token`, `OPENAI_KEY=` and the like | the name (`named.rs`) |
//! | keys of known makers, JSON web tokens, tokens of this hub | the pattern (`makers.rs`) |
//! | what looks as if it were drawn by lot | the entropy (`random.rs`) |
//!
//! Ids, hashes of git, file names and prose stay as they are: a text of which half is hidden helps nobody.

mod makers;
mod named;
mod random;

#[cfg(test)]
mod corpus;

use std::ops::Range;

/// What stands in place of a secret.
pub(crate) const HIDDEN: &str = "[redacted]";

/// The text without its secrets. What is hidden already stays so.
pub(crate) fn redacted(text: &str) -> String {
    let mut secrets = Vec::new();
    private_keys(text, &mut secrets);
    passwords_in_urls(text, &mut secrets);
    schemes(text, &mut secrets);
    pairing_links(text, &mut secrets);
    named::find(text, &mut secrets);
    for run in runs(text, |letter| letter.is_ascii_alphanumeric() || b"_-.+/~=".contains(&letter)) {
        makers::find(text, run.clone(), &mut secrets);
        random::find(text, run, &mut secrets);
    }
    without(text, secrets)
}

fn without(text: &str, mut secrets: Vec<Range<usize>>) -> String {
    secrets.retain(|secret| !secret.is_empty());
    secrets.sort_by_key(|secret| secret.start);
    let (mut clean, mut end) = (String::with_capacity(text.len()), 0);
    for secret in secrets {
        if secret.start >= end {
            clean.push_str(&text[end..secret.start]);
            clean.push_str(HIDDEN);
        }
        end = end.max(secret.end);
    }
    clean.push_str(&text[end..]);
    clean
}

/// The longest runs of such letters.
fn runs(text: &str, is_in: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, letter) in text.bytes().enumerate() {
        match (is_in(letter), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(from..at);
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    found.extend(start.map(|from| from..text.len()));
    found
}

/// How many bytes from here on are such letters.
fn run_at(text: &str, at: usize, is_in: impl Fn(u8) -> bool) -> usize {
    text.as_bytes()[at..].iter().take_while(|letter| is_in(**letter)).count()
}

fn private_keys(text: &str, secrets: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(found) = text[from..].find("-----BEGIN ") {
        let begin = from + found;
        let label = &text[begin + "-----BEGIN ".len()..];
        from = begin + "-----BEGIN ".len();
        let Some(label_end) = label.find("-----").filter(|end| label[..*end].contains("PRIVATE KEY")) else {
            continue;
        };
        let body = from + label_end + "-----".len();
        // A key whose end is cut off is a key all the same.
        let end = text[body..].find("-----END").map_or(text.len(), |end| body + end);
        secrets.push(body..end);
        from = end;
    }
}

/// `scheme://user:password@host`, and `https://TOKEN@host`.
fn passwords_in_urls(text: &str, secrets: &mut Vec<Range<usize>>) {
    for (found, _) in text.match_indices("://") {
        let start = found + "://".len();
        let authority =
            run_at(text, start, |letter| letter.is_ascii_graphic() && !b"/?#\"'<>\\`".contains(&letter));
        let authority = &text[start..start + authority];
        let Some((user, _)) = authority.rsplit_once('@') else { continue };
        match user.split_once(':') {
            Some((name, _)) => secrets.push(start + name.len() + 1..start + user.len()),
            None if user.len() >= 16 => secrets.push(start..start + user.len()),
            None => {}
        }
    }
}

/// `Bearer TOKEN` and `Basic NAME:PASSWORD`, wherever they stand.
fn schemes(text: &str, secrets: &mut Vec<Range<usize>>) {
    let lower = text.to_ascii_lowercase();
    for (word, is_bearer) in [("bearer", true), ("basic", false)] {
        for (found, _) in lower.match_indices(word) {
            let gap = run_at(text, found + word.len(), |letter| letter == b' ');
            let start = found + word.len() + gap;
            let length =
                run_at(text, start, |letter| letter.is_ascii_alphanumeric() || b"._~+/=-".contains(&letter));
            let value = text[start..start + length].trim_end_matches('.');
            let is_secret = match is_bearer {
                true => {
                    value.len() >= 20
                        || (value.len() >= 8 && value.bytes().any(|letter| letter.is_ascii_digit()))
                }
                false => value.len() >= 8 && is_name_and_password(value),
            };
            if gap > 0 && is_secret {
                secrets.push(start..start + value.len());
            }
        }
    }
}

fn is_name_and_password(base64: &str) -> bool {
    let decoded = data_encoding::BASE64.decode(base64.as_bytes());
    decoded.is_ok_and(|decoded| decoded.is_ascii() && decoded.contains(&b':'))
}

/// The code in the link with which a device pairs.
fn pairing_links(text: &str, secrets: &mut Vec<Range<usize>>) {
    for (found, _) in text.match_indices("/pair") {
        let end = found + run_at(text, found, |letter| letter.is_ascii_graphic() && letter != b'"');
        for before in ["#", "code="] {
            if let Some(at) = text[found..end].find(before) {
                let start = found + at + before.len();
                let length = run_at(text, start, |letter| letter.is_ascii_alphanumeric());
                if length >= 8 {
                    secrets.push(start..start + length);
                }
            }
        }
    }
}
