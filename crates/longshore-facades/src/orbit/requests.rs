//! Requests of the client: their names and their parameters.

use longshore_model::id::SessionId;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::faults::OrbitFault;
use super::wire::{
    InterruptParams, ListDirsParams, OfThread, SendPromptParams, ThreadListParams, ThreadReadParams,
    ThreadStartParams, TurnStartParams,
};

/// What a client wants.
#[derive(Debug)]
pub(super) enum ThreadRequest {
    List(ThreadListParams),
    Read(ThreadReadParams),
    Resume(OfThread),
    Start(ThreadStartParams),
    Archive(OfThread, bool),
    Prompt(TurnStartParams),
    SendPrompt(SendPromptParams),
    Interrupt(InterruptParams),
    Models,
    CollaborationModes,
    ListDirs(ListDirsParams),
}

/// The methods of callers that may change nothing, besides those with the endings of reading.
const READING: [&str; 8] = [
    "thread/list",
    "thread/read",
    "thread/get",
    "thread/messages",
    "thread/events",
    "thread/history",
    "health",
    "status",
];

/// Whether a caller that may change nothing may call a method.
pub(super) fn only_reads(method: &str) -> bool {
    let endings = ["/list", "/get", "/read", "/status"];
    READING.contains(&method) || endings.iter().any(|ending| method.ends_with(ending))
}

impl ThreadRequest {
    pub(super) fn read(method: &str, params: Option<Value>) -> Result<Self, OrbitFault> {
        let params = params.filter(|params| !params.is_null()).unwrap_or_else(|| json!({}));
        Ok(match method {
            "thread/list" => Self::List(of(params)?),
            "thread/read" => Self::Read(of(params)?),
            "thread/resume" => Self::Resume(of(params)?),
            "thread/start" => Self::Start(of(params)?),
            "thread/archive" => Self::Archive(of(params)?, true),
            "thread/unarchive" => Self::Archive(of(params)?, false),
            "turn/start" => Self::Prompt(of(params)?),
            "sendPrompt" => Self::SendPrompt(of(params)?),
            "turn/interrupt" => Self::Interrupt(of(params)?),
            "model/list" | "models/list" => Self::Models,
            "collaborationMode/list" => Self::CollaborationModes,
            "anchor.listDirs" => Self::ListDirs(of(params)?),
            unknown => return Err(OrbitFault::method(unknown)),
        })
    }

    /// The session whose requests are done in their order.
    pub(super) fn session(&self) -> Option<SessionId> {
        match self {
            Self::Read(params) => Some(params.thread),
            Self::Resume(params) | Self::Archive(params, _) => Some(params.thread),
            Self::Prompt(params) => Some(params.thread_id),
            Self::SendPrompt(params) => Some(params.thread_id),
            Self::Interrupt(params) => Some(params.thread_id),
            Self::List(_) | Self::Start(_) | Self::Models | Self::CollaborationModes | Self::ListDirs(_) => {
                None
            }
        }
    }
}

fn of<T: DeserializeOwned>(params: Value) -> Result<T, OrbitFault> {
    serde_json::from_value(params)
        .map_err(|fault| OrbitFault::params(format!("cannot read the parameters: {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reads_is_told_by_its_name() {
        for method in
            ["thread/list", "thread/read", "model/list", "collaborationMode/list", "health", "account/status"]
        {
            assert!(only_reads(method), "{method}");
        }
        for method in [
            "thread/start",
            "turn/start",
            "thread/archive",
            "sendPrompt",
            "turn/interrupt",
            "anchor.listDirs",
        ] {
            assert!(!only_reads(method), "{method}");
        }
    }
}
