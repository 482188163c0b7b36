//! Errors in the words of the protocol.

use longshore_model::device::DeviceMode;
use longshore_session::HubError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::auth::Denial;
use crate::gate::GateError;

const INVALID_PARAMS: i32 = -32602;
const NO_METHOD: i32 = -32601;
const DENIED: i32 = -32003;
const FAILED: i32 = -32000;
/// The code with which the original refuses to list folders.
pub(super) const NO_FOLDERS: i32 = -1;

/// Why a request failed.
#[derive(Debug)]
pub(super) struct OrbitFault {
    pub(super) code: i32,
    pub(super) message: String,
}

impl OrbitFault {
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into() }
    }

    pub(super) fn method(name: &str) -> Self {
        Self { code: NO_METHOD, message: format!("no method is called `{name}`") }
    }

    pub(super) fn busy() -> Self {
        Self { code: FAILED, message: "this connection has too many requests at once; try again".to_owned() }
    }

    /// Of a caller that may not call a method.
    pub(super) fn denied(denial: &Denial, method: &str) -> Self {
        let message = match denial {
            Denial::NotAllowed { mode: DeviceMode::ReadOnly, .. } => {
                format!("Read-only token session cannot call {method}")
            }
            Denial::NotAllowed { .. } | Denial::Rotated | Denial::Revoked => denial.to_string(),
        };
        Self { code: DENIED, message }
    }

    pub(super) fn of_gate(error: GateError, method: &str) -> Self {
        match error {
            GateError::Denied(denial) => Self::denied(&denial, method),
            GateError::Hub(HubError::Invalid(message)) => Self::params(message),
            GateError::Hub(error) => Self { code: FAILED, message: error.to_string() },
        }
    }

    /// The response. Only who asked gets it; for a notification it is an error of the connection.
    pub(super) fn text(&self, id: Option<&Value>) -> String {
        match id {
            Some(id) => {
                let error = json!({ "code": self.code, "message": self.message });
                json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
            }
            None => orbit_error(&self.message, None),
        }
    }
}

/// An error that answers no request.
pub(super) fn orbit_error(error: &str, rpc_id: Option<&str>) -> String {
    #[derive(Serialize)]
    struct OrbitError<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        error: &'a str,
        #[serde(rename = "rpcId", skip_serializing_if = "Option::is_none")]
        rpc_id: Option<&'a str>,
    }
    serde_json::to_string(&OrbitError { kind: "orbit.error", error, rpc_id }).unwrap_or_default()
}
