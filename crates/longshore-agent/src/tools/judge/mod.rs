//! The judge: it decides by the mode, the rules and the paths of a call whether the call may run.
//!
//! | | plan | ask | auto-edit | full |
//! |---|---|---|---|---|
//! | read files of the work tree | go | go | go | go |
//! | commands that only read | go | go | go | go |
//! | commands that a rule allows | no | go | go | go |
//! | other commands | no | ask | ask | go |
//! | change files of the work tree | no | ask | go | go |
//! | leave the sandbox | no | ask | ask | go |
//! | tools of MCP servers | ask if the server says that the tool only reads, else no | ask, unless a rule allows it | the same | go |
//! | paths outside of the work tree | ask to read, else no | ask | ask | go |
//!
//! Without a sandbox, every command needs an approval, except in full.

mod commands;
mod reading;
mod shell_lexer;

use std::path::Path;

use longshore_model::approval::Subject;
use longshore_model::capability::Mode;
use longshore_model::item::ToolStatus;

use super::edits::Edits;
use super::exec;
use super::mcp::Servers;
use super::request::ToolRequest;
use super::{CallApproval, CallVerdict, Risk, patch};
use crate::git::kept::Sources;
use longshore_drivers::host_io::files::locate;

pub(super) use commands::{Manner, manner};

/// The facts besides the call on which a verdict depends.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) root: &'a Path,
    pub(super) mode: Mode,
    /// Whether commands run in a sandbox.
    pub(super) sandbox: bool,
    /// Whether commands may use the network.
    pub(super) network: bool,
    pub(super) rules: &'a [String],
    pub(super) servers: &'a Servers,
}

/// Decides whether a call may run.
pub(super) fn verdict(request: &ToolRequest, ground: &Ground<'_>) -> CallVerdict {
    match request {
        ToolRequest::Read(arguments) => ground.look("read_file", &arguments.path),
        ToolRequest::Fetch(arguments) => ground.look("fetch_file", &arguments.path),
        ToolRequest::Image(arguments) => ground.look("view_image", &arguments.path),
        ToolRequest::List(arguments) => ground.look("list_dir", &arguments.path),
        ToolRequest::Search(arguments) => ground.look("search", &arguments.path),
        ToolRequest::Write(arguments) => {
            let mut edits = Edits::new(ground.root);
            let planned = edits.change(&arguments.path, arguments.content.clone());
            ground.edit(&edits, planned, std::slice::from_ref(&arguments.path), false)
        }
        ToolRequest::Patch(text) => {
            let named = match patch::named(text) {
                Ok(named) => named,
                Err(fault) => return CallVerdict::Refuse(fault),
            };
            let mut edits = Edits::new(ground.root);
            let planned = patch::plan(text, &mut edits);
            ground.edit(&edits, planned, &named.paths, named.deletes)
        }
        ToolRequest::Shell(arguments) => commands::verdict(
            &commands::ProposedCommand {
                script: &arguments.command,
                cwd: arguments.cwd.as_deref(),
                escalate: arguments.escalate,
                reason: arguments.reason.as_deref(),
            },
            ground,
        ),
        ToolRequest::Exec(exec::ExecArguments::Start { command, cwd, escalate, reason, .. }) => {
            commands::verdict(
                &commands::ProposedCommand {
                    script: command,
                    cwd: cwd.as_deref(),
                    escalate: *escalate,
                    reason: reason.as_deref(),
                },
                ground,
            )
        }
        ToolRequest::Exec(exec::ExecArguments::Write { session, input, .. }) => {
            ground.type_into(session, input)
        }
        ToolRequest::Exec(
            exec::ExecArguments::Read { .. }
            | exec::ExecArguments::Yield { .. }
            | exec::ExecArguments::Kill { .. },
        ) => CallVerdict::Go,
        ToolRequest::Mcp(target, input) => {
            let subject = Subject::Tool { name: target.name(), input: input.clone() };
            let ask = |reason: String, always: Vec<String>| {
                CallVerdict::Ask(CallApproval { reason, risks: Vec::new(), subject: subject.clone(), always })
            };
            let name = target.name();
            let allowed =
                ground.rules.iter().any(|rule| *rule == name || *rule == format!("{}.*", target.server));
            match ground.mode {
                Mode::Full => CallVerdict::Go,
                Mode::Ask | Mode::AutoEdit if allowed => CallVerdict::Go,
                Mode::Ask | Mode::AutoEdit => {
                    ask(format!("It calls {name}, a tool of an MCP server."), vec![name])
                }
                Mode::Plan if ground.servers.only_reads(target) => ask(
                    format!("It calls {name}, a tool that only reads, according to its server."),
                    Vec::new(),
                ),
                Mode::Plan => ground.planning("call a tool that may change something"),
            }
        }
    }
}

impl Ground<'_> {
    fn planning(&self, what: &str) -> CallVerdict {
        CallVerdict::Refuse(format!(
            "the mode is plan, in which you may not {what}. Say what you would do; a person can allow more by \
             changing the mode"
        ))
    }

    /// Judges the reading of a file or a folder.
    fn look(&self, tool: &str, path: &str) -> CallVerdict {
        let place = match locate(self.root, path) {
            Ok(place) => place,
            // The tool would fail with the same error.
            Err(fault) => return CallVerdict::Refuse(fault.to_string()),
        };
        match self.mode {
            Mode::Full => CallVerdict::Go,
            Mode::Plan | Mode::Ask | Mode::AutoEdit if place.inside => CallVerdict::Go,
            Mode::Plan | Mode::Ask | Mode::AutoEdit => CallVerdict::Ask(CallApproval {
                reason: format!("{} is outside of the work tree.", place.path.display()),
                risks: vec![Risk::Outside],
                subject: Subject::Tool {
                    name: tool.to_owned(),
                    input: serde_json::json!({ "path": place.path.display().to_string() }),
                },
                always: Vec::new(),
            }),
        }
    }

    /// Judges a change of files.
    fn edit(
        &self,
        edits: &Edits,
        planned: Result<(), String>,
        paths: &[String],
        deletes: bool,
    ) -> CallVerdict {
        if self.mode == Mode::Plan {
            return self.planning("change files");
        }
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.to_owned());
        let places = paths.iter().filter_map(|path| locate(self.root, path).ok());
        let sources = Sources::of(self.root);
        let (mut outside, mut git) = (Vec::new(), false);
        for place in places {
            let within = place.path.strip_prefix(&root).unwrap_or(&place.path);
            // Some file systems do not distinguish upper and lower case.
            git |= within.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
            git |= sources.as_ref().is_some_and(|sources| sources.has(&place.path));
            if !place.inside {
                outside.push(place.path);
            }
        }
        // A change that is impossible needs no approval.
        if let Err(fault) = planned {
            return CallVerdict::Refuse(match outside.first() {
                // The error could quote the file, which the model may not read yet.
                Some(path) if self.mode != Mode::Full => {
                    format!(
                        "this does not fit, and {} is outside of the work tree; read it first",
                        path.display()
                    )
                }
                Some(_) | None => fault,
            });
        }
        let mut risks = Vec::new();
        let mut reasons = Vec::new();
        if let Some(first) = outside.first() {
            risks.push(Risk::Outside);
            reasons.push(format!("It changes {}, which is outside of the work tree.", first.display()));
        }
        if git {
            reasons.push("It changes git's own files, which can make git run programs.".to_owned());
        }
        if sources.is_none() {
            reasons
                .push("Git does not report its settings here, and this file may be one of them.".to_owned());
        }
        if deletes {
            risks.push(Risk::Deletes);
        }
        match self.mode {
            Mode::Full => return CallVerdict::Go,
            Mode::AutoEdit if reasons.is_empty() => return CallVerdict::Go,
            Mode::AutoEdit => {}
            Mode::Ask | Mode::Plan if reasons.is_empty() => reasons.push("It changes files.".to_owned()),
            Mode::Ask | Mode::Plan => {}
        }
        let grant_root =
            outside.first().and_then(|path| path.parent()).map(|path| path.display().to_string());
        let changes = edits.diff(ToolStatus::Running).changes;
        let subject = Subject::Edit { changes, grant_root };
        CallVerdict::Ask(CallApproval { reason: reasons.join(" "), risks, subject, always: Vec::new() })
    }

    /// Judges input for a terminal, which may be a shell.
    fn type_into(&self, session: &str, input: &str) -> CallVerdict {
        let rule = format!("unified_exec {session}");
        match self.mode {
            Mode::Full => CallVerdict::Go,
            Mode::Ask | Mode::AutoEdit if self.rules.contains(&rule) => CallVerdict::Go,
            Mode::Plan => self.planning("type into a terminal"),
            Mode::Ask | Mode::AutoEdit => CallVerdict::Ask(CallApproval {
                reason: format!("It types into the terminal of session {session}."),
                risks: if self.sandbox { Vec::new() } else { vec![Risk::Unsandboxed] },
                subject: Subject::Command {
                    command: input.trim_end().to_owned(),
                    cwd: None,
                    always: vec![rule.clone()],
                },
                always: vec![rule],
            }),
        }
    }
}
