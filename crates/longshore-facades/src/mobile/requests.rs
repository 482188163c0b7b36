//! What the app asks for, besides histories. Answers are messages that name the agent or the path; a refusal is an
//! `error`, which the app does not show, so what a person must know is also said in the conversation.

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::{Command, Prompt, Refusal, When};
use longshore_model::id::{ApprovalId, QuestionId, SessionId};
use longshore_model::info::SessionInfo;
use longshore_session::{HubError, OpenRequest};
use serde_json::Value;

use super::client::MobileClient;
use super::dialect::{agent_of_type, answers_of, attachment_of, open_permissions, snapshot};
use super::repositories;
use super::wire::{AgentChange, Behavior, ClientFrame, ContentBlock, ImageData, ModelRow, ServerFrame};
use crate::gate::{Gate, GateError};
use crate::kernel::ask::{Ask, nearest};

/// Why a request comes to nothing, for people.
pub(super) type RefusalText = String;
pub(super) type MobileAnswer = Result<Vec<ServerFrame>, RefusalText>;

const NO_SKILLS: &str = "Longshore keeps no skills; the agents find their own in their folders";

/// Answers a request.
pub(super) async fn answer(client: &MobileClient, frame: ClientFrame) -> Vec<ServerFrame> {
    let gate = &client.gate;
    let frames = match frame {
        ClientFrame::CreateAgent { agent_type, model, project_id, worktree_path } => {
            create(gate, &agent_type, model, worktree_path.or(project_id)).await
        }
        ClientFrame::DestroyAgent { agent_id } => destroy(gate, &agent_id).await,
        ClientFrame::SendMessage { agent_id, text, image_data } => {
            return match send(gate, &agent_id, text, image_data.as_ref()).await {
                Ok(frames) => frames,
                Err(error) => unsent(client, agent_id, error),
            };
        }
        ClientFrame::InterruptAgent { agent_id } => interrupt(gate, &agent_id).await,
        ClientFrame::RespondPermission { agent_id, request_id, behavior, updated_input } => {
            return respond(gate, agent_id, &request_id, behavior, updated_input.as_ref()).await;
        }
        ClientFrame::SetAutoApprove { agent_id, enabled } => {
            return auto_approve(gate, agent_id, enabled).await;
        }
        ClientFrame::ListModels { agent_type } => return models(gate, agent_type).await,
        ClientFrame::ListProjects => repositories::projects(gate).await,
        ClientFrame::UnregisterProject { project_id } => repositories::unregister(gate, &project_id).await,
        ClientFrame::CreateWorktree { project_id, branch_name } => {
            repositories::create_worktree(gate, project_id, branch_name).await
        }
        ClientFrame::RemoveWorktree { project_id, worktree_path } => {
            repositories::remove_worktree(gate, project_id, worktree_path).await
        }
        ClientFrame::GetGitStatus { agent_id } => repositories::agent_status(gate, agent_id).await,
        ClientFrame::GetGitDiff { agent_id, file_path } => {
            repositories::agent_diff(gate, agent_id, file_path).await
        }
        ClientFrame::GetWorktreeStatus { worktree_path } => {
            repositories::tree_status(gate, worktree_path).await
        }
        ClientFrame::GetWorktreeDiff { worktree_path, file_path } => {
            repositories::tree_diff(gate, worktree_path, file_path).await
        }
        ClientFrame::GetGitLog { project_path, max_count } => {
            repositories::log(gate, project_path, max_count).await
        }
        ClientFrame::ListSkills => Ok(vec![ServerFrame::SkillList { skills: Vec::new() }]),
        ClientFrame::SearchSkills => Ok(vec![ServerFrame::SkillSearchResults { results: Vec::new() }]),
        ClientFrame::GetSkill | ClientFrame::UpdateSkill => Err(NO_SKILLS.to_owned()),
        ClientFrame::InstallSkill { package_ref } => Ok(vec![
            ServerFrame::SkillInstallProgress {
                package_ref,
                status: "error",
                install_status: "error",
                error: NO_SKILLS.to_owned(),
            },
            ServerFrame::error(NO_SKILLS),
        ]),
        // The connection answers these itself.
        ClientFrame::Ping | ClientFrame::ListAgents | ClientFrame::GetHistory { .. } | ClientFrame::Other => {
            Ok(Vec::new())
        }
    };
    frames.unwrap_or_else(|error| vec![ServerFrame::error(error)])
}

pub(super) fn said(error: GateError) -> RefusalText {
    error.to_string()
}

pub(super) async fn session_of(gate: &Gate, agent_id: &str) -> Result<SessionInfo, RefusalText> {
    let session = id_of(agent_id)?;
    gate.session(session).await.map_err(said)
}

fn id_of(agent_id: &str) -> Result<SessionId, RefusalText> {
    agent_id.parse().map_err(|_| "no session has this id".to_owned())
}

/// Opens a session. The app hears of it as everybody does, through the list.
async fn create(
    gate: &Gate,
    agent_type: &str,
    model: Option<String>,
    folder: Option<String>,
) -> MobileAnswer {
    let agent = agent_of_type(agent_type).ok_or("the type must be claude, codex or opencode")?;
    let cwd = match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => folder,
        // The folder that was used last, or else the one where people begin.
        None => match gate.recent_folders().await.map_err(said)?.into_iter().next() {
            Some(folder) => folder,
            None => gate.folders(None).await.map_err(said)?.path,
        },
    };
    let model = model.filter(|model| !model.is_empty());
    let request = OpenRequest { agent: agent.to_owned(), cwd, model, ..OpenRequest::default() };
    gate.open(request).await.map_err(said)?;
    Ok(Vec::new())
}

/// Stops what the session does and archives it: the app shows it no more, and nothing is lost.
async fn destroy(gate: &Gate, agent_id: &str) -> MobileAnswer {
    let info = session_of(gate, agent_id).await?;
    if info.turn.is_some() {
        stop(gate, info.session_id).await?;
    }
    gate.command(info.session_id, Command::Archive(true)).await.map_err(said)?;
    Ok(Vec::new())
}

async fn interrupt(gate: &Gate, agent_id: &str) -> MobileAnswer {
    stop(gate, id_of(agent_id)?).await?;
    Ok(Vec::new())
}

async fn stop(gate: &Gate, session: SessionId) -> Result<(), RefusalText> {
    match gate.command(session, Command::Interrupt).await {
        // It had ended already.
        Ok(_) | Err(GateError::Hub(HubError::Refused(Refusal::NoTurn))) => Ok(()),
        Err(error) => Err(said(error)),
    }
}

async fn send(gate: &Gate, agent_id: &str, text: String, image: Option<&ImageData>) -> MobileAnswer {
    let attachments = match image {
        Some(image) => vec![attachment_of(image).ok_or("the picture is none of a kind that agents take")?],
        None => Vec::new(),
    };
    let prompt = Prompt { text, attachments, key: None, when: When::Queue };
    gate.command(id_of(agent_id)?, Command::Prompt(prompt)).await.map_err(said)?;
    Ok(Vec::new())
}

/// Says in the conversation that a message did not get through: the app does not show errors.
fn unsent(client: &MobileClient, agent_id: String, error: RefusalText) -> Vec<ServerFrame> {
    let text = format!("Longshore did not take your message: {error}");
    let content = vec![ContentBlock::Text { text }];
    let is_shown = agent_id.parse().is_ok_and(|session| client.shown().has(session));
    let line = is_shown.then_some(ServerFrame::AssistantMessage { agent_id, content });
    std::iter::once(ServerFrame::error(error)).chain(line).collect()
}

/// Decides an approval or answers a question. If that fails, the app gets what still waits, because it has taken the card
/// away already.
async fn respond(
    gate: &Gate,
    agent_id: String,
    request_id: &str,
    behavior: Behavior,
    updated_input: Option<&Value>,
) -> Vec<ServerFrame> {
    let done = match (id_of(&agent_id), Ask::of_foreign(request_id)) {
        (Ok(session), Some(Ask::Approval(approval))) => {
            decide(gate, session, approval, behavior, updated_input).await
        }
        (Ok(session), Some(Ask::Question(question))) => {
            reply(gate, session, question, behavior, updated_input).await
        }
        (Err(error), _) => Err(error),
        (Ok(_), None) => Err("no approval or question has this id".to_owned()),
    };
    let Err(error) = done else { return Vec::new() };
    let mut frames = vec![ServerFrame::error(error)];
    if let Ok(info) = session_of(gate, &agent_id).await
        && let Ok(timeline) = gate.timeline(info.session_id).await
    {
        let pending_permissions = open_permissions(&timeline, &info.provider);
        frames.push(ServerFrame::AgentHistory { agent_id, messages: Vec::new(), pending_permissions });
    }
    frames
}

async fn decide(
    gate: &Gate,
    session: SessionId,
    approval: ApprovalId,
    behavior: Behavior,
    updated_input: Option<&Value>,
) -> Result<(), RefusalText> {
    use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};
    let info = gate.session(session).await.map_err(said)?;
    let open = info.approvals.iter().find(|open| open.request.approval == approval);
    let wanted: &[Decision] = match behavior {
        Behavior::Allow => &[AllowOnce, AllowSession, AllowAlways],
        Behavior::Deny => &[Deny, Cancel],
    };
    // The hub says what became of one that is not open.
    let options = open.map_or(wanted, |open| &open.request.options);
    let decision = nearest(options, wanted).ok_or("this approval does not accept this decision")?;
    // The app sends the input back, also if nobody changed it. With another input it would be another command.
    let shown = snapshot(&info).pending_permissions;
    let foreign = Ask::Approval(approval).foreign();
    let shown = shown.iter().find(|permission| permission.request_id == foreign);
    let input = updated_input
        .filter(|input| decision.allows() && shown.is_some_and(|shown| shown.tool_input != **input));
    gate.decide(approval, decision, None, input.cloned()).await.map(drop).map_err(said)
}

async fn reply(
    gate: &Gate,
    session: SessionId,
    question: QuestionId,
    behavior: Behavior,
    updated_input: Option<&Value>,
) -> Result<(), RefusalText> {
    let info = gate.session(session).await.map_err(said)?;
    let open = info.questions.iter().find(|open| open.request.question == question);
    let answers =
        open.map(|open| answers_of(&open.request, open.text.as_deref().unwrap_or_default(), updated_input));
    let (action, answers) = match behavior {
        Behavior::Allow => (AnswerAction::Accept, answers.unwrap_or_default()),
        Behavior::Deny => (AnswerAction::Decline, Default::default()),
    };
    gate.answer(question, action, answers).await.map(drop).map_err(said)
}

/// Sets the session's mode: an agent that never asks. What waits is allowed with it. The switch is the mode, so it holds
/// for every client and outlives the connection and the hub.
async fn auto_approve(gate: &Gate, agent_id: String, enabled: bool) -> Vec<ServerFrame> {
    let error = match set_mode(gate, &agent_id, enabled).await {
        Ok(()) => return Vec::new(),
        Err(error) => error,
    };
    let mut frames = vec![ServerFrame::error(error)];
    // The app has moved its switch already.
    if let Ok(info) = session_of(gate, &agent_id).await {
        let changed = AgentChange { auto_approve: Some(info.mode == Mode::Full), ..AgentChange::default() };
        frames.push(ServerFrame::AgentUpdated { agent_id, changed });
    }
    frames
}

async fn set_mode(gate: &Gate, agent_id: &str, enabled: bool) -> Result<(), RefusalText> {
    use Decision::{AllowAlways, AllowOnce, AllowSession};
    let info = session_of(gate, agent_id).await?;
    let modes = &info.capabilities.modes;
    let mode = match enabled {
        true if modes.contains(&Mode::Full) => Mode::Full,
        true => return Err(format!("{} cannot work without asking", info.provider)),
        false if info.mode != Mode::Full => return Ok(()),
        false => Mode::unless_named(modes),
    };
    gate.command(info.session_id, Command::SetMode(mode)).await.map_err(said)?;
    for open in info.approvals.iter().filter(|_| enabled) {
        if let Some(decision) = nearest(&open.request.options, &[AllowOnce, AllowSession, AllowAlways]) {
            // Somebody may have decided it meanwhile.
            let _ = gate.decide(open.request.approval, decision, None, None).await;
        }
    }
    Ok(())
}

/// The models of an agent. Without any, the app offers to try again.
async fn models(gate: &Gate, agent_type: String) -> Vec<ServerFrame> {
    let found = match agent_of_type(&agent_type) {
        Some(agent) => gate.models(agent).await.map_err(said),
        None => Err("the type must be claude, codex or opencode".to_owned()),
    };
    let mut frames = Vec::new();
    let models = match found {
        Ok(found) => {
            let auto = ModelRow { value: String::new(), label: "Auto (Recommended)".to_owned(), note: None };
            let mut models = vec![auto];
            for model in found {
                // The app needs different values.
                if !models.iter().any(|known| known.value == model.id) {
                    let note = Some(model.description).filter(|note| !note.is_empty());
                    models.push(ModelRow { value: model.id, label: model.title, note });
                }
            }
            models
        }
        Err(error) => {
            frames.push(ServerFrame::error(error));
            Vec::new()
        }
    };
    frames.push(ServerFrame::ModelList { agent_type, models });
    frames
}
