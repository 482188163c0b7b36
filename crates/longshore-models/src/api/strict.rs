//! Rules that some services enforce and others do not know. A refusal reveals such a rule: the client repeats the
//! request once in the required form, and sends all later requests in that form.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::failure::Failure;

/// The rules that a service enforces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strict {
    /// Roles must alternate, and a user message right after results counts as none (templates of Mistral and
    /// Gemma).
    pub turns: bool,
    /// Every answer in the history needs a thought, also an answer that had none (DeepSeek, Kimi).
    pub thoughts: bool,
    /// Every call in the history needs a signature, also a call that the service never signed (Gemini).
    pub signatures: bool,
}

impl Strict {
    /// The rules for the next try after a refusal. Returns none if the refusal has another reason, or reveals nothing
    /// new.
    pub fn after(self, refusal: &Failure) -> Option<Self> {
        // The kind of the failure does not matter: services report such a rule as a client's or as a server's fault.
        let said = refusal.message.to_ascii_lowercase();
        let has = |words: &str| said.contains(words);
        let alternate = ["must alternate", "should alternate", "be alternating"];
        let more = self.and(Self {
            turns: alternate.into_iter().any(has) || (has("unexpected role") && has("after role")),
            thoughts: has("reasoning_content") && ["passed back", "missing", "required"].into_iter().any(has),
            signatures: has("thought_signature") && has("missing"),
        });
        (more != self).then_some(more)
    }

    fn and(self, other: Self) -> Self {
        Self {
            turns: self.turns || other.turns,
            thoughts: self.thoughts || other.thoughts,
            signatures: self.signatures || other.signatures,
        }
    }
}

/// The rules that a service is known to enforce, shared by all requests to it.
#[derive(Debug, Default)]
pub struct SharedStrict(Mutex<Strict>);

impl SharedStrict {
    /// All known rules.
    pub fn known(&self) -> Strict {
        *self.lock()
    }

    /// Adds rules.
    pub fn learn(&self, strict: Strict) {
        let mut known = self.lock();
        *known = known.and(strict);
    }

    fn lock(&self) -> MutexGuard<'_, Strict> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: Strict = Strict { turns: true, thoughts: false, signatures: false };
    const THOUGHTS: Strict = Strict { turns: false, thoughts: true, signatures: false };
    const SIGNATURES: Strict = Strict { turns: false, thoughts: false, signatures: true };

    #[test]
    fn what_a_service_insists_on_is_known_by_its_words_whatever_their_status() {
        let refusals = [
            // llama.cpp. Older builds report an exception of the template as their own fault.
            (
                500,
                r#"{"error":{"code":500,"message":"Value is not callable: After the optional system message, conversation roles must alternate user/assistant/user/assistant/...","type":"server_error"}}"#,
                TURNS,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"Error: Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...","type":"invalid_request_error"}}"#,
                TURNS,
            ),
            // Mistral's own service, directly and through other services.
            (
                400,
                r#"{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","param":null,"code":"3230"}"#,
                TURNS,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"object\":\"error\",\"message\":\"Unexpected role 'user' after role 'tool'\",\"code\":\"3230\"}"}}}"#,
                TURNS,
            ),
            (
                400,
                r#"{"error":{"message":"After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).","type":"invalid_message","code":400}}"#,
                TURNS,
            ),
            (
                400,
                r#"{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API.","type":"invalid_request_error"}}"#,
                THOUGHTS,
            ),
            (
                400,
                r#"{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2","type":"invalid_request_error"}}"#,
                THOUGHTS,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]"#,
                SIGNATURES,
            ),
        ];
        for (status, body, expected) in refusals {
            let refusal = Failure::of_answer(status, body, None);
            assert_eq!(Strict::default().after(&refusal), Some(expected), "{body}");
            assert_eq!(expected.after(&refusal), None, "what did not help is not tried again: {body}");
        }
        for other in ["model not found", "reasoning_content is not allowed here", "roles are unknown"] {
            let refusal = Failure::of_answer(400, other, None);
            assert_eq!(Strict::default().after(&refusal), None, "{other}");
        }
    }

    #[test]
    fn what_one_learns_all_know() {
        let learnt = SharedStrict::default();
        learnt.learn(TURNS);
        learnt.learn(THOUGHTS);
        assert_eq!(learnt.known(), TURNS.and(THOUGHTS));
    }
}
