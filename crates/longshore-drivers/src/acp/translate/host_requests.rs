//! Files and terminals that the agent leaves to the hub. The driver touches neither: it requests the work
//! from the anchor, and answers the agent when the work is done.

use std::collections::HashMap;

use longshore_model::host_io::{Exit, HostFault, HostReply, HostRequest, HostRequestId, Job};
use longshore_model::id::SessionId;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::requests::{refuse, reply};
use super::{Acp, WireError};
use crate::acp::wire::{
    FileAsked, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, RpcId, TerminalAsked,
};
use crate::kit::Scribe;

/// The work under way.
#[derive(Debug, Default)]
pub(super) struct HostRequests {
    last: u64,
    running: HashMap<HostRequestId, PendingWork>,
}

/// A work that is not done yet.
#[derive(Debug)]
struct PendingWork {
    id: RpcId,
    session: SessionId,
    /// The terminal of the work.
    terminal: Option<String>,
}

impl HostRequests {
    /// The number of works that are not done yet.
    pub(super) fn open(&self) -> usize {
        self.running.len()
    }
}

impl Acp {
    pub(super) fn host_request_for(
        &mut self,
        id: &RpcId,
        native: &str,
        method: &str,
        params: &RawValue,
        scribe: &mut Scribe<'_>,
    ) -> Result<(), WireError> {
        let Some(conversation) = self.conversations.get(native) else { return Ok(()) };
        let (job, terminal) = match method {
            "fs/read_text_file" => {
                let FileAsked { path, line, limit, .. } = serde_json::from_str(params.get())?;
                (Job::Read { path, line, limit }, None)
            }
            "fs/write_text_file" => {
                let FileAsked { path, content, .. } = serde_json::from_str(params.get())?;
                (Job::Write { path, content }, None)
            }
            _ => {
                let asked: TerminalAsked = serde_json::from_str(params.get())?;
                let terminal = asked.terminal_id.clone();
                let Some(job) = terminal_job(method, asked) else {
                    refuse(id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), scribe);
                    return Ok(());
                };
                (job, Some(terminal))
            }
        };
        self.host_requests.last += 1;
        let work = HostRequestId(self.host_requests.last);
        let session = conversation.session;
        self.host_requests.running.insert(work, PendingWork { id: id.clone(), session, terminal });
        scribe.out.host_requests.push(HostRequest { id: work, session, root: conversation.cwd.clone(), job });
        Ok(())
    }

    /// Requests a file that a call wants to change. Returns the id of the work.
    pub(super) fn look_at(
        &mut self,
        session: SessionId,
        root: String,
        path: String,
        scribe: &mut Scribe<'_>,
    ) -> HostRequestId {
        self.host_requests.last += 1;
        let id = HostRequestId(self.host_requests.last);
        scribe.out.host_requests.push(HostRequest { id, session, root, job: Job::Look { path } });
        id
    }

    /// Handles the result of a work: answers the agent's request.
    pub(super) fn work_done(
        &mut self,
        work: HostRequestId,
        result: Result<HostReply, HostFault>,
        scribe: &mut Scribe<'_>,
    ) {
        if self.looked_at(work, &result, scribe) {
            return;
        }
        let Some(PendingWork { id, session, terminal }) = self.host_requests.running.remove(&work) else {
            return;
        };
        let done = match result {
            Ok(done) => done,
            Err(fault) => {
                let code = match &fault {
                    HostFault::Missing(_) | HostFault::NoTerminal(_) => NOT_FOUND,
                    HostFault::Outside(_) | HostFault::Unfit { .. } => INVALID_PARAMS,
                    HostFault::Busy(_) | HostFault::Failed(_) => INTERNAL_ERROR,
                };
                return refuse(&id, code, &fault.to_string(), scribe);
            }
        };
        let conversation = self.natives.get(&session).and_then(|native| self.conversations.get_mut(native));
        if let (Some(conversation), Some(terminal)) = (conversation, terminal) {
            match &done {
                HostReply::Output { text, truncated, exit } => {
                    let printed = Some(text.as_str()).filter(|_| !truncated);
                    let code = exit.as_ref().and_then(|exit| exit.code);
                    conversation.terminal_told(&terminal, printed, code, scribe);
                }
                HostReply::Ended(exit) => conversation.terminal_told(&terminal, None, exit.code, scribe),
                HostReply::Read(_)
                | HostReply::Written
                | HostReply::Running { .. }
                | HostReply::Killed
                | HostReply::Released => {}
            }
        }
        reply(&id, answer_of(done), scribe);
    }
}

fn terminal_job(method: &str, asked: TerminalAsked) -> Option<Job> {
    let TerminalAsked { terminal_id: terminal, command, args, env, cwd, output_byte_limit } = asked;
    Some(match method {
        "terminal/create" => Job::Run {
            command,
            arguments: args,
            env: env.into_iter().map(|var| (var.name, var.value)).collect(),
            cwd,
            keep: output_byte_limit,
        },
        "terminal/output" => Job::Output { terminal },
        "terminal/wait_for_exit" => Job::Wait { terminal },
        "terminal/kill" => Job::Kill { terminal },
        "terminal/release" => Job::Release { terminal },
        _ => return None,
    })
}

fn answer_of(done: HostReply) -> Value {
    let status = |exit: &Exit| json!({"exitCode": exit.code, "signal": exit.signal});
    match done {
        HostReply::Read(content) => json!({"content": content}),
        HostReply::Running { terminal } => json!({"terminalId": terminal}),
        HostReply::Output { text, truncated, exit } => {
            json!({"output": text, "truncated": truncated, "exitStatus": exit.as_ref().map(status)})
        }
        HostReply::Ended(exit) => status(&exit),
        HostReply::Written | HostReply::Killed | HostReply::Released => json!({}),
    }
}
