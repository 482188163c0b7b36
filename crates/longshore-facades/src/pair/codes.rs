//! Pairing codes: eight unmistakable letters that work for five minutes and for one device. The link that a phone scans
//! has sixteen more letters, which nobody types.
//!
//! # How long guessing takes
//!
//! There are 31^8 = 8.5e11 codes. The hub accepts 10 guesses per minute and address, and [`GUESSES`] per minute in total;
//! an IPv6 network is one address. An attacker with 4096 addresses guesses one given code in its five minutes with a
//! chance of 5 * 40960 / 8.5e11 = 1 in 4 million. With thirty codes valid at every moment, which is the maximum, the
//! attacker needs 8.5e11 / (40960 * 30) minutes: 480 days. A link has 31^24 = 6e35 forms and cannot be guessed, so the
//! hub accepts it after any number of wrong codes: nobody can keep others from pairing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::device::DeviceMode;
use longshore_model::id::DeviceId;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::auth::{Maker, Throttle};
use crate::problem::Problem;

/// Letters and digits that nobody mistakes for each other.
const LETTERS: &[u8; 31] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const LENGTH: usize = 8;
/// The additional letters of a link.
const TAIL: usize = 16;

/// How long a code works.
pub(crate) const VALID: Duration = Duration::from_secs(5 * 60);
/// The most codes per minute, so at most thirty codes work at any time.
const MADE_PER_MINUTE: u32 = 6;
/// The most wrong codes per minute, per address and in total.
pub(crate) const GUESSES: (u32, u32) = (10, 40_960);

/// What a code offers.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) mode: DeviceMode,
    pub(crate) label: Option<String>,
    /// The address that a phone opens.
    pub(crate) url: String,
    /// The code in its long form, as in the link.
    pub(crate) long: String,
    /// Who made the code.
    pub(crate) by: Maker,
    until: Instant,
}

/// All codes that work.
#[derive(Debug)]
pub(crate) struct Codes {
    offers: Mutex<HashMap<String, Offer>>,
    made: Throttle,
    guesses: Throttle,
}

impl Default for Codes {
    fn default() -> Self {
        let (one, all) = GUESSES;
        let made = Throttle::new(MADE_PER_MINUTE, MADE_PER_MINUTE);
        Self { offers: Mutex::default(), made, guesses: Throttle::new(one, all) }
    }
}

impl Codes {
    /// Makes a code. `url` makes the link from the long code.
    pub(crate) fn make(
        &self,
        mode: DeviceMode,
        label: Option<String>,
        by: Maker,
        url: impl FnOnce(&str) -> String,
    ) -> Result<(String, Offer), Problem> {
        if let Some(wait) = self.made.must_wait(None) {
            return Err(Problem::too_many_codes(wait));
        }
        self.made.count(None);
        let long = random_letters(LENGTH + TAIL).map_err(|_| Problem::our_fault())?;
        let code = long[..LENGTH].to_owned();
        let offer = Offer { mode, label, url: url(&long), long, by, until: Instant::now() + VALID };
        self.offers().insert(code.clone(), offer.clone());
        Ok((code, offer))
    }

    /// What a code offers, without using the code.
    pub(crate) fn look(&self, code: &str) -> Option<Offer> {
        self.offers().get(&plain(code)).cloned()
    }

    /// Uses a code. A caller that guesses must wait, and then even the right short code fails, because it
    /// could be found by trying. A link always works.
    pub(crate) fn take(&self, code: &str, from: Option<IpAddr>) -> Result<Offer, Problem> {
        let code = plain(code);
        if let Some(offer) = self.take_long(&code) {
            return Ok(offer);
        }
        if let Some(wait) = self.guesses.must_wait(from) {
            return Err(Problem::too_many_attempts(wait));
        }
        let taken = self.offers().remove(&code);
        taken.ok_or_else(|| {
            self.guesses.count(from);
            Problem::bad_code()
        })
    }

    /// Compares with each long code as a whole, so that the time reveals nothing of the short code.
    fn take_long(&self, code: &str) -> Option<Offer> {
        let mut offers = self.offers();
        let is_it = |offer: &Offer| bool::from(offer.long.as_bytes().ct_eq(code.as_bytes()));
        let short = offers.iter().filter(|(_, offer)| is_it(offer)).map(|(short, _)| short.clone()).next()?;
        offers.remove(&short)
    }

    /// Puts back a code that led to nothing.
    pub(crate) fn put_back(&self, offer: Offer) {
        self.offers().insert(offer.long[..LENGTH].to_owned(), offer);
    }

    /// Voids all codes.
    pub(crate) fn clear(&self) {
        self.offers().clear();
    }

    /// Voids the codes that a device made.
    pub(crate) fn clear_of(&self, device: DeviceId) {
        self.offers().retain(|_, offer| offer.by.device != Some(device));
    }

    /// The codes that still work.
    fn offers(&self) -> MutexGuard<'_, HashMap<String, Offer>> {
        let mut offers = self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        offers.retain(|_, offer| offer.until > now);
        offers
    }
}

/// The code without case, blanks and dashes.
fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
}

fn random_letters(length: usize) -> Result<String, getrandom::Error> {
    // The largest multiple of their number that a byte holds, so that every letter is as likely.
    let fair = u8::MAX - u8::MAX % LETTERS.len() as u8;
    let mut code = String::with_capacity(length);
    while code.len() < length {
        let mut byte = [0];
        getrandom::fill(&mut byte)?;
        if byte[0] < fair {
            code.push(char::from(LETTERS[usize::from(byte[0]) % LETTERS.len()]));
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(codes: &Codes, by: Option<DeviceId>) -> String {
        let by = Maker::of(by);
        codes.make(DeviceMode::Full, None, by, |code| format!("https://hub/pair#{code}")).unwrap().0
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_used_once_and_grows_old() {
        let codes = Codes::default();
        let code = make(&codes, None);
        assert!(code.len() == 8 && code.bytes().all(|letter| LETTERS.contains(&letter)), "{code}");
        let typed = format!(" {}-{} ", code[..4].to_lowercase(), &code[4..]);
        assert!(codes.look(&typed).unwrap().url.contains(&format!("#{code}")));
        assert!(codes.take(&typed, None).is_ok());
        assert_eq!(codes.take(&code, None).unwrap_err().code, "bad_code");
        let old = make(&codes, None);
        tokio::time::advance(VALID).await;
        assert!(codes.look(&old).is_none());
        assert_eq!(codes.take(&old, None).unwrap_err().code, "bad_code");
    }

    #[tokio::test(start_paused = true)]
    async fn six_codes_a_minute_are_enough() {
        let codes = Codes::default();
        let device = DeviceId::of_words(&["phone"]);
        let made: Vec<String> = (0..6).map(|at| make(&codes, (at % 2 == 0).then_some(device))).collect();
        let more = codes.make(DeviceMode::Full, None, Maker::of(None), |_| String::new());
        assert_eq!(more.unwrap_err().code, "too_many_attempts");
        codes.clear_of(device);
        let left = made.iter().filter(|code| codes.look(code).is_some()).count();
        assert_eq!(left, 3, "those of the device are gone");
        codes.clear();
        assert!(made.iter().all(|code| codes.look(code).is_none()));
        tokio::time::advance(Duration::from_secs(60)).await;
        make(&codes, None);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_guesses_is_not_listened_to_even_when_right() {
        let codes = Codes::default();
        let code = make(&codes, None);
        let (guesser, other) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        let refused: Vec<&str> =
            (0..100).map(|_| codes.take("AAAAAAAA", guesser).unwrap_err().code).collect();
        assert_eq!(refused.iter().filter(|code| **code == "bad_code").count(), 10);
        assert_eq!(codes.take(&code, guesser).unwrap_err().code, "too_many_attempts");
        assert!(codes.take(&code, other).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_codes_of_others_keep_nobody_from_pairing() {
        let codes = Codes::default();
        let (typed, scanned) = (make(&codes, None), make(&codes, None));
        let link = codes.look(&scanned).unwrap().url;
        let long = link.split_once('#').unwrap().1;
        assert_eq!(long.len(), LENGTH + TAIL);
        for address in 0..200u8 {
            for _ in 0..20 {
                let from = Some(IpAddr::from([10, 0, address, 1]));
                assert!(codes.take("AAAAAAAA", from).is_err());
            }
        }
        let mine = Some(IpAddr::from([10, 0, 0, 1]));
        assert_eq!(codes.take(&typed, mine).unwrap_err().code, "too_many_attempts", "it guessed itself");
        assert!(codes.take(&typed, Some(IpAddr::from([10, 1, 0, 1]))).is_ok(), "another address did not");
        let wrong = format!("{}{}", &long[..LENGTH], "A".repeat(TAIL));
        assert!(codes.take(&wrong, mine).is_err());
        assert!(codes.take(long, mine).is_ok(), "a link is heard wherever it comes from");
        assert!(codes.take(long, mine).is_err(), "once");
        assert_eq!(codes.take(&scanned, None).unwrap_err().code, "bad_code", "and its short form with it");
    }
}
