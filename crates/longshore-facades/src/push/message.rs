//! The content of a push: which session, and the question itself or the first line of the result.

use longshore_model::approval::{Decision, Subject};
use longshore_model::describe::{head_and_tail, reveal};
use longshore_model::id::{ApprovalId, SessionId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::item::{FileChange, FileChangeKind};
use schemars::JsonSchema;
use serde::Serialize;

/// The most letters of a title and of a body; a lock screen shows no more.
const TITLE: usize = 120;
const BODY: usize = 400;
/// The most letters and lines that every lock screen shows. Only a request that fits can be allowed there.
const AT_A_GLANCE: usize = 200;
const GLANCE_LINES: usize = 6;

/// Why the hub sends a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PushKind {
    /// An agent waits for a decision.
    Approval,
    /// An agent waits for an answer.
    Question,
    /// A turn is over.
    Finished,
    /// A turn failed.
    Failed,
    /// An agent says nothing any more.
    Stalled,
    /// Somebody tries whether pushes arrive.
    Test,
}

impl PushKind {
    /// Whether an agent waits for the person.
    pub(super) fn is_urgent(self) -> bool {
        match self {
            PushKind::Approval | PushKind::Question => true,
            PushKind::Finished | PushKind::Failed | PushKind::Stalled | PushKind::Test => false,
        }
    }
}

/// The content of a push.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushMessage {
    /// Why somebody is woken.
    pub kind: PushKind,
    /// The session, for people.
    pub title: String,
    /// What it is about, for people.
    pub body: String,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
    /// The page that a tap opens.
    pub url: String,
    /// The buttons of the notification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<PushAction>,
}

/// A push with some of its content under further names, which the pages of Codex Pocket read.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushWithAliases<'a> {
    #[serde(flatten)]
    message: &'a PushMessage,
    #[serde(rename = "type")]
    of_kind: PushKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_url: Option<String>,
}

/// A button of the notification.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PushAction {
    /// The decision that the button sends.
    pub action: Decision,
    /// The text of the button.
    pub title: &'static str,
}

impl PushMessage {
    fn about(info: &SessionInfo, kind: PushKind, body: &str) -> Self {
        let named = [info.project.as_deref(), Some(info.title.as_str()), Some(&*info.provider)];
        let named: Vec<&str> = named.into_iter().flatten().filter(|name| !name.trim().is_empty()).collect();
        Self {
            kind,
            title: cut(&named.join(" · "), TITLE),
            body: head_and_tail(body.trim(), BODY),
            session: Some(info.session_id),
            approval: None,
            url: format!("/sessions/{}", info.session_id),
            actions: Vec::new(),
        }
    }

    pub(super) fn approval(info: &SessionInfo, open: &OpenApproval) -> Self {
        let subject = &open.request.subject;
        let request = reveal(&request_text(subject, &info.cwd));
        let short = request.chars().count() <= AT_A_GLANCE && request.lines().count() <= GLANCE_LINES;
        let seen = short && !open.cut && is_told(subject);
        let body = match open.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) {
            // The reason is cut for itself: it must not push the end of the request out.
            Some(reason) if seen => format!("{request}\n{}", head_and_tail(reason, BODY - AT_A_GLANCE - 40)),
            Some(_) | None => request,
        };
        let offered = |decision: Decision| {
            open.request.options.contains(&decision) && (seen || decision != Decision::AllowOnce)
        };
        let actions = [(Decision::AllowOnce, "Allow"), (Decision::Deny, "Deny")]
            .into_iter()
            .filter(|(decision, _)| offered(*decision));
        Self {
            approval: Some(open.request.approval),
            actions: actions.map(|(action, title)| PushAction { action, title }).collect(),
            ..Self::about(info, PushKind::Approval, &body)
        }
    }

    pub(super) fn question(info: &SessionInfo, open: &OpenQuestion) -> Self {
        let asked = open.text.as_deref().filter(|text| !text.trim().is_empty());
        let first = open.request.fields.first().map(|field| field.text.as_str());
        Self::about(info, PushKind::Question, asked.or(first).unwrap_or("asks something"))
    }

    pub(super) fn finished(info: &SessionInfo, result: Option<&str>) -> Self {
        Self::about(info, PushKind::Finished, result.and_then(first_line).unwrap_or("is done"))
    }

    pub(super) fn failed(info: &SessionInfo, why: Option<&str>) -> Self {
        Self::about(info, PushKind::Failed, why.and_then(first_line).unwrap_or("failed"))
    }

    pub(super) fn stalled(info: &SessionInfo, minutes: u64) -> Self {
        Self::about(info, PushKind::Stalled, &format!("has said nothing for {minutes} minutes"))
    }

    pub(super) fn test() -> Self {
        Self {
            kind: PushKind::Test,
            title: "Longshore".to_owned(),
            body: "Pushes reach this device.".to_owned(),
            session: None,
            approval: None,
            url: "/".to_owned(),
            actions: Vec::new(),
        }
    }

    pub(super) fn with_aliases(&self) -> PushWithAliases<'_> {
        let action_url = self.session.map(|session| format!("/thread/{session}"));
        PushWithAliases { message: self, of_kind: self.kind, thread_id: self.session, action_url }
    }

    /// The same push without buttons, for a device that may not decide.
    #[must_use]
    pub(super) fn without_actions(&self) -> Self {
        Self { actions: Vec::new(), ..self.clone() }
    }
}

/// Everything that would happen, in words. A text that is too long for a lock screen cannot be allowed there.
pub(crate) fn request_text(subject: &Subject, home: &str) -> String {
    match subject {
        Subject::Command { command, cwd, .. } => match cwd.as_deref().filter(|cwd| *cwd != home) {
            Some(cwd) => format!("wants to run: {command}\nin {cwd}"),
            None => format!("wants to run: {command}"),
        },
        Subject::Edit { changes, grant_root } => {
            let files: Vec<String> = changes.iter().map(deed).collect();
            let root = grant_root.as_ref().map(|root| format!(", and to write below {root}"));
            let lines: String =
                changes.iter().map(|change| format!("\n{}", change.diff.trim_end())).collect();
            format!("wants to {}{}{lines}", files.join(", "), root.unwrap_or_default())
        }
        Subject::Tool { name, input } => format!("wants to use {name}: {input}"),
        Subject::Plan { plan } => format!("wants to go ahead with its plan\n{plan}"),
        Subject::Permissions { permissions } => format!("wants to be allowed more: {permissions}"),
    }
}

fn deed(change: &FileChange) -> String {
    let does = match change.kind {
        FileChangeKind::Add => "create",
        FileChangeKind::Update => "change",
        FileChangeKind::Delete => "delete",
    };
    let to = change.moved_to.as_ref().map(|to| format!(" and move it to {to}"));
    format!("{does} {}{}", change.path, to.unwrap_or_default())
}

/// Whether the agent says what would happen. For some edits it names only the files, or not even those.
fn is_told(subject: &Subject) -> bool {
    match subject {
        Subject::Edit { changes, .. } => {
            let told =
                |change: &FileChange| change.kind == FileChangeKind::Delete || !change.diff.trim().is_empty();
            !changes.is_empty() && changes.iter().all(told)
        }
        Subject::Command { .. }
        | Subject::Tool { .. }
        | Subject::Plan { .. }
        | Subject::Permissions { .. } => true,
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
