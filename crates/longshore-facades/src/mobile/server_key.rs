//! The key by which phones know the hub: Ed25519, made once. The QR code names its public half, and the app keeps it.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::key_file;

/// The hub's key pair.
pub struct ServerKey(Ed25519KeyPair);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum ServerKeyError {
    /// The file cannot be read or written.
    #[error("cannot use the key file {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds something else.
    #[error("{path} is no key of Longshore; move it away, and pair the phones again")]
    BadKey {
        /// The file.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl ServerKey {
    /// Loads the key of a file. Creates the file, for its owner only, if it is missing.
    pub fn load(file: &Path) -> Result<Self, ServerKeyError> {
        let failed = |source| ServerKeyError::File { path: file.to_owned(), source };
        let pkcs8 = match key_file::read(file).map_err(failed)? {
            Some(pkcs8) => pkcs8,
            None => {
                let pkcs8 = generate()?;
                key_file::put(file, &pkcs8).map_err(failed)?;
                pkcs8
            }
        };
        Self::of(&pkcs8).ok_or_else(|| ServerKeyError::BadKey { path: file.to_owned() })
    }

    /// Refuses a file that does not hold such a key. Creates nothing.
    pub fn check(file: &Path) -> Result<(), ServerKeyError> {
        let read = key_file::read(file);
        let pkcs8 = read.map_err(|source| ServerKeyError::File { path: file.to_owned(), source })?;
        match pkcs8.is_none_or(|pkcs8| Self::of(&pkcs8).is_some()) {
            true => Ok(()),
            false => Err(ServerKeyError::BadKey { path: file.to_owned() }),
        }
    }

    /// A key that lasts as long as the process.
    pub fn fleeting() -> Result<Self, ServerKeyError> {
        Self::of(&generate()?).ok_or(ServerKeyError::NoRandomness)
    }

    fn of(pkcs8: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_pkcs8(pkcs8).ok().map(Self)
    }

    /// The public half, in hex.
    pub(super) fn public(&self) -> String {
        HEXLOWER.encode(self.0.public_key().as_ref())
    }

    /// Signs what a phone signed in with, so that it could tell this hub from another.
    pub(super) fn sign(&self, payload: &str) -> String {
        HEXLOWER.encode(self.0.sign(format!("longshore mobile {payload}").as_bytes()).as_ref())
    }
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey(…)")
    }
}

fn generate() -> Result<Vec<u8>, ServerKeyError> {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    pkcs8.map(|pkcs8| pkcs8.as_ref().to_vec()).map_err(|_| ServerKeyError::NoRandomness)
}
