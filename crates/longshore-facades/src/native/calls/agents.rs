//! Agents, and the machines that run them.

use longshore_model::capability::AgentInfo;

use crate::gate::Gate;
use crate::native::answers::{Agents, FolderPage, MachineInfo, Machines, Models, UsageDays};
use crate::native::params::{FoldersParams, ListAgentsParams, ListModelsParams, UsageParams, WhichModels};
use crate::problem::Problem;

/// The default and the largest number of days of usage.
const DAYS: (u32, u32) = (30, 366);

pub(super) async fn agents(gate: Gate, params: ListAgentsParams) -> Result<Agents, Problem> {
    let mut agents = gate.agents().await?;
    with_models(&gate, params.models, &mut agents).await;
    Ok(Agents { agents })
}

pub(super) async fn models(gate: Gate, params: ListModelsParams) -> Result<Models, Problem> {
    let ListModelsParams { agent, anew } = params;
    let models = if anew { gate.models_anew(&agent).await? } else { gate.models(&agent).await? };
    Ok(Models { models })
}

pub(super) async fn machines(gate: Gate, params: ListAgentsParams) -> Result<Machines, Problem> {
    let mut machines = Vec::new();
    for machine in gate.machines().await? {
        let (name, mut agents) = (machine.name, machine.agents);
        with_models(&gate, params.models, &mut agents).await;
        machines.push(MachineInfo { name, agents });
    }
    Ok(Machines { machines })
}

/// Asks all installed agents for their models at the same time, unless the caller wants only the known
/// models.
async fn with_models(gate: &Gate, which: WhichModels, agents: &mut [AgentInfo]) {
    match which {
        WhichModels::Asked => {}
        WhichModels::Known => return,
    }
    let here = agents.iter_mut().filter(|agent| agent.path.is_some() && agent.capabilities.models);
    let filled = here.map(|agent| async move {
        match gate.models(&agent.name).await {
            Ok(models) => agent.models = models,
            Err(error) => {
                agent.remark = Some(format!("its models are unknown: {error}"));
                agent.capabilities.forget_guesses();
            }
        }
    });
    futures_util::future::join_all(filled).await;
}

pub(super) async fn folders(gate: Gate, params: FoldersParams) -> Result<FolderPage, Problem> {
    let found = gate.folders(params.path).await?;
    let recent = gate.recent_folders().await?;
    Ok(FolderPage { path: found.path, parent: found.parent, folders: found.folders, recent })
}

pub(super) async fn usage(gate: Gate, params: UsageParams) -> Result<UsageDays, Problem> {
    let (usual, most) = DAYS;
    let days = params.days.unwrap_or(usual).clamp(1, most);
    Ok(UsageDays { days: gate.usage(days).await? })
}
