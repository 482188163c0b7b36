//! The cookie that spares a browser its token: of this origin alone, out of reach of scripts.

use axum::http::{HeaderMap, HeaderValue, header};

use super::token::Token;

const NAME: &str = "longshore";
/// How long a browser keeps it; a revoked token opens nothing however long it is kept.
const YEAR: u32 = 365 * 24 * 3600;

/// The header that gives a browser its cookie. Over TLS it is sent over TLS only.
pub(crate) fn given(token: &Token, secure: bool) -> Option<HeaderValue> {
    written(&token.to_cookie(), YEAR, secure)
}

/// The header that takes it back.
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

/// The token that a browser sends back.
pub(super) fn sent(headers: &HeaderMap) -> Option<Token> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).and_then(|(_, value)| Token::of_cookie(value))
}
