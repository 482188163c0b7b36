//! What people ask of the git repository of a folder: its status, differences, commits and work trees. Git runs no
//! program of the repository for any of it.

use serde::{Deserialize, Serialize};

/// Look into the repository of a folder. The error of the answer is for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepositoryQuery {
    /// A folder of a work tree: an absolute path.
    pub cwd: String,
    /// What to look at, or what to change.
    pub ask: RepositoryAsk,
}

/// What to look at, or what to change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum RepositoryAsk {
    /// The files that differ from the last commit.
    Status,
    /// The difference from the last commit.
    Diff {
        /// Only this file: a path in the work tree.
        file: Option<String>,
    },
    /// The newest commits of all branches.
    Log {
        /// The most commits.
        limit: u32,
    },
    /// All work trees.
    WorkTrees,
    /// Create a work tree in the repository's folder `.worktrees`. If there is no branch of that name, git creates it.
    AddWorkTree {
        /// The name of the branch.
        branch: String,
    },
    /// Remove a work tree of the folder `.worktrees`, unless it holds changes that are in no commit. The branch stays.
    RemoveWorkTree {
        /// The work tree: an absolute path.
        path: String,
    },
}

impl RepositoryAsk {
    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        match self {
            RepositoryAsk::Status
            | RepositoryAsk::Diff { .. }
            | RepositoryAsk::Log { .. }
            | RepositoryAsk::WorkTrees => false,
            RepositoryAsk::AddWorkTree { .. } | RepositoryAsk::RemoveWorkTree { .. } => true,
        }
    }
}

/// What a look into a repository shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "view", content = "of", rename_all = "snake_case")]
pub enum RepositoryView {
    /// The files that differ from the last commit.
    Status(WorkTreeStatus),
    /// The difference, as a unified diff.
    Diff(String),
    /// The commits, the newest first.
    Log(Vec<GitCommit>),
    /// All work trees, the main one first.
    WorkTrees(Vec<GitWorkTree>),
}

/// The files of a work tree that differ from the last commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTreeStatus {
    /// The branch; none if HEAD is detached.
    pub branch: Option<String>,
    /// How many commits the branch has that its upstream lacks.
    pub ahead: u32,
    /// How many commits the upstream has that the branch lacks.
    pub behind: u32,
    /// The files.
    pub files: Vec<ChangedFile>,
}

/// A file that differs from the last commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The path in the work tree.
    pub path: String,
    /// How it differs, in the letters of git: of the index, and of the work tree. `??` for an untracked file.
    pub state: String,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCommit {
    /// The hash.
    pub hash: String,
    /// The beginning of the hash that is enough.
    pub short: String,
    /// The hashes of the parents.
    pub parents: Vec<String>,
    /// The first line of the message.
    pub subject: String,
    /// The name of the author.
    pub author: String,
    /// How long ago it was, in words.
    pub ago: String,
    /// The branches and tags that name it.
    pub refs: Vec<String>,
}

/// A work tree of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitWorkTree {
    /// The path.
    pub path: String,
    /// The branch; none if HEAD is detached.
    pub branch: Option<String>,
    /// Whether it is the one that git made first.
    pub main: bool,
    /// Whether the branch of the main work tree has all commits of its branch.
    pub merged: bool,
}
