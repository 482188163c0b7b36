//! Agents without an account: what each agent needs to run on a scripted model. `docs/agents-offline.md`
//! describes this for people.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Where an agent runs on a scripted model.
#[derive(Clone, Copy, Debug)]
pub struct OfflinePlace<'a> {
    /// A folder for the agent alone. `home` in it is the agent's home, and `work` its work tree.
    pub folder: &'a Path,
    /// The address of the model: `http://127.0.0.1:4000`, without `/v1`.
    pub model: &'a str,
}

impl OfflinePlace<'_> {
    /// A path in the folder, in the form of environment variables.
    pub fn at(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }
}

/// How an agent runs without an account.
#[derive(Clone, Debug)]
pub struct Offline {
    /// Arguments after our own.
    pub arguments: Vec<String>,
    /// Environment variables besides `PATH`, `HOME` and `LANG`.
    pub env: BTreeMap<String, String>,
    /// The files to create in the folder, with their contents.
    pub files: Vec<(PathBuf, String)>,
    /// The model's calls of the agent's tools.
    pub calls: ScriptedCalls,
}

/// The scripted calls with which an agent uses its own tools, in the form of `docs/model-script.md`.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedCalls {
    /// Run this command.
    pub run: fn(&str) -> Value,
    /// Run this command outside of the agent's sandbox, if it has one.
    pub leave: fn(&str) -> Value,
    /// Make a file of this path with this line in it.
    pub write: fn(&str, &str) -> Value,
    /// Read a file, for agents that change only files that they have read.
    pub read: fn(&str) -> Option<Value>,
    /// Change a line of a file.
    pub edit: fn(&LineEdit<'_>) -> Value,
}

/// A change of one line. A model names only the part of the line that makes it unique.
#[derive(Clone, Copy, Debug)]
pub struct LineEdit<'a> {
    /// The file.
    pub path: &'a str,
    /// The text to replace.
    pub old: &'a str,
    /// The new text.
    pub new: &'a str,
    /// The whole line with the old text.
    pub line: &'a str,
}

impl LineEdit<'_> {
    /// The line after the change.
    pub fn line_after(&self) -> String {
        self.line.replace(self.old, self.new)
    }

    /// The change as a patch in Codex's format.
    pub fn patch(&self) -> String {
        let (path, line, after) = (self.path, self.line, self.line_after());
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n-{line}\n+{after}\n*** End Patch\n")
    }
}

/// An environment from literals.
pub(crate) fn env<const N: usize>(vars: [(&str, &str); N]) -> BTreeMap<String, String> {
    vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
