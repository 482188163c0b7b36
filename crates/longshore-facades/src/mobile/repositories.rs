//! Projects, work trees, and the git of agents and projects. A project's id is its path.

use futures_util::future::join_all;
use longshore_model::anchor::{GitWorkTree, RepositoryAsk, RepositoryView, WorkTreeStatus};

use super::requests::{MobileAnswer, RefusalText, said, session_of};
use super::wire::{CommitRow, FileRow, ProjectRow, ServerFrame, StatusRow, WorktreeRow};
use crate::gate::Gate;

/// The most projects that the app gets, recent folders included.
const PROJECTS: usize = 64;
/// The most commits, and how many the app gets if it does not say.
const COMMITS: (u32, u32) = (1_000, 100);
/// The picture of every project.
const ICON: &str = "📁";

/// The listed projects, and the folders that were used last.
pub(super) async fn projects(gate: &Gate) -> MobileAnswer {
    let listed = gate.projects().await.map_err(said)?.into_iter().map(|project| project.path);
    let recent = gate.recent_folders().await.map_err(said)?;
    // A work tree is a part of its project.
    let recent = recent.into_iter().filter(|folder| !folder.contains("/.worktrees/"));
    let mut paths: Vec<String> = Vec::new();
    for path in listed.chain(recent) {
        if paths.len() < PROJECTS && !paths.contains(&path) {
            paths.push(path);
        }
    }
    let projects = join_all(paths.into_iter().map(|path| project(gate, path))).await;
    Ok(vec![ServerFrame::ProjectList { projects }])
}

async fn project(gate: &Gate, path: String) -> ProjectRow {
    // A folder without a repository has no work trees.
    let worktrees = trees(gate, &path, RepositoryAsk::WorkTrees).await.unwrap_or_default();
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&path).to_owned();
    ProjectRow { id: path.clone(), name, path, icon: ICON, worktrees }
}

pub(super) async fn unregister(gate: &Gate, project: &str) -> MobileAnswer {
    match gate.remove_project(project).await.map_err(said)? {
        true => projects(gate).await,
        false => {
            Err("this folder is offered because a session worked in it; it is no listed project".to_owned())
        }
    }
}

pub(super) async fn create_worktree(gate: &Gate, project_id: String, branch: String) -> MobileAnswer {
    let worktrees = trees(gate, &project_id, RepositoryAsk::AddWorkTree { branch: branch.clone() }).await?;
    let worktree = worktrees.iter().find(|tree| tree.branch == branch && !tree.is_main).cloned();
    Ok(vec![ServerFrame::WorktreeCreated { project_id, worktree, worktrees }])
}

pub(super) async fn remove_worktree(gate: &Gate, project_id: String, worktree_path: String) -> MobileAnswer {
    let asked = RepositoryAsk::RemoveWorkTree { path: worktree_path.clone() };
    let worktrees = trees(gate, &project_id, asked).await?;
    Ok(vec![ServerFrame::WorktreeRemoved { project_id, worktree_path, worktrees }])
}

async fn trees(gate: &Gate, path: &str, asked: RepositoryAsk) -> Result<Vec<WorktreeRow>, RefusalText> {
    let view = gate.repository(path.to_owned(), asked).await.map_err(said)?;
    let RepositoryView::WorkTrees(trees) = view else { return Err(odd()) };
    Ok(trees.into_iter().map(tree_row).collect())
}

fn tree_row(tree: GitWorkTree) -> WorktreeRow {
    let status = match (tree.main, tree.merged) {
        (true, _) => "main",
        (false, true) => "merged",
        (false, false) => "active",
    };
    let branch = tree.branch.unwrap_or_else(|| "(detached)".to_owned());
    WorktreeRow { path: tree.path, branch, is_main: tree.main, status }
}

/// The app asks this whenever a turn ends, also where there is no repository.
pub(super) async fn agent_status(gate: &Gate, agent_id: String) -> MobileAnswer {
    let cwd = session_of(gate, &agent_id).await?.cwd;
    Ok(match status(gate, cwd).await {
        Ok(status) => vec![ServerFrame::GitStatus { agent_id, status }],
        Err(error) => {
            vec![ServerFrame::GitStatus { agent_id, status: StatusRow::default() }, ServerFrame::error(error)]
        }
    })
}

pub(super) async fn tree_status(gate: &Gate, worktree_path: String) -> MobileAnswer {
    let status = status(gate, worktree_path.clone()).await?;
    Ok(vec![ServerFrame::WorktreeStatus { worktree_path, status }])
}

async fn status(gate: &Gate, cwd: String) -> Result<StatusRow, RefusalText> {
    let view = gate.repository(cwd, RepositoryAsk::Status).await.map_err(said)?;
    let RepositoryView::Status(WorkTreeStatus { branch, ahead, behind, files }) = view else {
        return Err(odd());
    };
    let files =
        files.into_iter().map(|file| FileRow { status: letter(&file.state), file: file.path }).collect();
    Ok(StatusRow { branch: branch.unwrap_or_default(), ahead, behind, files })
}

/// One letter for the two of git: U for untracked, C for a conflict, else that of the work tree or of the index.
fn letter(state: &str) -> String {
    match state {
        "??" => "U".to_owned(),
        "AA" | "DD" => "C".to_owned(),
        conflict if conflict.contains('U') => "C".to_owned(),
        state => state.chars().rev().find(|letter| *letter != ' ').unwrap_or('M').to_string(),
    }
}

pub(super) async fn agent_diff(gate: &Gate, agent_id: String, file_path: Option<String>) -> MobileAnswer {
    let cwd = session_of(gate, &agent_id).await?.cwd;
    let diff = diff(gate, cwd, file_path.clone()).await?;
    Ok(vec![ServerFrame::GitDiff { agent_id, file_path, diff }])
}

pub(super) async fn tree_diff(gate: &Gate, worktree_path: String, file_path: Option<String>) -> MobileAnswer {
    let diff = diff(gate, worktree_path.clone(), file_path.clone()).await?;
    Ok(vec![ServerFrame::WorktreeDiff { worktree_path, file_path, diff }])
}

async fn diff(gate: &Gate, cwd: String, file: Option<String>) -> Result<String, RefusalText> {
    let file = file.filter(|file| !file.is_empty());
    let view = gate.repository(cwd, RepositoryAsk::Diff { file }).await.map_err(said)?;
    let RepositoryView::Diff(diff) = view else { return Err(odd()) };
    Ok(diff)
}

pub(super) async fn log(gate: &Gate, project_path: String, max_count: Option<u32>) -> MobileAnswer {
    let (most, usual) = COMMITS;
    let asked = RepositoryAsk::Log { limit: max_count.unwrap_or(usual).clamp(1, most) };
    let view = gate.repository(project_path.clone(), asked).await.map_err(said)?;
    let RepositoryView::Log(commits) = view else { return Err(odd()) };
    let commits = commits.into_iter().map(|commit| CommitRow {
        hash: commit.hash,
        abbrev_hash: commit.short,
        parents: commit.parents,
        subject: commit.subject,
        author: commit.author,
        relative_time: commit.ago,
        refs: commit.refs,
    });
    Ok(vec![ServerFrame::GitLog { project_path, commits: commits.collect() }])
}

fn odd() -> RefusalText {
    "the anchor answered another question".to_owned()
}
