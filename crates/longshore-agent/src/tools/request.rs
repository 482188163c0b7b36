//! A call after its name and its arguments are parsed.

use longshore_model::item::ToolKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::command::Script;
use super::mcp::{Servers, Target};
use super::read::{ListArguments, PathArguments, ReadArguments};
use super::{ToolInvocation, UNKNOWN, definitions, exec, search, shell};

/// A parsed call.
#[derive(Clone, Debug)]
pub(super) enum ToolRequest {
    Shell(shell::ShellArguments),
    Exec(exec::ExecArguments),
    Patch(String),
    Write(WriteArguments),
    Read(ReadArguments),
    Fetch(PathArguments),
    List(ListArguments),
    Search(search::SearchArguments),
    Image(PathArguments),
    Mcp(Target, Value),
}

/// The arguments of `write_file`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WriteArguments {
    #[serde(alias = "file_path")]
    pub(super) path: String,
    pub(super) content: String,
}

/// The arguments of `apply_patch`.
#[derive(Deserialize)]
#[serde(untagged)]
enum PatchArguments {
    Named {
        #[serde(alias = "patch")]
        input: String,
    },
    Bare(String),
}

impl ToolRequest {
    /// Parses a call. The error says what the model did wrong.
    pub(super) fn of(call: &ToolInvocation, servers: &Servers) -> Result<Self, String> {
        let request = match call.name.as_str() {
            "shell" => return arguments(call).map(Self::shell),
            "unified_exec" => Self::Exec(arguments(call)?),
            "apply_patch" => match arguments(call)? {
                PatchArguments::Named { input } | PatchArguments::Bare(input) => Self::Patch(input),
            },
            "write_file" => Self::Write(arguments(call)?),
            "read_file" => Self::Read(arguments(call)?),
            "fetch_file" => Self::Fetch(arguments(call)?),
            "list_dir" => Self::List(arguments(call)?),
            "search" => Self::Search(arguments(call)?),
            "view_image" => Self::Image(arguments(call)?),
            name => match servers.find(name) {
                Some(target) => Self::Mcp(target, call.arguments.clone()),
                None => return Err(unknown(name, servers)),
            },
        };
        Ok(request)
    }

    /// Parses a call of `shell`. Some models know `apply_patch` as a program and run it in the shell.
    fn shell(arguments: shell::ShellArguments) -> Self {
        let patch = match &arguments.command {
            Script::Words(words) => match words.as_slice() {
                [program, patch] if program == "apply_patch" => Some(patch.as_str()),
                _ => arguments.command.inner().filter(|line| is_patch(line)),
            },
            Script::Line(line) => Some(line.as_str()).filter(|line| is_patch(line)),
        };
        match patch.map(str::to_owned) {
            Some(patch) => Self::Patch(patch),
            None => Self::Shell(arguments),
        }
    }

    /// The kind of the call for clients.
    pub(super) fn kind(&self) -> ToolKind {
        match self {
            Self::Shell(_) | Self::Exec(_) => ToolKind::Execute,
            Self::Patch(_) | Self::Write(_) => ToolKind::Edit,
            Self::Read(_) | Self::List(_) | Self::Image(_) | Self::Fetch(_) => ToolKind::Read,
            Self::Search(_) => ToolKind::Search,
            Self::Mcp(..) => ToolKind::Other,
        }
    }
}

fn is_patch(line: &str) -> bool {
    line.trim_start().starts_with("apply_patch") && line.contains("*** Begin Patch")
}

fn arguments<T: DeserializeOwned>(call: &ToolInvocation) -> Result<T, String> {
    T::deserialize(&call.arguments).map_err(|error| {
        let known = definitions::built_in().into_iter().find(|definition| definition.name == call.name);
        let schema =
            known.map(|definition| definition.parameters["properties"].to_string()).unwrap_or_default();
        format!("the arguments of {} do not fit: {error}. They are {schema}", call.name)
    })
}

fn unknown(name: &str, servers: &Servers) -> String {
    format!("{UNKNOWN} `{name}`; there are {}", offered(servers).join(", "))
}

/// The names of all tools except the machine's own.
fn offered(servers: &Servers) -> Vec<String> {
    let built_in = definitions::built_in().into_iter().map(|definition| definition.name);
    built_in.chain(servers.definitions().into_iter().map(|definition| definition.name)).collect()
}
