//! The hub's identity for push services (RFC 8292): a key pair that is made once, and a short-lived signed
//! token for each service.

use std::path::Path;

use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

use super::PushError;
use crate::key_file;

/// How long a signed token is valid. Push services accept at most a day.
const GOOD_FOR_S: i64 = 12 * 3600;

/// The key pair by which push services know the hub. A browser's subscription always belongs to it.
pub struct Vapid {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    contact: String,
}

impl Vapid {
    /// Loads the keys of a file. Creates the file, for its owner only, if it is missing.
    pub fn load(file: &Path, contact: impl Into<String>) -> Result<Self, PushError> {
        let failed = |source| PushError::File { path: file.to_owned(), source };
        let pkcs8 = match key_file::read(file).map_err(failed)? {
            Some(pkcs8) => pkcs8,
            None => {
                let pkcs8 = generate()?;
                key_file::put(file, &pkcs8).map_err(failed)?;
                pkcs8
            }
        };
        Self::of(&pkcs8, contact).ok_or_else(|| PushError::BadKeys { path: file.to_owned() })
    }

    /// Refuses a file that does not hold such keys. Creates nothing.
    pub fn check(file: &Path) -> Result<(), PushError> {
        let read = key_file::read(file);
        let pkcs8 = read.map_err(|source| PushError::File { path: file.to_owned(), source })?;
        match pkcs8.is_none_or(|pkcs8| Self::of(&pkcs8, "").is_some()) {
            true => Ok(()),
            false => Err(PushError::BadKeys { path: file.to_owned() }),
        }
    }

    /// Keys that last as long as the process.
    pub fn fleeting(contact: impl Into<String>) -> Result<Self, PushError> {
        // They were made just now: only the system can be at fault.
        Self::of(&generate()?, contact).ok_or(PushError::NoRandomness)
    }

    fn of(pkcs8: &[u8], contact: impl Into<String>) -> Option<Self> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok()?;
        Some(Self { pair, random, contact: contact.into() })
    }

    /// The key with which browsers subscribe.
    pub(crate) fn public_key(&self) -> String {
        BASE64URL_NOPAD.encode(self.pair.public_key().as_ref())
    }

    /// The `Authorization` header for one push service, such as `https://push.example`.
    pub(super) fn authorization(&self, audience: &str, now_s: i64) -> Result<String, PushError> {
        let claims = json!({ "aud": audience, "exp": now_s + GOOD_FOR_S, "sub": self.contact });
        let part = |json: serde_json::Value| BASE64URL_NOPAD.encode(json.to_string().as_bytes());
        let signed = format!("{}.{}", part(json!({ "typ": "JWT", "alg": "ES256" })), part(claims));
        let signature =
            self.pair.sign(&self.random, signed.as_bytes()).map_err(|_| PushError::NoRandomness)?;
        let signature = BASE64URL_NOPAD.encode(signature.as_ref());
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public_key()))
    }
}

fn generate() -> Result<Vec<u8>, PushError> {
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    made.map(|pkcs8| pkcs8.as_ref().to_vec()).map_err(|_| PushError::NoRandomness)
}
