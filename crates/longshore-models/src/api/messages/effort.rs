//! The reasoning effort. Newer Claude models take a word and choose the budget themselves. Older models, and most other
//! services of this API, need a thinking budget.

use serde_json::{Value, json};

use super::write::MAX_OUTPUT;

/// The smallest allowed thinking budget, in tokens.
const LEAST: u64 = 1_024;

/// Adds the effort to a body that is otherwise complete.
pub(in super::super) fn tell(body: &mut Value, effort: &str, max_output: Option<u64>) {
    let word = match effort {
        "none" | "off" | "" => return,
        "minimal" => "low",
        "ultra" => "max",
        other => other,
    };
    let model = body["model"].as_str().unwrap_or_default().to_ascii_lowercase();
    let generation = Generation::of(&model);
    if generation != Generation::Budget {
        body["output_config"]["effort"] = word.into();
    }
    // Thinking excludes a tool that must be called.
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return;
    }
    let thinking = match generation {
        Generation::Word => Some(json!({ "type": "adaptive" })),
        Generation::Budget | Generation::Other if lacks_thoughts(body) => None,
        Generation::Budget | Generation::Other => budget(body, word, max_output),
    };
    if let Some(thinking) = thinking {
        body["thinking"] = thinking;
        // With thinking, the service fixes these values.
        if let Some(body) = body.as_object_mut() {
            body.remove("temperature");
            body.remove("top_p");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    /// The model takes a word.
    Word,
    /// The model takes only a budget.
    Budget,
    /// A model of another service: it gets both.
    Other,
}

/// The first version of Claude that takes a word.
const FIRST_WITH_A_WORD: (u32, u32) = (4, 6);

impl Generation {
    fn of(model: &str) -> Self {
        match model.find("claude").map(|at| version_of(&model[at..])) {
            None => Generation::Other,
            Some(Some(version)) if version < FIRST_WITH_A_WORD => Generation::Budget,
            Some(_) => Generation::Word,
        }
    }
}

/// The version in a model's name, with any separator: `sonnet-4-5`, `sonnet-4.5`, `sonnet-4@20250514` (which is 4.0). A
/// date or a provider's revision is no version.
fn version_of(name: &str) -> Option<(u32, u32)> {
    let number = |part: &str| part.parse().ok().filter(|_| part.len() < 3);
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    let major = parts.by_ref().find_map(number)?;
    Some((major, parts.next().and_then(number).unwrap_or(0)))
}

/// The thinking budget. It counts as output, so it is added to the default limit of an answer.
fn budget(body: &mut Value, word: &str, max_output: Option<u64>) -> Option<Value> {
    let target: u64 = match word {
        "low" => 4_096,
        "medium" => 8_192,
        "high" => 16_384,
        _ => 32_768,
    };
    let tokens = match max_output {
        Some(most) => target.min(most / 2),
        None => target,
    };
    if tokens < LEAST {
        return None;
    }
    if max_output.is_none() {
        body["max_tokens"] = (MAX_OUTPUT + tokens).into();
    }
    Some(json!({ "type": "enabled", "budget_tokens": tokens }))
}

/// Whether the last answer waits for results of its calls, but has no thought before them. Either the model did not
/// think, or the thought was lost. Then thinking cannot continue from that answer.
fn lacks_thoughts(body: &Value) -> bool {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [.., answer, results] = messages else { return false };
    let has = |message: &Value, kind: &str| {
        message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    has(results, "tool_result")
        && answer["role"] == "assistant"
        && !has(answer, "thinking")
        && !has(answer, "redacted_thinking")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(mut body: Value, effort: &str, max_output: Option<u64>) -> Value {
        tell(&mut body, effort, max_output);
        body
    }

    fn of(model: &str) -> Value {
        json!({ "model": model, "max_tokens": MAX_OUTPUT, "messages": [], "temperature": 0.5 })
    }

    #[test]
    fn each_generation_is_told_in_its_own_words() {
        for model in [
            "claude-opus-4-6",
            "claude-sonnet-5",
            "anthropic/claude-opus-4-8",
            "anthropic/claude-sonnet-4.6",
            "us.anthropic.claude-opus-4-7-20260110-v1:0",
            "claude-opus-5@20260901",
            "claude-opus-latest",
        ] {
            let body = told(of(model), "high", None);
            assert_eq!(body["output_config"], json!({ "effort": "high" }), "{model}");
            assert_eq!(body["thinking"], json!({ "type": "adaptive" }), "{model}");
            assert_eq!(body.get("temperature"), None);
        }
        for model in [
            "claude-sonnet-4-5-20250929",
            "claude-3-7-sonnet-latest",
            "claude-opus-4-1",
            "claude-sonnet-4-20250514",
            "anthropic/claude-sonnet-4.5",
            "claude-haiku-4.5",
            "anthropic/claude-opus-4.1",
            "claude-sonnet-4@20250514",
            "anthropic/claude-sonnet-4",
            "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "anthropic/claude-3.7-sonnet:thinking",
        ] {
            let body = told(of(model), "medium", None);
            assert_eq!(body.get("output_config"), None, "{model}");
            assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 8_192 }), "{model}");
            assert_eq!(body["max_tokens"], MAX_OUTPUT + 8_192);
        }
        let body = told(of("kimi-k2"), "minimal", None);
        assert_eq!(
            (&body["output_config"]["effort"], &body["thinking"]["type"]),
            (&json!("low"), &json!("enabled"))
        );
        assert_eq!(told(of("claude-opus-4-6"), "none", None), of("claude-opus-4-6"));
    }

    #[test]
    fn a_budget_stays_below_what_may_be_written_and_needs_thoughts_to_go_on_from() {
        let body = told(of("claude-haiku-4-5"), "max", Some(6_000));
        assert_eq!(
            (&body["thinking"]["budget_tokens"], &body["max_tokens"]),
            (&json!(3_000), &json!(MAX_OUTPUT))
        );
        assert_eq!(told(of("claude-haiku-4-5"), "max", Some(1_000)).get("thinking"), None);
        let mut body = of("claude-haiku-4-5");
        body["messages"] = json!([
            { "role": "assistant", "content": [{ "type": "tool_use" }] },
            { "role": "user", "content": [{ "type": "tool_result" }] },
        ]);
        assert_eq!(told(body.clone(), "high", None).get("thinking"), None);
        body["messages"][0]["content"] = json!([{ "type": "thinking" }, { "type": "tool_use" }]);
        assert_eq!(told(body, "high", None)["thinking"]["type"], "enabled");
        let mut forced = of("claude-opus-4-6");
        forced["tool_choice"] = json!({ "type": "any" });
        let body = told(forced, "high", None);
        assert_eq!((body.get("thinking"), &body["temperature"]), (None, &json!(0.5)));
    }
}
