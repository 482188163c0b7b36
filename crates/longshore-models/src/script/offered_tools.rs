//! The tools that a request offers: a script may name several tools for one call, and the first offered one
//! is called.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::api::Api;
use super::chunks::{Chunks, Cutting};
use super::step::{Action, FunctionCall, ScriptStep, StepAnswer};

/// A tool that a request offers.
struct OfferedTool {
    name: String,
    /// The arguments of the tool. Empty if the request does not name them.
    takes: BTreeSet<String>,
}

/// Fits a step to a request. A call that may have several names gets the first offered name, and only arguments that
/// this tool has.
pub(super) fn fitted(step: &Arc<ScriptStep>, api: Api, request: &Value) -> Arc<ScriptStep> {
    let chooses = |action: &Action| matches!(action, Action::Call(call) if !call.otherwise.is_empty());
    match &step.play {
        StepAnswer::Stream { actions, .. } if actions.iter().any(chooses) => {}
        StepAnswer::Stream { .. } | StepAnswer::Http(_) => return Arc::clone(step),
    }
    let tools = offered(api, request);
    let mut step = ScriptStep::clone(step);
    if let StepAnswer::Stream { actions, .. } = &mut step.play {
        for action in actions {
            if let Action::Call(call) = action {
                fit(call, &tools);
            }
        }
    }
    Arc::new(step)
}

fn fit(call: &mut FunctionCall, tools: &[OfferedTool]) {
    let names = std::iter::once(&call.name).chain(&call.otherwise);
    let Some(tool) = names.into_iter().find_map(|name| tools.iter().find(|tool| tool.name == *name)) else {
        return;
    };
    if let Ok(Value::Object(args)) = serde_json::from_str(&call.arguments.text())
        && !tool.takes.is_empty()
        && !call.otherwise.is_empty()
    {
        let taken: Map<String, Value> =
            args.into_iter().filter(|(name, _)| tool.takes.contains(name)).collect();
        let text = Value::Object(taken).to_string();
        call.arguments = Chunks::cut(&text, Cutting::Count(1), call.arguments.delay());
    }
    call.name.clone_from(&tool.name);
}

fn offered(api: Api, request: &Value) -> Vec<OfferedTool> {
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let tools = list(&request["tools"]);
    let (tools, schemas): (Vec<Value>, &[&str]) = match api {
        Api::Responses => (tools, &["parameters"]),
        Api::Chat => (tools.iter().map(|tool| tool["function"].clone()).collect(), &["parameters"]),
        Api::Messages => (tools, &["input_schema"]),
        Api::Gemini => {
            let declared = tools.iter().flat_map(|tool| list(&tool["functionDeclarations"]));
            (declared.collect(), &["parameters", "parametersJsonSchema"])
        }
    };
    let of = |tool: &Value| {
        let properties = schemas.iter().find_map(|schema| tool[*schema]["properties"].as_object());
        let takes = properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default();
        Some(OfferedTool { name: tool["name"].as_str()?.to_owned(), takes })
    };
    tools.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::script::Script;

    fn called(api: Api, request: Value) -> (String, String) {
        let args = json!({ "command": "ls", "cmd": "ls", "description": "look" });
        let script = json!([{ "do": [{ "call": ["bash", "Bash", "exec"], "args": args }] }]);
        let script = Script::from_value(script).unwrap();
        let step = fitted(&Arc::new(script.steps[0].clone()), api, &request);
        let StepAnswer::Stream { actions, .. } = &step.play else { panic!("{step:?}") };
        let Action::Call(call) = &actions[0] else { panic!("{actions:?}") };
        (call.name.clone(), call.arguments.text())
    }

    #[test]
    fn of_several_tools_the_one_is_called_that_the_request_offers_with_what_it_takes() {
        let schema = json!({ "type": "object", "properties": { "cmd": {} } });
        let chat = json!({ "tools": [{ "function": { "name": "exec", "parameters": schema } }] });
        let messages = json!({ "tools": [{ "name": "Exec" }, { "name": "Bash", "input_schema": { "properties": { "command": {}, "description": {} } } }] });
        let gemini = json!({ "tools": [{ "functionDeclarations": [{ "name": "exec", "parametersJsonSchema": schema }] }] });
        let responses = json!({ "tools": [{ "type": "function", "name": "exec", "parameters": schema }] });
        for (api, request) in [(Api::Chat, chat), (Api::Gemini, gemini), (Api::Responses, responses)] {
            assert_eq!(called(api, request), ("exec".to_owned(), r#"{"cmd":"ls"}"#.to_owned()));
        }
        let (name, args) = called(Api::Messages, messages);
        assert_eq!((name.as_str(), args.as_str()), ("Bash", r#"{"command":"ls","description":"look"}"#));
        // If the request offers none of the tools, the call has the first name and all arguments.
        let (name, args) = called(Api::Chat, json!({}));
        assert!(name == "bash" && args.contains("\"cmd\"") && args.contains("\"command\""));
    }
}
