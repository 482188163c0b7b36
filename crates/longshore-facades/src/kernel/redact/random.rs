//! Secrets that nothing but chance could have written.
//!
//! A word that people or programs chose changes seldom between small letters, capitals and digits. A key that was drawn by
//! lot does so at every second letter. That tells them apart better than the entropy of the letters alone.

use std::ops::Range;

/// The longest that a key may be: what is longer is the content of a file.
const LONGEST: usize = 512;
/// The shortest that is taken for a key of all kinds of letters, and of letters of one case.
const SHORTEST: (usize, usize) = (20, 28);
/// The part of neighbours that are of different kinds, for each of these.
const CHANGES: (f64, f64) = (0.35, 0.25);
/// A secret key of Amazon: it has signs in it, and no name.
const AMAZON: usize = 40;

/// Beginnings of ids that agents and their services draw: they open nothing.
const IDS: [&str; 14] = [
    "toolu_",
    "call_",
    "msg_",
    "resp_",
    "rs_",
    "fc_",
    "req_",
    "item_",
    "chatcmpl-",
    "run_",
    "ses_",
    "prt_",
    "sha256-",
    "sha512-",
];
/// Ends of the names of files.
const ENDS: [&str; 18] = [
    "png", "jpg", "jpeg", "gif", "webp", "avif", "heic", "bmp", "svg", "ico", "pdf", "js", "mjs", "css",
    "map", "json", "woff2", "txt",
];
/// How pictures begin in base64.
const PICTURES: [&str; 4] = ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"];

/// Finds secrets in a run of letters without blanks.
pub(super) fn find(text: &str, run: Range<usize>, secrets: &mut Vec<Range<usize>>) {
    let mut at = run.start;
    for part in text[run].split_inclusive(['.', '=', '~']) {
        let word = part.trim_end_matches(['.', '=', '~']);
        let range = at..at + word.len();
        at += part.len();
        if !is_known(text, &range) {
            secrets.extend(secret_in(text, range));
        }
    }
}

/// Whether it is clear what this is, and that it is no secret.
fn is_known(text: &str, range: &Range<usize>) -> bool {
    let (before, word, after) = (&text[..range.start], &text[range.clone()], &text[range.end..]);
    let end = after.strip_prefix('.').map(|end| {
        let length = end.bytes().take_while(u8::is_ascii_alphanumeric).count();
        end[..length].to_ascii_lowercase()
    });
    word.len() > LONGEST
        || before.ends_with(";base64,")
        || PICTURES.iter().any(|picture| word.starts_with(picture))
        || IDS.iter().any(|id| word.starts_with(id))
        || end.is_some_and(|end| ENDS.contains(&end.as_str()))
}

fn secret_in(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let word = &text[range.clone()];
    if word.len() == AMAZON
        && word.contains(['/', '+'])
        && !word.starts_with('/')
        && is_drawn_of_all_kinds(word)
    {
        return Some(range);
    }
    let mut start = range.start;
    for segment in word.split('/') {
        let here = start..start + segment.len();
        start = here.end + 1;
        let plain = without_uuids(segment);
        if plain.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_drawn) {
            // Beside a sign of base64, the neighbours belong to it.
            return Some(if word.contains('+') { range } else { here });
        }
    }
    None
}

fn is_drawn(word: &str) -> bool {
    if word.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        return false;
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let of_one_case =
        word.len() >= SHORTEST.1 && digits >= 4 && word.len() - digits >= 6 && changes(word) >= CHANGES.1;
    of_one_case || (word.len() >= SHORTEST.0 && digits >= 2 && is_drawn_of_all_kinds(word))
}

fn is_drawn_of_all_kinds(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.bytes().any(|letter| is(&letter));
    let all = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    all && changes(word) >= CHANGES.0
}

/// The part of neighbours that are of different kinds.
fn changes(word: &str) -> f64 {
    let kind = |letter: u8| match letter {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let pairs = word.as_bytes().windows(2);
    let count = pairs.len().max(1);
    pairs.filter(|pair| kind(pair[0]) != kind(pair[1])).count() as f64 / count as f64
}

/// The word with blanks for the UUIDs in it.
fn without_uuids(word: &str) -> String {
    let mut plain = word.as_bytes().to_vec();
    for at in 0..word.len().saturating_sub(35) {
        let shape = word.as_bytes()[at..at + 36].iter().enumerate();
        let is_uuid = shape.into_iter().all(|(place, letter)| match place {
            8 | 13 | 18 | 23 => *letter == b'-',
            _ => letter.is_ascii_hexdigit(),
        });
        if is_uuid {
            plain[at..at + 36].fill(b' ');
        }
    }
    String::from_utf8(plain).unwrap_or_default()
}
