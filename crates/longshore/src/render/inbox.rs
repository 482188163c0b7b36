//! Everything that needs a person, in a list.

use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::time::Timestamp;
use serde::Deserialize;

use super::clean::clean;
use super::columns::{Column, table, tsv};
use super::human::age;
use super::line::InkLine;
use super::rows::remark;
use super::sessions::held;
use super::style::{Style, ink};
use super::{ask, fold};

const COLUMNS: [Column; 5] = [
    Column::left("ID", 0, 8),
    Column::left("SESSION", 1, 8),
    Column::left("NEEDS", 0, 11),
    Column::left("WHAT", 0, 20),
    Column::right("AGE", 2, 3),
];

/// Everything that waits for a person, from the hub.
#[derive(Debug, Default, Deserialize)]
pub struct WaitingList {
    /// For a yes or a no.
    pub approvals: Vec<OpenApproval>,
    /// For data.
    pub questions: Vec<OpenQuestion>,
    /// Sessions with a turn that a restart of the hub interrupted.
    pub interrupted: Vec<SessionInfo>,
    /// Other sessions with held prompts. The held prompts of an interrupted session are sent when it is
    /// resumed.
    pub held: Vec<SessionInfo>,
}

/// One thing that needs somebody.
struct Need {
    id: String,
    session: String,
    kind: &'static str,
    what: String,
    since: Timestamp,
}

fn needs(waiting: &WaitingList) -> Vec<Need> {
    let approval = |open: &OpenApproval| Need {
        id: open.request.approval.to_string(),
        session: open.session.to_string(),
        kind: "approval",
        what: ask::brief(&open.request.subject),
        since: open.requested_at,
    };
    let question = |open: &OpenQuestion| Need {
        id: open.request.question.to_string(),
        session: open.session.to_string(),
        kind: "answer",
        what: open
            .text
            .clone()
            .or_else(|| open.request.fields.first().map(|field| field.text.clone()))
            .unwrap_or_default(),
        since: open.asked_at,
    };
    let resume = |session: &SessionInfo| Need {
        id: session.session_id.to_string(),
        session: session.session_id.to_string(),
        kind: "resume",
        what: match held(session) {
            0 => format!("interrupted by a restart: {}", session.title),
            _ => format!("interrupted by a restart: {}; then {}", session.title, held_texts(session)),
        },
        since: session.updated_at,
    };
    let send = |session: &SessionInfo| Need {
        id: session.session_id.to_string(),
        session: session.session_id.to_string(),
        kind: "send",
        what: held_texts(session),
        since: session.updated_at,
    };
    let mut needs: Vec<Need> = waiting.approvals.iter().map(approval).collect();
    needs.extend(waiting.questions.iter().map(question));
    needs.sort_by_key(|need| need.since);
    needs.extend(waiting.interrupted.iter().map(resume));
    needs.extend(waiting.held.iter().map(send));
    needs
}

/// How many prompts are held in a session, and how they read.
fn held_texts(session: &SessionInfo) -> String {
    let all = session.queue.iter().filter(|queued| queued.held);
    let texts: Vec<String> = all.map(|queued| fold::brief(&queued.text)).collect();
    format!("{} held: {}", held(session), texts.join("; "))
}

/// For a person: what it is, and what to do about it.
pub fn inbox_table(waiting: &WaitingList, now: Timestamp, style: &Style) -> String {
    let needs = needs(waiting);
    if needs.is_empty() {
        return remark("you're all caught up", style);
    }
    let tail = |id: &str| id.get(id.len().saturating_sub(8)..).unwrap_or(id).to_owned();
    let row = |need: &Need| {
        vec![
            InkLine::of(&tail(&need.id), ink::CODE),
            InkLine::of(&tail(&need.session), ink::DIM),
            InkLine::of(need.kind, ink::ASK),
            InkLine::of(clean(&need.what).lines().next().unwrap_or_default(), ink::PLAIN),
            InkLine::of(&age(now.millis_since(need.since)), ink::DIM),
        ]
    };
    let mut text = table(&COLUMNS, &needs.iter().map(row).collect::<Vec<_>>(), style);
    let mut how = Vec::new();
    if !waiting.approvals.is_empty() {
        how.push("longshore approve ID, or deny ID -m WHY");
    }
    if !waiting.questions.is_empty() {
        how.push("longshore answer ID");
    }
    if !waiting.interrupted.is_empty() {
        how.push("longshore resume ID, or --all");
    }
    if !waiting.held.is_empty() {
        how.push("longshore queue send ID --all, or queue discard ID");
    }
    text.push_str(&remark(&how.join("; "), style));
    text
}

/// For programs: kind, id, session, what, since when; a tab between them.
pub fn inbox_tsv(waiting: &WaitingList) -> String {
    let row = |need: &Need| {
        tsv([
            need.kind.to_owned(),
            need.id.clone(),
            need.session.clone(),
            need.what.clone(),
            need.since.to_string(),
        ])
    };
    needs(waiting).iter().map(row).collect()
}
