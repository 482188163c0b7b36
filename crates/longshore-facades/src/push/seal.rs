//! Encrypts a message for one browser (RFC 8291, in the encoding of RFC 8188), so that the push service
//! cannot read it.

use data_encoding::{BASE64URL, BASE64URL_NOPAD};
use longshore_model::device::PushKeys;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};

use super::PushError;

/// The longest message: push services accept 4096 bytes, and 103 of them are overhead.
pub(crate) const LONGEST: usize = 3_993;
/// The size of a record; a message is one record.
const RECORD: u32 = 4_096;

/// A browser's keys, decoded.
pub(super) struct Receiver {
    public: Vec<u8>,
    secret: Vec<u8>,
}

impl Receiver {
    /// Decodes the keys; the error says what is wrong with them.
    pub(super) fn read(keys: &PushKeys) -> Result<Self, PushError> {
        let (public, secret) = (decoded(&keys.p256dh), decoded(&keys.auth));
        match (public, secret) {
            (Some(public), Some(secret))
                if public.len() == 65 && public.first() == Some(&4) && secret.len() == 16 =>
            {
                Ok(Self { public, secret })
            }
            _ => Err(PushError::BadSubscription("its keys are not keys of a browser")),
        }
    }

    /// The body of a push: salt, the hub's key for this message, and the encrypted text.
    pub(super) fn seal(&self, words: &[u8]) -> Result<Vec<u8>, PushError> {
        let random = SystemRandom::new();
        let no_randomness = |_| PushError::NoRandomness;
        let ours = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(no_randomness)?;
        let our_public = ours.compute_public_key().map_err(no_randomness)?;
        let mut salt = [0; 16];
        random.fill(&mut salt).map_err(no_randomness)?;

        let theirs = UnparsedPublicKey::new(&ECDH_P256, &self.public);
        let info = [b"WebPush: info\0".as_slice(), &self.public, our_public.as_ref()];
        let shared = agree_ephemeral(ours, &theirs, |secret| {
            expand::<32>(&Salt::new(HKDF_SHA256, &self.secret).extract(secret), &info)
        });
        let shared =
            shared.map_err(|_| PushError::BadSubscription("its key is not a point of the curve"))??;
        let (key, nonce) = keys_of(&salt, &shared)?;

        // Two, since it is the last record: there is but one.
        let mut record = [words, &[2]].concat();
        let key = UnboundKey::new(&AES_128_GCM, &key).map_err(no_randomness)?;
        LessSafeKey::new(key)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)
            .map_err(|_| PushError::TooLong)?;
        let public = our_public.as_ref();
        Ok([&salt, RECORD.to_be_bytes().as_slice(), &[public.len() as u8], public, &record].concat())
    }
}

/// The key and the nonce of a message.
fn keys_of(salt: &[u8], shared: &[u8]) -> Result<([u8; 16], [u8; 12]), PushError> {
    let prk = Salt::new(HKDF_SHA256, salt).extract(shared);
    Ok((expand(&prk, &[b"Content-Encoding: aes128gcm\0"])?, expand(&prk, &[b"Content-Encoding: nonce\0"])?))
}

fn expand<const N: usize>(prk: &Prk, info: &[&[u8]]) -> Result<[u8; N], PushError> {
    struct Bytes(usize);
    impl KeyType for Bytes {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut out = [0; N];
    prk.expand(info, Bytes(N)).and_then(|okm| okm.fill(&mut out)).map_err(|_| PushError::NoRandomness)?;
    Ok(out)
}

/// URL-safe base64, with or without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    BASE64URL_NOPAD.decode(text).or_else(|_| BASE64URL.decode(text)).ok()
}
