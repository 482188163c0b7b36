//! The answers of the calls.

use longshore_model::approval::{ApprovalDecision, QuestionAnswer};
use longshore_model::capability::{AgentInfo, ModelInfo};
use longshore_model::device::{Device, DeviceMode, Project};
use longshore_model::event::EventJson;
use longshore_model::frame::Frame;
use longshore_model::id::{ApprovalId, ItemId, PromptId, QuestionId, Seq, SessionId, TurnId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::time::Timestamp;
use longshore_model::timeline::Item;
use longshore_model::usage::DayUsage;
use longshore_session::HandBack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::JsonAnswer;

/// The call succeeded and has nothing to report.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Nothing {}

/// Agents, installed or not.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// The agents.
    pub agents: Vec<AgentInfo>,
}

/// The models of an agent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Models {
    /// The models.
    pub models: Vec<ModelInfo>,
}

/// Some sessions of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionPage")]
pub struct SessionRows {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// A prompt that the hub accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PromptReceipt {
    /// The id of the prompt.
    pub prompt: PromptId,
    /// The turn that it begins or steers.
    pub turn: TurnId,
    /// The event that records the prompt.
    pub seq: Seq,
}

/// Sessions that a restart of the hub interrupted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResumedSessions {
    /// The sessions that continue.
    pub resumed: Vec<SessionId>,
    /// The sessions that continue as soon as their agents have reported the turns from their own terminals.
    pub resuming: Vec<SessionId>,
}

/// How a session continues in the agent's own terminal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HandBack")]
pub struct TerminalCommand {
    /// The folder in which to run the command.
    pub cwd: String,
    /// The command to run.
    pub command: String,
    /// Folder and command as one shell line.
    pub line: String,
}

impl From<HandBack> for TerminalCommand {
    fn from(back: HandBack) -> Self {
        let line = back.line();
        Self { cwd: back.cwd, command: back.command, line }
    }
}

/// A session whose agent's process has ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// How the session continues in the agent's own terminal, if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_back: Option<TerminalCommand>,
}

/// A session that is deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedSession {
    /// The id of the session.
    pub deleted: SessionId,
}

/// Conversations from elsewhere.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PastConversations {
    /// The number of conversations.
    pub found: u64,
    /// The number of conversations that are new in the list.
    pub new: u64,
    /// The number of conversations that the hub has yet to read.
    pub unread: u64,
}

/// Some events of a session.
#[derive(Debug, JsonSchema)]
pub struct EventPage {
    /// The events, in order. Their JSON is the stored JSON.
    #[schemars(with = "Vec<EventJson<'static>>")]
    pub events: Vec<Frame>,
    /// The `after` of the next page; null on the last page.
    pub next: Option<Seq>,
    /// The seq of the newest event of the session.
    pub head: Seq,
    #[schemars(skip)]
    pub(super) raw: bool,
}

impl JsonAnswer for EventPage {
    fn to_json(&self) -> serde_json::Result<String> {
        let events: Vec<_> = self.events.iter().map(|frame| frame.line(self.raw)).collect();
        let next = self.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
        Ok(format!("{{\"events\":[{}],\"next\":{next},\"head\":{}}}", events.join(","), self.head))
    }
}

/// Some items of a timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimelinePage {
    /// The items, in order.
    pub items: Vec<Item>,
    /// The `before` of the older page; null at the beginning.
    pub next: Option<Seq>,
    /// The seq of the newest event of the session.
    pub head: Seq,
}

/// Everything that waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Inbox")]
pub struct WaitingRequests {
    /// Approvals, oldest first.
    pub approvals: Vec<OpenApproval>,
    /// Questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// Sessions in which a restart of the hub interrupted a turn.
    pub interrupted: Vec<SessionInfo>,
    /// Other sessions that hold prompts.
    pub held: Vec<SessionInfo>,
}

/// A decided approval.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecidedApproval {
    /// The id of the approval.
    pub approval: ApprovalId,
    /// The decision.
    pub decision: ApprovalDecision,
}

/// An answered question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnsweredQuestion {
    /// The id of the question.
    pub question: QuestionId,
    /// The answer.
    pub answer: QuestionAnswer,
}

/// The hits of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hits {
    /// The hits, the best hit first.
    pub hits: Vec<TitledHit>,
}

/// A hit of a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hit")]
pub struct TitledHit {
    /// The session of the hit.
    pub session: SessionId,
    /// The title of the session.
    pub title: String,
    /// The seq of the event.
    pub seq: Seq,
    /// The item on the timeline.
    pub item: Option<ItemId>,
    /// A piece of the event's text, with the matches marked.
    pub snippet: String,
    /// When the event happened.
    pub at: Timestamp,
}

/// The caller, and what the caller may do.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Me {
    /// Whose token the caller uses.
    pub role: CallerRole,
    /// The device; absent for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What the caller may do, as a mode of devices.
    pub mode: DeviceMode,
}

/// Whose token a caller uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallerRole {
    /// The owner's token.
    Owner,
    /// A device's own token.
    Device,
}

/// Devices, also revoked devices.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Devices {
    /// The devices.
    pub devices: Vec<Device>,
}

/// A revoked device.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokedDevice {
    /// The device.
    pub device: Device,
}

/// A code with which one device pairs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairingCode {
    /// The code.
    pub code: String,
    /// When the code expires.
    pub expires_at: Timestamp,
    /// The address at which the device uses the code.
    pub pair_url: String,
    /// What the device may do.
    pub mode: DeviceMode,
    /// The addresses at which other machines reach the hub, the best address first.
    pub addresses: Vec<String>,
}

/// A code with which one phone with mobile-agent pairs. Its first three fields are the JSON of the QR code.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MobilePairing {
    /// The address of the hub.
    pub url: String,
    /// The code.
    pub pairing_token: String,
    /// The hub's public key: Ed25519, in hex.
    pub server_public_key: String,
    /// When the code expires.
    pub expires_at: Timestamp,
    /// What the phone may do.
    pub mode: DeviceMode,
}

/// The folders that people listed as projects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Projects {
    /// The projects, in the order of their paths.
    pub projects: Vec<Project>,
}

/// Whether a project was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedProject {
    /// Whether it was listed.
    pub removed: bool,
}

/// A paired device. Nobody can read its token again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PairedDevice {
    /// The token of the device.
    pub token: String,
    /// The device.
    pub device: Device,
}

/// A new token of the owner.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OwnerToken {
    /// Always true. Clients of Codex Pocket look for it.
    pub ok: bool,
    /// The token.
    pub token: String,
}

/// The key with which a browser subscribes to pushes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushKey {
    /// The hub's public key (VAPID).
    pub public_key: String,
}

/// The number of pushes that the hub sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SentPushes {
    /// The number.
    pub sent: usize,
}

/// The usage of a time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UsageDays {
    /// The usage by day, agent and project.
    pub days: Vec<DayUsage>,
}

/// The machines that run agents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Machines {
    /// The machines.
    pub machines: Vec<MachineInfo>,
}

/// A machine that runs agents.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
pub struct MachineInfo {
    /// The name of the machine.
    pub name: String,
    /// The agents that the machine knows, installed or not.
    pub agents: Vec<AgentInfo>,
}

/// A folder for people who look for a work tree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FolderPage {
    /// The folder.
    pub path: String,
    /// The parent folder; null at the top.
    pub parent: Option<String>,
    /// The names of the subfolders, in order.
    pub folders: Vec<String>,
    /// The folders of recent sessions.
    pub recent: Vec<String>,
}
