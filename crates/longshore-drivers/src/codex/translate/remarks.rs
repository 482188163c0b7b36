//! Remarks of Codex: about a whole thread, and for people.

use longshore_model::event::{Body, Draft, NoticeLevel};
use serde_json::value::RawValue;

use super::{Codex, WireError};
use crate::codex::wire;
use crate::kit::Scribe;

impl Codex {
    /// A change of a whole thread.
    pub(super) fn thread_changed(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let words: wire::RemarkParams = serde_json::from_str(params.get())?;
        let Some(thread) = self.threads.get_mut(&words.thread_id) else { return Ok(()) };
        // The session has already recorded its own changes.
        let draft = match method {
            "thread/status/changed" => {
                thread.loaded = words.status["type"] != "notLoaded";
                return Ok(());
            }
            "thread/closed" => {
                thread.loaded = false;
                return Ok(());
            }
            "thread/name/updated" if thread.title != words.thread_name => {
                thread.title = words.thread_name;
                let Some(title) = thread.title.clone() else { return Ok(()) };
                Draft::new(Body::TitleChanged).text(title)
            }
            "thread/archived" | "thread/unarchived" => {
                let archived = method == "thread/archived";
                if thread.archived == archived {
                    return Ok(());
                }
                thread.archived = archived;
                Draft::new(Body::ArchiveChanged { archived })
            }
            "thread/settings/updated" | "model/rerouted" => {
                let model = words.to_model.or(words.thread_settings.and_then(|settings| settings.model));
                if model.is_none() || model == thread.model {
                    return Ok(());
                }
                thread.model = model.clone();
                let turn = thread.turns.get(&words.turn_id).and_then(|turn| turn.id);
                let mut draft =
                    Draft::new(Body::ModelChanged { model: model.unwrap_or_default() }).turn(turn);
                draft.text = words.reason;
                draft
            }
            _ => return Ok(()),
        };
        scribe.quote(thread.session, draft);
        Ok(())
    }

    /// A notice for people that changes nothing.
    pub(super) fn remarked(
        &mut self,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let words: wire::RemarkParams = serde_json::from_str(params.get())?;
        let thread = self.threads.get(&words.thread_id);
        let session = thread.map(|thread| thread.session).or_else(|| self.nearest());
        let turn = thread.and_then(|thread| thread.turns.get(&words.turn_id)).and_then(|turn| turn.id);
        let (level, text) = match method {
            "mcpServer/startupStatus/updated" if words.status == "failed" => {
                let name = words.name.unwrap_or_default();
                let why = words.error.map(|error| format!(": {error}")).unwrap_or_default();
                (NoticeLevel::Warning, format!("The MCP server {name} did not start{why}"))
            }
            "mcpServer/startupStatus/updated" => return Ok(()),
            "thread/compacted" => (NoticeLevel::Info, super::items::COMPACTED.to_owned()),
            "modelProvider/authRecoveryStarted" => (NoticeLevel::Info, words.message.unwrap_or_default()),
            _ => (NoticeLevel::Warning, words.message.unwrap_or_default()),
        };
        scribe.notice(session, turn, level, text);
        Ok(())
    }
}
