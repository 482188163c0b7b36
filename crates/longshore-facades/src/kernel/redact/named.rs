//! Secrets that stand behind a name that says so: `password=`, `"apiKey": `, `--token `, `OPENAI_KEY=`.

use std::ops::Range;

use super::{HIDDEN, run_at};

/// Ends of names of secrets, without case and signs.
const SECRETS: [&str; 24] = [
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "subscriptionkey",
    "licensekey",
    "credential",
    "credentials",
    "connectionstring",
    "accesstoken",
    "sharedaccesssignature",
    "xamzsignature",
    "clientsecret",
    "sessionkey",
    "personalaccesstoken",
    "apisecret",
];
/// Ends of names of what people choose: nobody can tell it from a word.
const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "passcode", "pwd"];
/// Ends of names of variables of the environment.
const VARIABLES: [&str; 5] = ["_KEY", "_PAT", "_PASS", "_AUTH", "_DSN"];
/// Parts of an address that sign it or open something.
const IN_QUERIES: [&str; 4] = ["sig", "signature", "code", "key"];
/// Values that are none.
const NOTHING: [&str; 7] = ["null", "true", "false", "none", "undefined", "string", "nil"];
/// Schemes of the header `Authorization`.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "digest", "apikey", "negotiate"];

/// What a name says of its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Password,
    Secret,
    Variable,
    Query,
    Authorization,
    Cookie,
}

/// How a value was written.
struct NamedValue {
    range: Range<usize>,
    quoted: bool,
}

/// Finds the values of names that say that they are secret.
pub(super) fn find(text: &str, secrets: &mut Vec<Range<usize>>) {
    for (at, sign) in text.bytes().enumerate() {
        let found = match sign {
            b'=' | b':' => assigned(text, at),
            b'-' if text[at..].starts_with("--") => flagged(text, at + 2),
            _ => None,
        };
        secrets.extend(found.filter(|found| !is_nothing(&text[found.clone()])));
    }
}

/// `--password VALUE`.
fn flagged(text: &str, at: usize) -> Option<Range<usize>> {
    let length = run_at(text, at, |letter| letter.is_ascii_alphanumeric() || letter == b'-');
    let kind = kind_of(&text[at..at + length])?;
    let start = at + length + 1;
    if text.as_bytes().get(at + length) != Some(&b' ')
        || !matches!(kind, NameKind::Password | NameKind::Secret)
    {
        return None;
    }
    let value = value_at(text, start);
    let word = &text[value.range.clone()];
    let is_value =
        value.quoted || word.len() >= 12 || !word.bytes().all(|letter| letter.is_ascii_alphabetic());
    (is_value && !word.starts_with('-')).then_some(value.range)
}

/// `NAME=VALUE` and `NAME: VALUE`.
fn assigned(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let sign = bytes[at];
    let (before, after) = (at.checked_sub(1).map(|at| bytes[at]), bytes.get(at + 1).copied());
    if before.is_some_and(|before| b"=!<>:".contains(&before))
        || after.is_some_and(|after| b"=>:".contains(&after))
    {
        return None;
    }
    let (name, is_quoted_name) = name_before(text, at)?;
    let kind = kind_of(&text[name.clone()])?;
    let blanks = run_at(text, at + 1, |letter| letter == b' ').min(3);
    let value = value_at(text, at + 1 + blanks);
    let word = &text[value.range.clone()];
    let has_digit = word.bytes().any(|letter| letter.is_ascii_digit());
    let is_likely = value.quoted || (has_digit && word.len() >= 6);
    let is_tight = sign == b'=' && name.end == at && blanks == 0;
    let is_code = word.contains("::") || word.contains('(');
    let in_query = name.start.checked_sub(1).is_some_and(|at| b"?&;".contains(&bytes[at]));
    let holds = match kind {
        NameKind::Authorization => return authorization(text, value),
        NameKind::Cookie => {
            return (value.quoted || text[value.range.start..].contains('=')).then(|| line(text, value));
        }
        NameKind::Query => in_query && is_tight && !word.is_empty(),
        NameKind::Variable => (is_tight || is_quoted_name || value.quoted) && word.len() >= 8 && !is_code,
        NameKind::Password | NameKind::Secret if is_tight || is_quoted_name => {
            let is_count = kind == NameKind::Secret
                && word.len() <= 8
                && word.bytes().all(|letter| letter.is_ascii_digit());
            !is_code && !is_count
        }
        NameKind::Password => is_likely || (sign == b':' && is_alone(text, &name, &value.range)),
        NameKind::Secret => is_likely && !is_code,
    };
    holds.then_some(value.range)
}

/// `Bearer TOKEN` as a whole, for schemes that are known; otherwise one word that looks like a token.
fn authorization(text: &str, value: NamedValue) -> Option<Range<usize>> {
    let whole = line(text, NamedValue { range: value.range.clone(), quoted: value.quoted });
    let (scheme, rest) = text[whole.clone()].split_once(' ').unwrap_or((&text[whole.clone()], ""));
    if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) && !rest.trim().is_empty() {
        return Some(whole.start + scheme.len() + 1..whole.end);
    }
    let is_token = scheme.len() >= 8 && scheme.bytes().any(|letter| letter.is_ascii_digit());
    (value.quoted || is_token).then_some(value.range)
}

/// The value up to the end of its line or of its quotes.
fn line(text: &str, value: NamedValue) -> Range<usize> {
    if value.quoted {
        return value.range;
    }
    let rest = &text[value.range.start..];
    let end = rest.find(['\n', '\r', '"', '\'', '\\']).unwrap_or(rest.len());
    value.range.start..value.range.start + end
}

/// Whether nothing else is on the line.
fn is_alone(text: &str, name: &Range<usize>, value: &Range<usize>) -> bool {
    let before = text[..name.start].rsplit('\n').next().unwrap_or_default();
    let after = text[value.end..].split('\n').next().unwrap_or_default();
    before.trim_matches([' ', '-', '\t']).is_empty() && after.trim().is_empty()
}

/// The name that ends here, and whether it is quoted.
fn name_before(text: &str, at: usize) -> Option<(Range<usize>, bool)> {
    let bytes = text.as_bytes();
    let mut end = at;
    while end > 0 && bytes[end - 1] == b' ' && at - end < 3 {
        end -= 1;
    }
    let is_quoted = end > 0 && b"\"'".contains(&bytes[end - 1]);
    if is_quoted {
        end -= 1;
        end -= usize::from(end > 0 && bytes[end - 1] == b'\\');
    }
    let is_name = |letter: &&u8| letter.is_ascii_alphanumeric() || b"_-.".contains(*letter);
    let length = bytes[..end].iter().rev().take_while(is_name).count();
    (length > 0).then_some((end - length..end, is_quoted))
}

fn value_at(text: &str, at: usize) -> NamedValue {
    let bytes = text.as_bytes();
    let escape = usize::from(bytes.get(at) == Some(&b'\\'));
    match bytes.get(at + escape) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let start = at + escape + 1;
            let mut end = start;
            // In JSON within JSON, the quote that ends it is escaped as the one that began it.
            while end < text.len() && bytes[end] != *quote {
                end += if escape == 0 && bytes[end] == b'\\' { 2 } else { 1 };
            }
            let mut end = end.min(text.len());
            end -= usize::from(escape == 1 && end > start && bytes[end - 1] == b'\\');
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            NamedValue { range: start..end, quoted: true }
        }
        Some(_) | None => {
            let length = run_at(text, at.min(text.len()), |letter| {
                !letter.is_ascii_whitespace() && !b",;&\"'<>)}\\`|".contains(&letter)
            });
            NamedValue { range: at..at + length, quoted: false }
        }
    }
}

fn kind_of(name: &str) -> Option<NameKind> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let is_variable = name.contains('_') && !name.bytes().any(|letter| letter.is_ascii_lowercase());
    match plain.as_str() {
        "authorization" | "proxyauthorization" => Some(NameKind::Authorization),
        "cookie" | "setcookie" => Some(NameKind::Cookie),
        "auth" | "pass" => Some(NameKind::Variable),
        plain if PASSWORDS.iter().any(|end| plain.ends_with(end)) => Some(NameKind::Password),
        plain if SECRETS.iter().any(|end| plain.ends_with(end)) => Some(NameKind::Secret),
        _ if is_variable && VARIABLES.iter().any(|end| name.ends_with(end)) => Some(NameKind::Variable),
        plain if IN_QUERIES.contains(&plain) => Some(NameKind::Query),
        _ => None,
    }
}

/// Whether a value is none: empty, a word for nothing, hidden already, or a name of where the value is.
fn is_nothing(value: &str) -> bool {
    let plain = value.trim_matches(['[', ']', '.', ' ']);
    let refers =
        ["$", "<", "{", "%", "process.env", "os.environ", "env."].iter().any(|by| value.starts_with(by));
    plain.is_empty()
        || refers
        || HIDDEN.contains(plain)
        || NOTHING.contains(&plain.to_ascii_lowercase().as_str())
        || plain.chars().all(|letter| "*•x…".contains(letter))
}
