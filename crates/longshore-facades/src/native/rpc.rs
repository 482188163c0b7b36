//! JSON-RPC 2.0: how a request reads, and how it is answered.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::params::ByName;
use crate::problem::Problem;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const NO_METHOD: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
/// Everything else; our own code is in `data.code`.
const OURS: i32 = -32000;

/// A request of a client.
#[derive(Debug)]
pub(super) struct RpcRequest {
    /// None for a notification, which is not answered.
    id: Option<Value>,
    pub(super) method: String,
    params: Option<Box<RawValue>>,
}

/// An answer, as a value or as JSON that is there already.
pub(super) enum RpcAnswer {
    Value(Value),
    Json(String),
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

/// A request with the id `null` wants an answer, one without an id does not.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl RpcRequest {
    /// Reads a request; of one that is none, what to answer.
    pub(super) fn read(text: &str) -> Result<Self, String> {
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

    /// All parameters as one thing.
    pub(super) fn params<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let params = self.params.as_ref().map_or("{}", |params| params.get());
        match serde_json::from_str(params) {
            Ok(ByName(params)) => Ok(params),
            Err(error) => Err(self.invalid(error)),
        }
    }

    /// The parameter that says whom it concerns, and the others.
    pub(super) fn params_of<N: DeserializeOwned, T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<(N, T), Problem> {
        let mut params: Map<String, Value> = self.params()?;
        let named = params.remove(name).ok_or_else(|| self.invalid(format!("`{name}` is missing")))?;
        let named =
            serde_json::from_value(named).map_err(|error| self.invalid(format!("`{name}`: {error}")))?;
        let rest = serde_json::from_value(Value::Object(params)).map_err(|error| self.invalid(error))?;
        Ok((named, rest))
    }

    fn invalid(&self, fault: impl std::fmt::Display) -> Problem {
        Problem::invalid(format!("{}: {fault}", self.method))
    }

    pub(super) fn answer(&self, answer: Result<RpcAnswer, Problem>) -> Option<String> {
        match answer {
            Ok(RpcAnswer::Value(value)) => self.result(&value),
            Ok(RpcAnswer::Json(json)) => {
                self.id.as_ref().map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{json}}}"))
            }
            Err(problem) => self.problem(&problem),
        }
    }

    pub(super) fn result(&self, result: &Value) -> Option<String> {
        self.id.as_ref().map(|id| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string())
    }

    /// JSON-RPC wants a number; ours is in `data.code`.
    pub(super) fn problem(&self, problem: &Problem) -> Option<String> {
        let code = match problem.code {
            "no_method" => NO_METHOD,
            "invalid_request" => INVALID_PARAMS,
            _ => OURS,
        };
        self.id.as_ref().map(|id| error(id, code, problem))
    }
}

pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn error(id: &Value, code: i32, problem: &Problem) -> String {
    let error = json!({ "code": code, "message": problem.title, "data": problem });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}
