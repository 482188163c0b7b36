//! Secrets that are known by their beginnings.

use std::ops::Range;

use super::run_at;

/// Beginnings of keys, and how many letters follow at least.
const MAKERS: &[(&str, usize)] = &[
    // Models.
    ("sk-", 20),
    ("sess-", 32),
    ("gsk_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    ("hf_", 20),
    ("r8_", 20),
    ("nvapi-", 20),
    ("fw_", 20),
    ("csk-", 20),
    ("tgp_v1_", 20),
    ("tvly-", 16),
    ("jina_", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    // Code and packages.
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("dckr_pat_", 20),
    ("crates_", 20),
    ("ATATT", 20),
    ("ATBB", 20),
    ("lin_api_", 20),
    ("figd_", 20),
    ("ntn_", 20),
    // Clouds.
    ("AKIA", 16),
    ("ASIA", 16),
    ("ABIA", 16),
    ("dop_v1_", 20),
    ("doo_v1_", 20),
    ("dapi", 32),
    ("hvs.", 20),
    ("hvb.", 20),
    ("tskey-", 16),
    ("sbp_", 20),
    ("sb_secret_", 16),
    ("vercel_", 20),
    ("fo1_", 20),
    ("rnd_", 20),
    ("NRAK-", 20),
    ("glsa_", 20),
    ("glc_", 20),
    ("phx_", 20),
    ("AGE-SECRET-KEY-1", 20),
    // Money, mail and messages.
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("whsec_", 16),
    ("sq0csp-", 20),
    ("shpat_", 20),
    ("shpss_", 20),
    ("SG.", 20),
    ("key-", 32),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xoxr-", 16),
    ("xoxs-", 16),
    ("xoxe.", 16),
    ("xapp-", 16),
    ("PMAK-", 20),
];

/// The letters of a token of this hub: the SHA-256 of something has as many, so that is hidden too, unless it says so.
const OUR_TOKEN: usize = 64;

/// Finds secrets by their beginnings in a run of letters without blanks.
pub(super) fn find(text: &str, run: Range<usize>, secrets: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let is_name = |letter: u8| letter.is_ascii_alphanumeric() || b"_-".contains(&letter);
    for at in run.clone() {
        if at > run.start && is_name(bytes[at - 1]) {
            continue;
        }
        let length = maker_at(text, at).or_else(|| web_token_at(text, at)).or_else(|| our_token_at(text, at));
        secrets.extend(length.map(|length| at..at + length));
    }
}

fn maker_at(text: &str, at: usize) -> Option<usize> {
    let (beginning, least) = MAKERS.iter().find(|(beginning, _)| text[at..].starts_with(beginning))?;
    let start = at + beginning.len();
    let length = run_at(text, start, |letter| letter.is_ascii_alphanumeric() || b"_-.".contains(&letter));
    let rest = text[start..start + length].trim_end_matches('.');
    let is_drawn = rest.len() >= *least && rest.bytes().any(|letter| letter.is_ascii_digit());
    is_drawn.then_some(beginning.len() + rest.len())
}

/// A JSON web token: at least two JSON objects in base64, and mostly a signature.
fn web_token_at(text: &str, at: usize) -> Option<usize> {
    if !text[at..].starts_with("eyJ") {
        return None;
    }
    let length = run_at(text, at, |letter| letter.is_ascii_alphanumeric() || b"_-.".contains(&letter));
    let token = text[at..at + length].trim_end_matches('.');
    let mut parts = token.split('.');
    let is_token =
        parts.next().is_some_and(|head| head.len() >= 10) && parts.next().is_some_and(|part| part.len() >= 8);
    is_token.then_some(token.len())
}

fn our_token_at(text: &str, at: usize) -> Option<usize> {
    let length = run_at(text, at, |letter| letter.is_ascii_hexdigit());
    let next = text.as_bytes().get(at + length);
    let is_whole = next.is_none_or(|letter| !letter.is_ascii_alphanumeric());
    let before = &text.as_bytes()[at.saturating_sub("sha256:".len())..at];
    let is_digest =
        ["sha256:", "sha256=", "sha256("].iter().any(|name| before.eq_ignore_ascii_case(name.as_bytes()));
    (length == OUR_TOKEN && is_whole && !is_digest).then_some(length)
}
