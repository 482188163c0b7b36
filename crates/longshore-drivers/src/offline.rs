//! Agents without an account: what each needs to run on a scripted model. `docs/agents-offline.md` tells the same to
//! people.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Where an agent runs on a scripted model.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// A folder for the agent alone; in it `home` is its home, and `work` its work tree.
    pub folder: &'a Path,
    /// Where the model listens: `http://127.0.0.1:4000`, without `/v1`.
    pub model: &'a str,
}

impl Place<'_> {
    /// A path in the folder, as environments carry it.
    pub fn at(&self, path: &str) -> String {
        self.folder.join(path).display().to_string()
    }
}

/// How an agent runs without an account.
#[derive(Clone, Debug)]
pub struct Offline {
    /// Arguments after our own.
    pub arguments: Vec<String>,
    /// What its environment has besides `PATH`, `HOME` and `LANG`.
    pub env: BTreeMap<String, String>,
    /// Files to make in the folder, and what is in them.
    pub files: Vec<(PathBuf, String)>,
    /// How its model has it do things.
    pub calls: Calls,
}

/// What a model says so that an agent does something with its own tools, in the words of `docs/model-script.md`.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// Run this command.
    pub run: fn(&str) -> Value,
    /// Make a file of this path with this line in it.
    pub write: fn(&str, &str) -> Value,
}

/// An environment, from what is written down.
pub(crate) fn env<const N: usize>(vars: [(&str, &str); N]) -> BTreeMap<String, String> {
    vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
