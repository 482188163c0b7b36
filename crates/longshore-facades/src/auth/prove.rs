//! How a hub proves that it knows a token before a client sends that token. Without the proof, a program that listens at
//! the port of a stopped hub would get the token.
//!
//! ```text
//! client   GET /prove?key=KEY&nonce=NONCE    KEY names the token without revealing it, NONCE is new each time
//! hub      {"proof": ...}                    only a hub that knows the token can make it, for this nonce only
//! ```
//!
//! Both come from the SHA-256 of the token, which is all that the hub keeps. A weak token of a person could be found by
//! trying against a proof, at any speed, so the hub proves nothing for a token shorter than [`PROVABLE`].

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use data_encoding::HEXLOWER;
use ring::{digest, hmac};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use super::token::Token;
use crate::problem::Problem;
use crate::router::App;

/// How many letters a token has at least that a hub proves to know.
pub const PROVABLE: usize = 32;
/// How many letters a nonce has.
const NONCE: std::ops::RangeInclusive<usize> = 32..=128;

/// A hub is asked to show that it knows a token.
#[derive(Debug)]
pub struct Challenge {
    key: String,
    nonce: String,
    proof: [u8; 32],
}

impl Challenge {
    /// A new one. None for a token that nothing is proven for.
    pub fn of(token: &Token) -> Option<Self> {
        if token.reveal().len() < PROVABLE {
            return None;
        }
        let mut nonce = [0u8; 32];
        getrandom::fill(&mut nonce).ok()?;
        let nonce = HEXLOWER.encode(&nonce);
        let proof = proof_of(&token.hash(), &nonce);
        Some(Self { key: key_of(&token.hash()), nonce, proof })
    }

    /// Where the hub is asked.
    pub fn path(&self) -> String {
        format!("/prove?key={}&nonce={}", self.key, self.nonce)
    }

    /// Whether that is the proof.
    pub fn is_met(&self, proof: &str) -> bool {
        let given = HEXLOWER.decode(proof.as_bytes()).unwrap_or_default();
        bool::from(given.as_slice().ct_eq(&self.proof))
    }
}

/// What a token is called, to who knows it.
pub(super) fn key_of(token_hash: &[u8; 32]) -> String {
    let mut hashed = digest::Context::new(&digest::SHA256);
    hashed.update(b"longshore key ");
    hashed.update(token_hash);
    HEXLOWER.encode(&hashed.finish().as_ref()[..16])
}

fn proof_of(token_hash: &[u8; 32], nonce: &str) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token_hash);
    let tag = hmac::sign(&key, format!("longshore hub {nonce}").as_bytes());
    let mut proof = [0; 32];
    proof.copy_from_slice(tag.as_ref());
    proof
}

/// What is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProveParams {
    /// The name of a token.
    key: String,
    /// What the proof is made for.
    nonce: String,
}

/// `GET /prove`.
pub(crate) async fn prove(
    State(app): State<App>,
    query: Result<Query<ProveParams>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(ProveParams { key, nonce }) = query?;
    if !NONCE.contains(&nonce.len()) {
        return Err(Problem::invalid("`nonce` must have 32 to 128 letters"));
    }
    let hash = app.keys.by_name(&key).ok_or_else(Problem::unknown_key)?;
    Ok(Json(json!({ "proof": HEXLOWER.encode(&proof_of(&hash, &nonce)) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_for_one_token_and_one_nonce() {
        let token = Token::new("x".repeat(PROVABLE));
        let (one, other) = (Challenge::of(&token).unwrap(), Challenge::of(&token).unwrap());
        assert_ne!(one.nonce, other.nonce);
        let proof = HEXLOWER.encode(&proof_of(&token.hash(), &one.nonce));
        assert!(one.is_met(&proof) && !other.is_met(&proof));
        let stranger = HEXLOWER.encode(&proof_of(&Token::new("y").hash(), &one.nonce));
        assert!(!one.is_met(&stranger) && !one.is_met("") && !one.is_met("zz"));
        assert!(!one.path().contains(token.reveal()));
        assert!(Challenge::of(&Token::new("short")).is_none());
    }
}
