//! Checks of a client's parameters, before the hub acts on them.

use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource, Prompt, Refusal};
use longshore_session::{HubError, NAME_BYTES};
use serde_json::Value;

use crate::gate::Gate;
use crate::problem::Problem;

/// The deepest nesting of the data of a decision or an answer. An event holds this data a few levels down,
/// and nobody can read back from the log what is nested more than 128 levels deep.
const DEPTH: usize = 64;

/// Checks a title, a key or the name of a model: it must not be empty or too long.
pub(super) fn name(field: &str, given: Option<&str>) -> Result<(), Problem> {
    match given {
        Some(text) if text.trim().is_empty() => Err(Problem::invalid(format!("`{field}` is empty"))),
        Some(text) if text.len() > NAME_BYTES => {
            Err(Problem::invalid(format!("`{field}` is longer than {NAME_BYTES} bytes")))
        }
        Some(_) | None => Ok(()),
    }
}

pub(super) fn depth<'a>(field: &str, given: impl IntoIterator<Item = &'a Value>) -> Result<(), Problem> {
    match given.into_iter().all(|value| fits(value, DEPTH)) {
        true => Ok(()),
        false => Err(Problem::invalid(format!("`{field}` is nested more than {DEPTH} deep"))),
    }
}

fn fits(value: &Value, left: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(values) => left > 0 && values.iter().all(|value| fits(value, left - 1)),
        Value::Object(fields) => left > 0 && fields.values().all(|value| fits(value, left - 1)),
    }
}

/// Checks that the content of attachments is what agents can read. What is in the log goes to the model with every turn.
pub(super) fn attachments(attachments: &[Attachment]) -> Result<(), Problem> {
    let is_base64 = |attachment: &&Attachment| match &attachment.source {
        AttachmentSource::Data(data) => BASE64.decode(data.as_bytes()).is_ok(),
        AttachmentSource::Path(_) | AttachmentSource::Url(_) => true,
    };
    match attachments.iter().all(|attachment| is_base64(&attachment)) {
        true => Ok(()),
        false => Err(Problem::invalid(
            "the `data` of an attachment is not base64 (with padding, without line breaks)",
        )),
    }
}

/// Checks whether a session that does not exist yet can take this prompt.
pub(super) async fn first_prompt(gate: &Gate, agent: &str, prompt: &Prompt) -> Result<(), Problem> {
    if prompt.text.trim().is_empty() && prompt.attachments.is_empty() {
        return Err(HubError::from(Refusal::EmptyPrompt).into());
    }
    if !prompt.attachments.is_empty() {
        let agents = gate.agents().await?;
        let known = agents.iter().find(|known| *known.name == *agent);
        if known.is_some_and(|known| !known.capabilities.attachments) {
            let refusal = Refusal::NotSupported { agent: agent.to_owned(), what: "take attachments" };
            return Err(HubError::from(refusal).into());
        }
    }
    Ok(())
}
