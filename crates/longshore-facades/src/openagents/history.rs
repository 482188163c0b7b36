//! What the app reads of earlier sessions: lists, timelines, titles. And its files and commands.

use longshore_model::command::Command;
use longshore_model::id::SessionId;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Timeline};
use longshore_session::{HubError, RunRequest};
use serde_json::{Value, json};

use super::calls::{AppClient, INTERNAL, failed, failed_as};
use super::dialect;
use super::exec_lines;
use super::size;
use super::wire::{
    IndexParams, LatestParams, ReadParams, RecentSession, RunParams, SessionNotification, SessionUpdate,
    ThreadSummary, WriteParams,
};
use super::{calls, drafts};
use crate::gate::GateError;
use crate::kernel::rpc::RpcRequest;
use crate::kernel::{Step, Steps};
use crate::problem::Problem;

/// How many rows the lists have at most.
const ROWS: usize = 10;
/// The most characters of a title.
const TITLE: usize = 120;

fn millis(at: Timestamp) -> i64 {
    at.micros() / 1_000
}

impl AppClient {
    pub(crate) async fn threads(&self, most: Option<usize>) -> Result<Value, GateError> {
        let rows = self.newest(most.unwrap_or(ROWS).clamp(1, ROWS)).await?;
        let row = |info: longshore_model::info::SessionInfo| {
            // The app knows two sources, and loses the whole list for a third.
            let (source, title) = match drafts::mode_of(&info.provider) {
                Some(super::wire::ModeId::ClaudeCode) => ("claude_code", info.title),
                Some(_) => ("codex", info.title),
                None => ("codex", format!("{} ({})", info.title, info.provider)),
            };
            ThreadSummary {
                id: info.session_id.to_string(),
                title,
                source,
                created_at: millis(info.created_at),
                updated_at: millis(info.updated_at),
                last_message_ts: millis(info.updated_at),
            }
        };
        Ok(json!({ "items": rows.into_iter().map(row).collect::<Vec<_>>() }))
    }

    pub(crate) async fn recent_sessions(&self) -> Result<Value, GateError> {
        let rows = self.newest(ROWS).await?;
        let row = |info: &longshore_model::info::SessionInfo| RecentSession {
            session_id: info.session_id.to_string(),
            last_ts: millis(info.updated_at),
            message_count: info.head.0,
        };
        Ok(json!(rows.iter().map(row).collect::<Vec<_>>()))
    }

    /// The updates of a session, and then its news: what it says from now on comes behind them.
    pub(crate) async fn timeline(self, request: RpcRequest, named: String, most: Option<usize>) -> Steps {
        let Ok(session) = calls::session_of(&named) else {
            return self.outcome(&request, Ok(json!([])));
        };
        let timeline = match self.gate.timeline(session).await {
            Ok(timeline) => timeline,
            Err(GateError::Hub(HubError::UnknownSession)) => return self.outcome(&request, Ok(json!([]))),
            Err(error) => return failed(&request, &error.into()),
        };
        let answer = async {
            let agent = self.gate.session(session).await?.provider;
            let told: Vec<SessionNotification> = dialect::history(&agent, &timeline)
                .into_iter()
                .map(|update| SessionNotification { session_id: named.clone(), update })
                .collect();
            Ok(size::page(&told, most.unwrap_or(usize::MAX)))
        };
        let mut steps = self.large(&request, answer).await;
        if !self.seat().sessions.contains_key(&session)
            && let Ok(attached) = self.gate.attach_after(session, timeline.head).await
        {
            steps.push(Step::Attach(Box::new(attached)));
        }
        steps
    }

    /// The newest session, in the updates of this protocol. Without sessions it is an empty one, because the app has no
    /// place for an error.
    pub(crate) async fn latest_typed(self, request: RpcRequest) -> Steps {
        let answer = async {
            let Some((session, agent, timeline)) = self.latest().await? else {
                return Ok(r#"{"id":"","updates":[]}"#.to_owned());
            };
            let updates: Vec<SessionUpdate> = dialect::history(&agent, &timeline);
            Ok(format!(r#"{{"id":"{session}","updates":{}}}"#, size::page(&updates, usize::MAX)))
        };
        self.large(&request, answer).await
    }

    /// The newest session, as lines of Codex.
    pub(crate) async fn latest_lines(self, request: RpcRequest, params: LatestParams) -> Steps {
        let answer = async {
            let Some((session, _, timeline)) = self.latest().await? else {
                return Err(GateError::Hub(HubError::UnknownSession));
            };
            let lines = exec_lines::lines(&session.to_string(), &timeline);
            let most = params.limit_lines.unwrap_or(usize::MAX);
            let lines = size::page_within(&lines, most, params.max_bytes.unwrap_or(usize::MAX));
            Ok(format!(r#"{{"id":"{session}","lines":{lines}}}"#))
        };
        self.large(&request, answer).await
    }

    async fn latest(
        &self,
    ) -> Result<Option<(SessionId, longshore_model::event::AgentName, std::sync::Arc<Timeline>)>, GateError>
    {
        let Some(info) = self.newest(1).await?.pop() else { return Ok(None) };
        Ok(Some((info.session_id, info.provider, self.gate.timeline(info.session_id).await?)))
    }

    /// There is no index here: an agent searches by itself.
    pub(crate) async fn index(&self, params: IndexParams) -> Result<Value, GateError> {
        let session = params.session_id.as_deref().and_then(|id| id.parse().ok());
        let of_session = match session {
            Some(session) => self.gate.session(session).await.ok().map(|info| info.cwd),
            None => None,
        };
        let path = match of_session {
            Some(cwd) => cwd,
            None => self.gate.recent_folders().await?.into_iter().next().unwrap_or_default(),
        };
        let exists = !path.is_empty() && self.gate.is_work_tree(&path).await;
        Ok(json!({ "workspace_path": path, "exists": exists, "files_indexed": 0, "chunks": 0 }))
    }

    pub(crate) async fn delete(&self, session: SessionId) -> Result<Value, GateError> {
        self.gate.erase(session).await?;
        Ok(json!({ "ok": true }))
    }

    pub(crate) async fn rename(&self, session: SessionId, title: &str) -> Result<Value, GateError> {
        let title = size::brief(title.trim(), TITLE);
        self.gate.command(session, Command::Rename(title)).await?;
        Ok(json!({ "ok": true }))
    }

    /// Gives a session the title that it would have had: its first prompt.
    pub(crate) async fn clear_title(&self, session: SessionId) -> Result<Value, GateError> {
        let timeline = self.gate.timeline(session).await?;
        let is_prompt = |content: &Content| matches!(content, Content::UserMessage { .. });
        let first = timeline.items.iter().find(|item| is_prompt(&item.content));
        let line = first.and_then(|item| item.text.lines().next()).unwrap_or("New session").to_owned();
        self.rename(session, &line).await
    }

    /// A draft has no title yet.
    pub(crate) async fn title(&self, session: SessionId) -> Result<Value, GateError> {
        match self.gate.session(session).await {
            Ok(info) => Ok(json!({ "title": info.title })),
            Err(GateError::Hub(HubError::UnknownSession)) => Ok(json!({ "title": null })),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn read_file(
        self,
        request: RpcRequest,
        session: SessionId,
        params: ReadParams,
    ) -> Steps {
        let ReadParams { session_id: _, path, line, limit } = params;
        let share = self.outgo.room(size::FRAME).await;
        let read = match self.gate.read_file(session, path_of(&path), line, limit).await {
            Ok(read) => read,
            Err(error) => return failed(&request, &error.into()),
        };
        let content = match read {
            Ok(text) => json!({ "content": text }).to_string(),
            Err(fault) => return failed_as(&request, -32002, &Problem::invalid(fault.to_string())),
        };
        if content.len() > size::LIST {
            let fault =
                "this part of the file is too long for one answer; name a `line` and a smaller `limit`";
            return failed_as(&request, INTERNAL, &Problem::invalid(fault));
        }
        request.answer(&content).map(|answer| Step::SendHeld(answer, share)).into_iter().collect()
    }

    pub(crate) async fn write_file(
        self,
        request: RpcRequest,
        session: SessionId,
        params: WriteParams,
    ) -> Steps {
        match self.gate.write_file(session, path_of(&params.path), params.content).await {
            Ok(Ok(())) => self.outcome(&request, Ok(json!({}))),
            Ok(Err(fault)) => failed_as(&request, INTERNAL, &Problem::invalid(fault.to_string())),
            Err(error) => failed(&request, &error.into()),
        }
    }

    pub(crate) async fn run(self, request: RpcRequest, session: SessionId, params: RunParams) -> Steps {
        let RunParams { session_id: _, command, cwd, env, output_byte_limit } = params;
        let mut words = command.into_iter();
        let Some(program) = words.next() else {
            return failed(&request, &Problem::invalid("`command` names no program"));
        };
        let wanted = RunRequest {
            command: program,
            arguments: words.collect(),
            env: env.unwrap_or_default().into_iter().collect(),
            cwd: cwd.as_deref().map(path_of),
            keep: output_byte_limit,
        };
        match self.gate.run_command(session, wanted).await {
            Ok(Ok(ran)) => {
                // A signal has no number here; shells say 128 and more.
                let status = ran.exit.code.unwrap_or(if ran.overdue { 124 } else { 128 });
                let result =
                    json!({ "output": ran.output, "truncated": ran.truncated, "exit_status": status });
                self.outcome(&request, Ok(result))
            }
            Ok(Err(fault)) => failed_as(&request, INTERNAL, &Problem::invalid(fault.to_string())),
            Err(error) => failed(&request, &error.into()),
        }
    }
}

/// A path that may come as the address of a file.
fn path_of(path: &str) -> String {
    let Some(path) = path.strip_prefix("file://") else { return path.to_owned() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if hex(high).is_some() && hex(low).is_some() => {
                bytes.push(hex(high).unwrap_or_default() * 16 + hex(low).unwrap_or_default());
                rest = after;
            }
            (_, _) => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn a_path_may_be_the_address_of_a_file() {
        for (told, path) in [
            ("src/main.rs", "src/main.rs"),
            ("/a b%20c", "/a b%20c"),
            ("file:///a%20b", "/a b"),
            ("file:///%C3%A9%zz%4", "/é%zz%4"),
        ] {
            assert_eq!(path_of(told), path, "{told}");
        }
    }
}
