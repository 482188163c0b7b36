//! Tokens: 256 random bits, shown once, stored as their SHA-256.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use ring::digest;

/// A token. It cannot be printed by accident.
pub struct Token(String);

impl Token {
    /// A token from a known secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// A new token: 256 bits from the system, in hex.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(HEXLOWER.encode(&bytes)))
    }

    /// The secret itself, for the token's file and for its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The hash by which the hub recognises a token. Comparing hashes does not reveal how much of a guess was
    /// right.
    pub(crate) fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }

    /// The token with harmless characters only, for a cookie.
    pub(crate) fn to_cookie(&self) -> String {
        BASE64URL_NOPAD.encode(self.0.as_bytes())
    }

    pub(crate) fn of_cookie(value: &str) -> Option<Self> {
        String::from_utf8(BASE64URL_NOPAD.decode(value.as_bytes()).ok()?).ok().map(Self)
    }
}

/// The SHA-256 of a secret.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, secret.as_bytes()).as_ref());
    hash
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_never_the_same_and_not_printed() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.reveal().len(), 64);
        assert_ne!(one.hash(), other.hash());
        assert_eq!(format!("{one:?}"), "Token(…)");
    }

    #[test]
    fn a_cookie_is_read_as_it_was_written() {
        let odd = Token::new("s3cret+/=&%;, ü");
        let cookie = odd.to_cookie();
        assert!(cookie.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{cookie}");
        assert_eq!(Token::of_cookie(&cookie).unwrap().reveal(), odd.reveal());
        assert!(Token::of_cookie("=;").is_none());
    }
}
