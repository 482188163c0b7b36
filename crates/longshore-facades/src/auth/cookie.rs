//! The cookie that a browser sends instead of a token: for this origin only, and out of reach of scripts.

use axum::http::{HeaderMap, HeaderValue, header};

use super::token::Token;

const NAME: &str = "longshore";
/// How long a browser keeps the cookie. A revoked token opens nothing, however long a browser keeps it.
const YEAR: u32 = 365 * 24 * 3600;

/// The header that sets the cookie. Over TLS, browsers send the cookie over TLS only.
pub(crate) fn given(token: &Token, secure: bool) -> Option<HeaderValue> {
    written(&token.to_cookie(), YEAR, secure)
}

/// The header that deletes the cookie.
pub(crate) fn forgotten(secure: bool) -> Option<HeaderValue> {
    written("", 0, secure)
}

fn written(value: &str, age: u32, secure: bool) -> Option<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    let cookie = format!("{NAME}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    let mut header = HeaderValue::from_str(&cookie).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The token in a browser's cookie.
pub(super) fn sent(headers: &HeaderMap) -> Option<Token> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).and_then(|(_, value)| Token::of_cookie(value))
}
