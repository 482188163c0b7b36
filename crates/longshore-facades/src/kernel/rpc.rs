//! JSON-RPC 2.0: requests and responses.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::native::CallInput;
use crate::problem::Problem;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
/// The code of all other errors. The hub's own code is in `data.code`.
const OURS: i32 = -32000;

/// A request of a client.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    /// None for a notification, which gets no response.
    id: Option<Value>,
    pub(crate) method: String,
    params: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default, deserialize_with = "even_null")]
    id: Option<Value>,
    #[serde(default)]
    method: Value,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// A request with the id `null` gets a response; a request without an id gets none.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl RpcRequest {
    /// Reads a request. The error is the response to an invalid request.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let invalid = |code, id, fault: String| {
            error(&id, code, &Problem::invalid(format!("this is not a JSON-RPC request: {fault}")))
        };
        if text.trim_start().starts_with('[') {
            let fault = "send requests one by one, not as a list";
            return Err(invalid(INVALID_REQUEST, Value::Null, fault.to_owned()));
        }
        let envelope: Envelope = serde_json::from_str(text).map_err(|error| {
            let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
            invalid(code, Value::Null, error.to_string())
        })?;
        let Envelope { id, method, params } = envelope;
        if matches!(id, Some(Value::Array(_) | Value::Object(_) | Value::Bool(_))) {
            let fault = "an id must be a number or a string";
            return Err(invalid(INVALID_REQUEST, Value::Null, fault.to_owned()));
        }
        let Value::String(method) = method else {
            let fault = "it names no method";
            return Err(invalid(INVALID_REQUEST, id.unwrap_or_default(), fault.to_owned()));
        };
        Ok(Self { id, method, params })
    }

    /// The parameters. The hub accepts parameters by name only.
    pub(crate) fn input(&self) -> CallInput<'_> {
        CallInput::of_json(self.params.as_ref().map_or("{}", |params| params.get()))
    }

    /// The response with a result that is JSON already.
    pub(crate) fn answer(&self, json: &str) -> Option<String> {
        self.id.as_ref().map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{json}}}"))
    }

    pub(crate) fn result(&self, result: &impl Serialize) -> Option<String> {
        self.answer(&json!(result).to_string())
    }

    /// The id, if it is a text.
    pub(crate) fn text_id(&self) -> Option<&str> {
        self.id.as_ref().and_then(Value::as_str)
    }

    /// The response with an error that has a number in the client's protocol.
    pub(crate) fn numbered(&self, code: i32, problem: &Problem) -> Option<String> {
        self.id.as_ref().map(|id| error(id, code, problem))
    }

    /// The response with an error. JSON-RPC requires a number; the hub's own code is in `data.code`.
    pub(crate) fn problem(&self, problem: &Problem) -> Option<String> {
        let code = match problem.code {
            "no_method" => NO_METHOD,
            "invalid_request" => INVALID_PARAMS,
            _ => OURS,
        };
        self.id.as_ref().map(|id| error(id, code, problem))
    }
}

pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn error(id: &Value, code: i32, problem: &Problem) -> String {
    let error = json!({ "code": code, "message": problem.title, "data": problem });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}
