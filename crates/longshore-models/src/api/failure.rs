//! Failures of a model service, in the few kinds by which a caller decides.

use std::time::Duration;

use longshore_model::lifecycle::TurnErrorCode;
use serde_json::Value;

use super::moment;

/// How many bytes of a body that is no JSON an error quotes.
const TOLD: usize = 300;

/// The failure of a request to a model service.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind, for programs.
    pub kind: FailureKind,
    /// The message for people: the service's own text, if it sent one.
    pub message: String,
    /// How long to wait before the next try, if the service said so.
    pub retry_after: Option<Duration>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Too many requests.
    RateLimited,
    /// The service is overloaded, or broken.
    Unavailable,
    /// The service cannot be reached.
    Network,
    /// The answer broke off in the middle.
    Cut,
    /// The service sent something unreadable.
    Garbled,
    /// The conversation does not fit the model.
    TooLong,
    /// The key is wrong, or missing.
    Unauthorized,
    /// The account has no budget left.
    UsageLimit,
    /// The service refuses the request, and would refuse it again.
    Refused,
}

impl FailureKind {
    /// Whether a further try may succeed.
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

    /// The code of this kind in events.
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

impl Failure {
    /// A failure with a kind and a message.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// The stream ended in the middle.
    pub fn cut() -> Self {
        Self::new(FailureKind::Cut, "the model's service broke off in the middle of its answer")
    }

    /// The stream contains unreadable data.
    pub(super) fn garbled(error: &serde_json::Error, data: &[u8]) -> Self {
        if let Some(said) = serde_json::from_slice(data).ok().filter(is_error) {
            return Self::in_stream(&said, FailureKind::Unavailable);
        }
        let data = String::from_utf8_lossy(data);
        let message = format!("the model's service said what cannot be read ({error}): {}", beginning(&data));
        Self::new(FailureKind::Garbled, message)
    }

    /// The failure in an answer that is no stream.
    pub fn of_answer(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let mut failure = Self::of_said(&json, kind_of_status(status));
        if failure.message.is_empty() {
            let body = beginning(body.trim());
            failure.message = format!("the model's service answered {status} {body}").trim_end().to_owned();
        }
        failure.retry_after = retry_after.or(failure.retry_after);
        failure
    }

    /// The failure in an error event of a stream, in any shape.
    pub(super) fn of_event(data: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(data) {
            Ok(said) => Self::in_stream(&said, FailureKind::Unavailable),
            Err(_) => Self::new(FailureKind::Unavailable, beginning(String::from_utf8_lossy(data).trim())),
        }
    }

    /// The failure in a parsed error of a stream.
    pub(super) fn in_stream(said: &Value, otherwise: FailureKind) -> Self {
        let mut failure = Self::of_said(said, otherwise);
        if failure.message.is_empty() {
            let said = said.to_string();
            failure.message = format!("the model's service reported an error: {}", beginning(&said));
        }
        failure
    }

    /// Reads `{"error": ..}`, `{"error": {..}}`, a list of such objects, or an object that is the error itself.
    fn of_said(said: &Value, otherwise: FailureKind) -> Self {
        let said = said.get(0).unwrap_or(said);
        let error = said.get("error").filter(|error| !error.is_null()).unwrap_or(said);
        let message = words_of(error).or_else(|| words_of(said)).unwrap_or_default();
        let words = ["code", "type", "status"].map(|key| error[key].as_str().unwrap_or_default());
        let named = words.iter().find_map(|word| kind_of_word(word));
        let numbered = ["code", "status", "status_code"].into_iter().find_map(|key| {
            let number = &error[key];
            let number = number.as_u64().or_else(|| number.as_str()?.parse().ok())?;
            u16::try_from(number).ok().filter(|status| (400..600).contains(status)).map(kind_of_status)
        });
        let kind = named
            .or_else(|| kind_of_message(&message))
            .or_else(|| words.iter().any(|word| is_refusal(word)).then_some(FailureKind::Refused))
            .or(numbered)
            .unwrap_or(otherwise);
        let retry_after = moment::in_words(&message).or_else(|| {
            let details = error["details"].as_array().map(Vec::as_slice).unwrap_or_default();
            details.iter().find_map(|detail| moment::span(detail["retryDelay"].as_str()?))
        });
        Self { kind, message, retry_after: retry_after.filter(|_| kind.may_pass()) }
    }
}

/// Whether a value in place of an answer is an error, although its event has another name.
pub(super) fn is_error(said: &Value) -> bool {
    let said = said.get(0).unwrap_or(said);
    let has = |key: &str| said.get(key).is_some_and(|value| !value.is_null());
    has("error") || said["object"] == "error" || said["type"] == "error" || has("message") || has("detail")
}

/// The text of an error: its message, its list of details, or itself. A service that passes on the error of another
/// service adds that service's text.
fn words_of(error: &Value) -> Option<String> {
    let detail = |detail: &Value| match detail {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let words: Vec<&str> = all.iter().filter_map(|one| one["msg"].as_str()).collect();
            (!words.is_empty()).then(|| words.join("; "))
        }
        other => other["message"].as_str().map(str::to_owned),
    };
    let said = match error {
        Value::String(text) => Some(text.clone()),
        other => {
            ["message", "detail", "error_message", "msg"].into_iter().find_map(|key| detail(&other[key]))
        }
    };
    let said = said.filter(|text| !text.trim().is_empty())?;
    let passed_on = match &error["metadata"]["raw"] {
        Value::String(raw) => {
            let read: Value = serde_json::from_str(raw).unwrap_or_default();
            let words = words_of(read.get("error").unwrap_or(&read));
            Some(words.unwrap_or_else(|| beginning(raw).to_owned()))
        }
        other => words_of(other.get("error").unwrap_or(other)),
    };
    Some(match passed_on.filter(|words| !words.trim().is_empty() && !said.contains(words.as_str())) {
        Some(words) => format!("{said}: {words}"),
        None => said,
    })
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
        "rate_limit_exceeded" | "rate_limit_error" | "RESOURCE_EXHAUSTED" => Some(FailureKind::RateLimited),
        "insufficient_quota" | "billing_error" | "usage_limit_reached" => Some(FailureKind::UsageLimit),
        "server_error"
        | "api_error"
        | "overloaded_error"
        | "timeout_error"
        | "server_is_overloaded"
        | "slow_down"
        | "UNAVAILABLE" => Some(FailureKind::Unavailable),
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
            Some(FailureKind::TooLong)
        }
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED" => Some(FailureKind::Unauthorized),
        _ => None,
    }
}

/// Whether a code stands for a fault of the request itself, which does not pass.
fn is_refusal(word: &str) -> bool {
    matches!(
        word,
        "invalid_request_error"
            | "invalid_prompt"
            | "not_found_error"
            | "model_not_found"
            | "BadRequestError"
            | "NotFoundError"
            | "INVALID_ARGUMENT"
    )
}

/// Whether the text says that the conversation is too long. Servers that people run themselves say so only in words,
/// each in its own.
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn an_error_in_a_stream_keeps_its_words_and_says_whether_asking_again_helps() {
        let cases = [
            (r#"{"error":"CUDA out of memory"}"#, FailureKind::Unavailable, "CUDA out of memory"),
            (
                r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
                FailureKind::UsageLimit,
                "Insufficient credits",
            ),
            (r#"{"error":{"code":"400","message":"bad tool"}}"#, FailureKind::Refused, "bad tool"),
            (r#"{"error":{"code":502,"message":"down"}}"#, FailureKind::Unavailable, "down"),
            (
                r#"{"object":"error","message":"no such template","type":"BadRequestError","param":null,"code":400}"#,
                FailureKind::Refused,
                "no such template",
            ),
            (r#"{"message":"it broke"}"#, FailureKind::Unavailable, "it broke"),
            (
                r#"{"detail":[{"msg":"field required"},{"msg":"too short"}]}"#,
                FailureKind::Unavailable,
                "field required; too short",
            ),
            (
                r#"[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]"#,
                FailureKind::RateLimited,
                "slow",
            ),
            (r#"{"error":{"type":"invalid_request_error","message":"no"}}"#, FailureKind::Refused, "no"),
            (
                r#"{"error":{"message":"4097 tokens are over the context length","code":400}}"#,
                FailureKind::TooLong,
                "4097 tokens are over the context length",
            ),
            (
                r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"temperature must be 1\"}}"}}}"#,
                FailureKind::Refused,
                "Provider returned error: temperature must be 1",
            ),
            (
                r#"{"error":{"odd":1}}"#,
                FailureKind::Unavailable,
                r#"the model's service reported an error: {"error":{"odd":1}}"#,
            ),
            ("Segmentation fault", FailureKind::Unavailable, "Segmentation fault"),
        ];
        for (data, kind, message) in cases {
            let failure = Failure::of_event(data.as_bytes());
            assert_eq!((failure.kind, failure.message.as_str()), (kind, message), "{data}");
        }
    }

    #[test]
    fn a_time_to_ask_again_is_found_in_the_words_and_the_details() {
        let after = |body: &str| Failure::of_answer(429, body, None).retry_after.map(|time| time.as_millis());
        assert_eq!(
            after(r#"{"error":{"message":"Please try again in 1.2s.","code":"rate_limit_exceeded"}}"#),
            Some(1_200)
        );
        assert_eq!(
            after(r#"{"error":{"message":"quota","details":[{"a":1},{"retryDelay":"23s"}]}}"#),
            Some(23_000)
        );
        let refused = Failure::of_answer(400, r#"{"error":{"message":"do not try again in 5s"}}"#, None);
        assert_eq!(refused.retry_after, None, "what will not pass is not asked again");
        let told = Failure::of_answer(
            429,
            r#"{"error":{"message":"try again in 9s"}}"#,
            Some(Duration::from_secs(2)),
        );
        assert_eq!(told.retry_after, Some(Duration::from_secs(2)), "the header counts");
    }
}
