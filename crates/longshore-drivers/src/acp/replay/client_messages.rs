//! Translates the recorded client's messages into commands and answers of a session.

use std::collections::BTreeMap;

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::host_io::{Exit, HostFault, HostReply};
use serde_json::Value;

use crate::acp::rows::AcpRow;
use crate::acp::translate::mode_told;
use crate::acp::wire::Opened;

/// The text of a prompt.
pub(super) fn text_of(prompt: &Value) -> String {
    let texts = prompt.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Our mode for the agent's mode in a response.
pub(super) fn mode_of(row: &AcpRow, result: &Value) -> Option<Mode> {
    mode_told(row, serde_json::from_value::<Opened>(result.clone()).ok()?)
}

/// The command for a change of a setting. None if sessions have no such command.
pub(super) fn setting_of(row: &AcpRow, method: &str, params: &Value) -> Option<AgentCommand> {
    let word = |name: &str| params[name].as_str();
    let mode = |value: &str| {
        let ways = row.modes.iter().find(|(_, way)| way.iter().any(|(_, set)| *set == value));
        ways.map(|(mode, _)| AgentCommand::SetMode(*mode))
    };
    match (method, word("configId")) {
        ("session/set_mode", _) => mode(word("modeId")?),
        ("session/set_model", _) => Some(AgentCommand::SetModel(word("modelId")?.to_owned())),
        ("session/set_config_option", Some("mode")) => mode(word("value")?),
        ("session/set_config_option", Some("model")) => {
            Some(AgentCommand::SetModel(word("value")?.to_owned()))
        }
        (_, _) => None,
    }
}

/// The decision in a recorded answer.
pub(super) fn decision_of(row: &AcpRow, result: &Value, options: &Value) -> Option<Decision> {
    if result["outcome"]["outcome"] == "cancelled" {
        return Some(Decision::Cancel);
    }
    let chosen = result["outcome"]["optionId"].as_str()?;
    let option = options.as_array()?.iter().find(|option| option["optionId"] == chosen)?;
    match option["kind"].as_str()? {
        "allow_once" => Some(Decision::AllowOnce),
        "allow_always" => Some(row.quirks.always),
        "reject_once" | "reject_always" => Some(Decision::Deny),
        _ => None,
    }
}

/// The answers of a person in a recorded answer.
pub(super) fn answers_of(result: &Value) -> (AnswerAction, BTreeMap<String, Value>) {
    let action = match result["action"].as_str() {
        Some("decline") => AnswerAction::Decline,
        Some("cancel") => AnswerAction::Cancel,
        Some(_) | None => AnswerAction::Accept,
    };
    let answers = result["content"].as_object().into_iter().flatten();
    (action, answers.map(|(field, value)| (field.clone(), value.clone())).collect())
}

/// The reply of the recorded client's host.
pub(super) fn done_of(method: &str, said: &Value) -> Result<HostReply, HostFault> {
    let result = &said["result"];
    if !said["error"].is_null() {
        return Err(HostFault::Failed(said["error"]["message"].as_str().unwrap_or_default().to_owned()));
    }
    let word = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
    let exit = |from: &Value| Exit {
        code: from["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()),
        signal: from["signal"].as_str().map(str::to_owned),
    };
    Ok(match method {
        "fs/read_text_file" => HostReply::Read(word("content")),
        "fs/write_text_file" => HostReply::Written,
        "terminal/create" => HostReply::Running { terminal: word("terminalId") },
        "terminal/output" => HostReply::Output {
            text: word("output"),
            truncated: result["truncated"] == true,
            exit: Some(&result["exitStatus"]).filter(|status| !status.is_null()).map(exit),
        },
        "terminal/wait_for_exit" => HostReply::Ended(exit(result)),
        "terminal/kill" => HostReply::Killed,
        _ => HostReply::Released,
    })
}
