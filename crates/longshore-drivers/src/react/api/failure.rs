//! What goes wrong with a model's service, in the few kinds that a caller decides by.

use std::time::Duration;

use longshore_model::lifecycle::TurnErrorCode;
use serde::Deserialize;
use serde_json::Value;

/// How much of a body that is no JSON is told.
const TOLD: usize = 300;

/// Something went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What, for programs.
    pub kind: FailureKind,
    /// What, for people: in the service's own words, where it has some.
    pub message: String,
    /// When the service wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Too many requests.
    RateLimited,
    /// The service is overloaded, or broken.
    Unavailable,
    /// It cannot be reached.
    Network,
    /// It stopped in the middle.
    Cut,
    /// It said what cannot be read.
    Garbled,
    /// The conversation does not fit the model.
    TooLong,
    /// The key is wrong, or missing.
    Unauthorized,
    /// The account has nothing left.
    UsageLimit,
    /// It will not do this, however often it is asked.
    Refused,
}

impl FailureKind {
    /// Whether asking again may help.
    pub fn may_pass(self) -> bool {
        match self {
            FailureKind::RateLimited
            | FailureKind::Unavailable
            | FailureKind::Network
            | FailureKind::Cut
            | FailureKind::Garbled => true,
            FailureKind::TooLong
            | FailureKind::Unauthorized
            | FailureKind::UsageLimit
            | FailureKind::Refused => false,
        }
    }

    /// In the words of the waist.
    pub fn code(self) -> TurnErrorCode {
        match self {
            FailureKind::RateLimited => TurnErrorCode::RateLimited,
            FailureKind::Unavailable => TurnErrorCode::Overloaded,
            FailureKind::Network | FailureKind::Cut => TurnErrorCode::Network,
            FailureKind::TooLong => TurnErrorCode::ContextWindow,
            FailureKind::Unauthorized => TurnErrorCode::Unauthorized,
            FailureKind::UsageLimit => TurnErrorCode::UsageLimit,
            FailureKind::Garbled | FailureKind::Refused => TurnErrorCode::Other,
        }
    }
}

/// The two ways in which these services say what is wrong.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    code: Value,
    #[serde(rename = "type")]
    kind: Value,
    message: Option<String>,
}

impl Failure {
    /// Of a kind, with words.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// The stream ended in the middle.
    pub fn cut() -> Self {
        Self::new(FailureKind::Cut, "the model's service broke off in the middle of its answer")
    }

    /// The stream holds what cannot be read.
    pub(super) fn garbled(error: &serde_json::Error, data: &[u8]) -> Self {
        let data = String::from_utf8_lossy(data);
        let message = format!("the model's service said what cannot be read ({error}): {}", beginning(&data));
        Self::new(FailureKind::Garbled, message)
    }

    /// What the service answered instead of a stream.
    pub fn of_answer(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let error = json.get("error").unwrap_or(&json);
        let mut failure = match error {
            Value::String(message) => Self::new(kind_of_status(status), message.clone()),
            other => Self::of_error(other, kind_of_status(status)),
        };
        if failure.message.is_empty() {
            let body = beginning(body.trim());
            failure.message = format!("the model's service answered {status} {body}").trim_end().to_owned();
        }
        failure.retry_after = retry_after;
        failure
    }

    /// What the service said in its stream: `{"code":..,"type":..,"message":..}`.
    pub(super) fn of_error(error: &Value, otherwise: FailureKind) -> Self {
        let Told { code, kind, message } = Told::deserialize(error).unwrap_or_default();
        let message = message.unwrap_or_default();
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let words = [word(&code), word(&kind)];
        let named = words.iter().find_map(|word| kind_of_word(word));
        let kind = named.or_else(|| kind_of_message(&message)).unwrap_or(otherwise);
        Self::new(kind, message)
    }
}

fn kind_of_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Unauthorized,
        402 => FailureKind::UsageLimit,
        408 | 409 | 425 => FailureKind::Unavailable,
        413 => FailureKind::TooLong,
        429 => FailureKind::RateLimited,
        500..=599 => FailureKind::Unavailable,
        _ => FailureKind::Refused,
    }
}

fn kind_of_word(word: &str) -> Option<FailureKind> {
    match word {
        "rate_limit_exceeded" | "rate_limit_error" => Some(FailureKind::RateLimited),
        "insufficient_quota" | "billing_error" | "usage_limit_reached" => Some(FailureKind::UsageLimit),
        "server_error"
        | "api_error"
        | "overloaded_error"
        | "timeout_error"
        | "server_is_overloaded"
        | "slow_down" => Some(FailureKind::Unavailable),
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
            Some(FailureKind::TooLong)
        }
        "authentication_error" | "permission_error" | "invalid_api_key" => Some(FailureKind::Unauthorized),
        _ => None,
    }
}

/// Servers of one's own say it in words only, each in its own.
fn kind_of_message(message: &str) -> Option<FailureKind> {
    let message = message.to_ascii_lowercase();
    let too_long = [
        "context length",
        "context window",
        "context size",
        "prompt is too long",
        "maximum context",
        "too many tokens",
    ];
    too_long.iter().any(|words| message.contains(words)).then_some(FailureKind::TooLong)
}

fn beginning(text: &str) -> &str {
    let end = (0..=TOLD.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// The header `Retry-After`: seconds, or a moment, given how many seconds it is since 1970.
pub fn retry_after(header: &str, now: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let seconds = moment(header)?.saturating_sub(now);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Seconds since 1970 of `Wed, 21 Oct 2015 07:28:00 GMT`.
fn moment(date: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = date.split_once(", ")?.1.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = i64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()? + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days since 1970, by counting years from March on, so that the leap day is the last of them.
    let years = if month <= 2 { year - 1 } else { year };
    let era = years.div_euclid(400);
    let year_of_era = years.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_to_ask_again_is_understood_in_both_its_forms() {
        assert_eq!(retry_after("2", 0), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(" 0.25", 0), Some(Duration::from_millis(250)));
        assert_eq!(moment("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480));
        assert_eq!(moment("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(
            retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1_445_412_470),
            Some(Duration::from_secs(10))
        );
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1_545_412_470), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", 0), None);
        assert_eq!(retry_after("-1", 0), None);
    }

    #[test]
    fn what_is_wrong_is_known_by_its_code_its_words_or_its_status() {
        let kind = |status, body: &str| Failure::of_answer(status, body, None).kind;
        assert_eq!(kind(429, "{}"), FailureKind::RateLimited);
        assert_eq!(
            kind(429, r#"{"error":{"code":"insufficient_quota","message":"no"}}"#),
            FailureKind::UsageLimit
        );
        assert_eq!(kind(400, r#"{"error":{"code":"context_length_exceeded"}}"#), FailureKind::TooLong);
        assert_eq!(
            kind(
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#
            ),
            FailureKind::TooLong
        );
        assert_eq!(kind(529, r#"{"error":{"type":"overloaded_error"}}"#), FailureKind::Unavailable);
        assert_eq!(kind(401, "nope"), FailureKind::Unauthorized);
        assert_eq!(kind(404, r#"{"error":"model not found"}"#), FailureKind::Refused);
    }

    #[test]
    fn it_is_told_in_the_services_own_words_where_it_has_some() {
        let message = |status, body: &str| Failure::of_answer(status, body, None).message;
        assert_eq!(message(404, r#"{"error":"model not found"}"#), "model not found");
        assert_eq!(message(400, r#"{"error":{"message":"bad"}}"#), "bad");
        assert_eq!(message(502, "<html>"), "the model's service answered 502 <html>");
    }
}
