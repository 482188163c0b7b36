//! Projects: folders that people listed, for clients that offer them.

use longshore_model::device::Project;

use crate::gate::Gate;
use crate::native::answers::{Projects, RemovedProject};
use crate::native::params::{NoParams, ProjectParams};
use crate::problem::Problem;

pub(super) async fn projects(gate: Gate, NoParams {}: NoParams) -> Result<Projects, Problem> {
    Ok(Projects { projects: gate.projects().await? })
}

pub(super) async fn add(gate: Gate, params: ProjectParams) -> Result<Project, Problem> {
    Ok(gate.add_project(&params.path).await?)
}

pub(super) async fn remove(gate: Gate, params: ProjectParams) -> Result<RemovedProject, Problem> {
    Ok(RemovedProject { removed: gate.remove_project(&params.path).await? })
}
