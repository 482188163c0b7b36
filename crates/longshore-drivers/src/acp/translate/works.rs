//! Files and terminals: what the agent leaves to us. The driver touches neither; it says what is to be done, and answers
//! when that is done.

use std::collections::HashMap;

use longshore_model::driver::Output;
use longshore_model::id::SessionId;
use longshore_model::work::{Done, Exit, Job, Work, WorkFault, WorkId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::requests::{refuse, reply};
use super::{Acp, WireError};
use crate::acp::wire::{
    FileAsked, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, RpcId, TerminalAsked,
};

/// What is being done.
#[derive(Debug, Default)]
pub(super) struct Works {
    last: u64,
    running: HashMap<WorkId, PendingWork>,
}

/// A work that is not done yet.
#[derive(Debug)]
struct PendingWork {
    id: RpcId,
    session: SessionId,
    /// The terminal that it is about.
    terminal: Option<String>,
}

impl Works {
    /// How many are not done yet.
    pub(super) fn open(&self) -> usize {
        self.running.len()
    }
}

impl Acp {
    pub(super) fn works_for(
        &mut self,
        id: &RpcId,
        native: &str,
        method: &str,
        params: &RawValue,
        out: &mut Output,
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
                    refuse(id, METHOD_NOT_FOUND, &format!("longshore does not answer {method}"), out);
                    return Ok(());
                };
                (job, Some(terminal))
            }
        };
        self.works.last += 1;
        let work = WorkId(self.works.last);
        let session = conversation.session;
        self.works.running.insert(work, PendingWork { id: id.clone(), session, terminal });
        out.works.push(Work { id: work, session, root: conversation.cwd.clone(), job });
        Ok(())
    }

    /// Has a file looked at that a call is to change. The name of the work.
    pub(super) fn look_at(
        &mut self,
        session: SessionId,
        root: String,
        path: String,
        out: &mut Output,
    ) -> WorkId {
        self.works.last += 1;
        let id = WorkId(self.works.last);
        out.works.push(Work { id, session, root, job: Job::Look { path } });
        id
    }

    /// A work is done, or not: whoever asked for it is answered.
    pub(super) fn work_done(&mut self, work: WorkId, result: Result<Done, WorkFault>, out: &mut Output) {
        if self.looked_at(work, &result, out) {
            return;
        }
        let Some(PendingWork { id, session, terminal }) = self.works.running.remove(&work) else { return };
        let done = match result {
            Ok(done) => done,
            Err(fault) => {
                let code = match &fault {
                    WorkFault::Missing(_) | WorkFault::NoTerminal(_) => NOT_FOUND,
                    WorkFault::Outside(_) | WorkFault::Unfit { .. } => INVALID_PARAMS,
                    WorkFault::Busy(_) | WorkFault::Failed(_) => INTERNAL_ERROR,
                };
                return refuse(&id, code, &fault.to_string(), out);
            }
        };
        let conversation = self.natives.get(&session).and_then(|native| self.conversations.get_mut(native));
        if let (Some(conversation), Some(terminal)) = (conversation, terminal) {
            match &done {
                Done::Output { text, truncated, exit } => {
                    let printed = Some(text.as_str()).filter(|_| !truncated);
                    let code = exit.as_ref().and_then(|exit| exit.code);
                    conversation.terminal_told(&terminal, printed, code, out);
                }
                Done::Ended(exit) => conversation.terminal_told(&terminal, None, exit.code, out),
                Done::Read(_) | Done::Written | Done::Running { .. } | Done::Killed | Done::Released => {}
            }
        }
        reply(&id, answer_of(done), out);
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

fn answer_of(done: Done) -> Value {
    let status = |exit: &Exit| json!({"exitCode": exit.code, "signal": exit.signal});
    match done {
        Done::Read(content) => json!({"content": content}),
        Done::Running { terminal } => json!({"terminalId": terminal}),
        Done::Output { text, truncated, exit } => {
            json!({"output": text, "truncated": truncated, "exitStatus": exit.as_ref().map(status)})
        }
        Done::Ended(exit) => status(&exit),
        Done::Written | Done::Killed | Done::Released => json!({}),
    }
}
