//! Sessions in lists, and one session in full.

use longshore_model::info::{Activity, SessionInfo, Status};
use longshore_model::time::Timestamp;

use super::clean::clean;
use super::columns::{Column, table, tsv};
use super::footer::tokens;
use super::human::{age, ago, cost, plural, short_id};
use super::line::{InkLine, print};
use super::style::{Ink, Style, ink};
use super::wrap::text_behind;
use super::{ask, fold, lifecycle};

const COLUMNS: [Column; 9] = [
    Column::left("ID", 0, 8),
    Column::left("STATUS", 0, 13),
    Column::left("AGENT", 2, 12),
    Column::left("TITLE", 0, 20),
    Column::left("NEEDS", 1, 10),
    Column::left("PROJECT", 4, 8),
    Column::left("BRANCH", 5, 8),
    Column::right("COST", 6, 5),
    Column::right("AGE", 3, 3),
];

/// Sessions for a person: one line each, as many columns as fit.
pub fn sessions_table(sessions: &[SessionInfo], now: Timestamp, style: &Style) -> String {
    if sessions.is_empty() {
        return print(
            &lifecycle::remark("no sessions; `longshore run codex \"...\"` opens one", style),
            style,
        );
    }
    let row = |session: &SessionInfo| {
        let (sign, word, ink) = state(session, style);
        let branch = session.git.as_ref().map(|git| {
            let dirty = if git.dirty > 0 { "*" } else { "" };
            format!("{}{dirty}", git.branch.as_deref().unwrap_or("(detached)"))
        });
        let plain = |text: &str| InkLine::of(&clean(text), ink::PLAIN);
        vec![
            InkLine::of(&short_id(session.session_id), ink::CODE),
            InkLine::of(&format!("{sign} {word}"), ink),
            plain(&session.provider),
            match session.title.is_empty() {
                true => InkLine::of("(nothing said yet)", ink::DIM),
                false => {
                    InkLine::of(&clean(&session.title), if session.archived { ink::DIM } else { ink::BOLD })
                }
            },
            InkLine::of(&waits(session), ink::ASK),
            plain(session.project.as_deref().unwrap_or_default()),
            plain(&branch.unwrap_or_default()),
            plain(&session.cost_usd.map(cost).unwrap_or_default()),
            InkLine::of(&age(now.millis_since(session.updated_at)), ink::DIM),
        ]
    };
    table(&COLUMNS, &sessions.iter().map(row).collect::<Vec<_>>(), style)
}

/// Sessions for programs: whole ids, RFC 3339 times, a tab between fields, no head.
///
/// Fields: id, status (as `ls --status` takes it), agent, title, project, branch, updated at, cost in dollars, open approvals,
/// open questions, held prompts.
pub fn sessions_tsv(sessions: &[SessionInfo]) -> String {
    let row = |session: &SessionInfo| {
        tsv([
            session.session_id.to_string(),
            state_word(session).replace(' ', "-"),
            session.provider.to_string(),
            session.title.clone(),
            session.project.clone().unwrap_or_default(),
            session.git.as_ref().and_then(|git| git.branch.clone()).unwrap_or_default(),
            session.updated_at.to_string(),
            session.cost_usd.map(|cost| format!("{cost:.4}")).unwrap_or_default(),
            session.approvals.len().to_string(),
            session.questions.len().to_string(),
            held(session).to_string(),
        ])
    };
    sessions.iter().map(row).collect()
}

/// All there is to say of one session. `hand_back` is what leads to the agent's own terminal; it is not wrapped, so that it can
/// be copied.
pub fn session_detail(
    session: &SessionInfo,
    hand_back: Option<&str>,
    now: Timestamp,
    style: &Style,
) -> String {
    let (sign, word, ink) = state(session, style);
    let dot = format!(" {} ", style.signs().dot);
    let title = fold::brief(&session.title);
    let mut lines =
        text_behind(&clean(&title), ink::BOLD, style.columns(), &InkLine::default(), &InkLine::default());
    let state = InkLine::of(&format!("{sign} {word}"), ink);
    lines.push(state.with(&format!("{dot}{}", ago(now.millis_since(session.updated_at))), ink::DIM));
    let mut field = |name: &str, value: &str| {
        let (first, rest) =
            (InkLine::of(&format!("{name:<9} "), ink::DIM), InkLine::of(&" ".repeat(10), ink::PLAIN));
        lines.extend(text_behind(&clean(value), ink::PLAIN, style.columns(), &first, &rest));
    };
    field("id", &session.session_id.to_string());
    let model = session.model.as_ref().map(|model| format!("{dot}{model}")).unwrap_or_default();
    let effort = session.effort.as_ref().map(|effort| format!("{dot}effort {effort}")).unwrap_or_default();
    field("agent", &format!("{}{model}{effort}{dot}mode {}", session.provider, session.mode));
    field("folder", &session.cwd);
    if let Some(git) = &session.git {
        let branch = git.branch.as_deref().unwrap_or("(detached)");
        let dirty = if git.dirty > 0 {
            format!("{dot}{} changed", plural(git.dirty as usize, "file"))
        } else {
            String::new()
        };
        field("branch", &format!("{branch}{dirty}"));
    }
    field("repo", session.repo.as_deref().unwrap_or_default());
    let mut used = tokens(&session.usage);
    used.extend(session.context_percent.map(|percent| format!("context {percent}%")));
    used.extend(session.cost_usd.map(cost));
    field("used", &used.join(&dot));
    field("opened", &format!("{}{dot}{}", ago(now.millis_since(session.created_at)), plural_events(session)));
    field("native", session.native.as_deref().unwrap_or_default());
    field("parent", &session.parent.map(short_id).unwrap_or_default());
    let fork = session.forked_from.as_ref().map(|fork| format!("{} at {}", short_id(fork.session), fork.seq));
    field("forked", &fork.unwrap_or_default());
    for approval in &session.approvals {
        field(
            "approval",
            &format!("{}{dot}{}", ask::brief(&approval.request.subject), approval.request.approval),
        );
    }
    for question in &session.questions {
        let text = question.text.as_deref().unwrap_or("a question");
        field("question", &format!("{text}{dot}{}", question.request.question));
    }
    for prompt in &session.queue {
        field(if prompt.held { "held" } else { "queued" }, &fold::brief(&prompt.text));
    }
    let last: Vec<&str> = session.preview.iter().flat_map(|preview| preview.split_whitespace()).collect();
    field("last", &last.join(" "));
    if let Some(command) = hand_back {
        lines.push(InkLine::of(&format!("{:<9} ", "hand back"), ink::DIM).with(&clean(command), ink::CODE));
    }
    print(&lines, style)
}

/// The word of the list for where a session stands: `needs you`, `working`.
pub fn state_word(session: &SessionInfo) -> &'static str {
    state(session, &Style::default()).1
}

fn plural_events(session: &SessionInfo) -> String {
    plural(usize::try_from(session.head.0).unwrap_or(usize::MAX), "event")
}

/// What a person wants to know first: does it need me, does it run, did it fail?
fn state(session: &SessionInfo, style: &Style) -> (&'static str, &'static str, Ink) {
    let signs = style.signs();
    match (session.activity, session.status) {
        (Activity::Waiting, _) => (signs.waiting, "needs you", ink::ASK),
        (Activity::Starting, _) => (signs.card, "starting", ink::BUSY),
        (Activity::Working, _) => (signs.card, "working", ink::BUSY),
        (Activity::Closed, _) => (signs.done, "ended", ink::DIM),
        (Activity::Idle | Activity::Sleeping, Status::Error) => (signs.failed, "failed", ink::BAD),
        (Activity::Idle | Activity::Sleeping, Status::Interrupted) => {
            (signs.stopped, "interrupted", ink::WARN)
        }
        (Activity::Idle, Status::Active | Status::Idle | Status::Completed) => {
            (signs.pending, "idle", ink::GOOD)
        }
        (Activity::Sleeping, Status::Active | Status::Idle | Status::Completed) => {
            (signs.asleep, "sleeping", ink::DIM)
        }
    }
}

fn waits(session: &SessionInfo) -> String {
    let mut waits = Vec::new();
    for (number, noun) in [(session.approvals.len(), "approval"), (session.questions.len(), "answer")] {
        if number > 0 {
            waits.push(plural(number, noun));
        }
    }
    if session.queue_held {
        waits.push(format!("{} held", held(session)));
    }
    waits.join(", ")
}

/// How many of its prompts are held until a person sends them on.
pub fn held(session: &SessionInfo) -> usize {
    session.queue.iter().filter(|queued| queued.held).count()
}
