//! Approvals: a box that shows exactly what would happen, and the keys that answer it.

use longshore_model::approval::{ApprovalDecision, ApprovalRequest, Decision, Subject};
use longshore_model::item::FileChange;
use serde_json::Value;

use super::clean::{clean, reveal};
use super::line::{InkLine, print};
use super::style::{Ink, Style, ink};
use super::wrap::{behind, flow, text_behind, wrap};
use super::{diff, markdown};

/// Changes that are to be decided on are folded later than those that are only told.
const FOLD: usize = 200;
/// How many lines of a command stand in a list.
const LISTED: usize = 3;

/// An approval as a box: what would happen, why the agent wants it, which key answers what.
///
/// Invisible characters are written out (`\x1b`, `\u{202e}`), so that nothing can hide in a command.
pub fn approval_prompt(request: &ApprovalRequest, reason: Option<&str>, style: &Style) -> String {
    print(&approval_lines(request, reason, false, style), style)
}

/// The decision that a line of input means, if it is one of the options. A denial may contain a reason after
/// its key.
pub fn parse_decision(line: &str, options: &[Decision]) -> Option<(Decision, Option<String>)> {
    let line = line.trim();
    let (key, why) = line.split_once([' ', ',', ':', '\n']).unwrap_or((line, ""));
    let decision = match key.to_ascii_lowercase().as_str() {
        "y" | "yes" | "once" => Decision::AllowOnce,
        "s" | "session" => Decision::AllowSession,
        "a" | "always" => Decision::AllowAlways,
        "n" | "no" | "deny" => Decision::Deny,
        "c" | "cancel" => Decision::Cancel,
        _ => return None,
    };
    let why = Some(why.trim().to_owned()).filter(|why| !why.is_empty());
    // Words behind a yes may be the beginning of something else.
    let is_clear = why.is_none() || !decision.allows();
    (is_clear && options.contains(&decision)).then_some((decision, why))
}

/// The keys that answer, for a line: `y, s, n`.
pub fn keys(options: &[Decision]) -> String {
    options.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn key(option: &Decision) -> &'static str {
    match option {
        Decision::AllowOnce => "y",
        Decision::AllowSession => "s",
        Decision::AllowAlways => "a",
        Decision::Deny => "n",
        Decision::Cancel => "c",
    }
}

/// `diff_above`: the reader has just seen the changes, they are only named.
pub(super) fn approval_lines(
    request: &ApprovalRequest,
    reason: Option<&str>,
    diff_above: bool,
    style: &Style,
) -> Vec<InkLine> {
    let (title, body) = subject(&request.subject, diff_above, style);
    let mut boxed = Boxed::new(&title, style);
    boxed.lines.extend(body);
    if let Some(reason) = reason.map(str::trim).filter(|reason| !reason.is_empty()) {
        boxed.text(&reveal(reason), ink::DIM.italic(), "", "");
    }
    boxed.lines.push(InkLine::default());
    boxed.lines.extend(options(request, boxed.room()));
    boxed.finish()
}

/// What an approval is about, in a few words.
pub fn approval_brief(request: &ApprovalRequest) -> String {
    brief(&request.subject)
}

/// In a few words, for whoever reads the decision later.
pub(super) fn brief(subject: &Subject) -> String {
    match subject {
        Subject::Command { command, .. } => format!("run {}", on_one_line(command)),
        Subject::Edit { changes, .. } => match changes.as_slice() {
            [change] => format!("{} {}", diff::verb(change).to_lowercase(), on_one_line(&change.path)),
            changes => format!("change {} files", changes.len()),
        },
        Subject::Tool { name, .. } => format!("use {}", on_one_line(name)),
        Subject::Plan { .. } => "go ahead with its plan".to_owned(),
        Subject::Permissions { .. } => "have more permissions".to_owned(),
    }
}

/// A text of several lines on one, with what has no shape of its own written out. Of many lines the first and the last are
/// there, and how many are between them: the list of what waits is decided on, too.
fn on_one_line(text: &str) -> String {
    let shown = reveal(text);
    let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [] => String::new(),
        [first, .., last] if lines.len() > LISTED => {
            format!("{first} … +{} lines … {last}", lines.len() - 2)
        }
        _ => lines.join(" ⏎ "),
    }
}

/// Who decided what. `what` is empty when it stands right above.
pub(super) fn decided(decision: &ApprovalDecision, what: &str, style: &Style) -> Vec<InkLine> {
    let signs = style.signs();
    let (sign, ink, words) = match decision.decision {
        Decision::AllowOnce => (signs.done, ink::GOOD, "allowed once"),
        Decision::AllowSession => (signs.done, ink::GOOD, "allowed for this session"),
        Decision::AllowAlways => (signs.done, ink::GOOD, "always allowed"),
        Decision::Deny => (signs.declined, ink::WARN, "denied"),
        Decision::Cancel => (signs.stopped, ink::WARN, "denied, turn stopped"),
    };
    let mut line = InkLine::of(words, ink).with(&format!(" by {}", clean(&decision.by)), ink::DIM);
    if !what.is_empty() {
        line.push(&format!(" {} {}", signs.dot, clean(what)), ink::DIM);
    }
    if decision.input.is_some() {
        line.push(&format!(" {} with changed input", signs.dot), ink::WARN);
    }
    if let Some(message) = decision.message.as_deref().filter(|message| !message.trim().is_empty()) {
        line.push(&format!(" {} \"{}\"", signs.dot, clean(message.trim())), ink::DIM);
    }
    let first = InkLine::of(sign, ink).with(" ", ink::PLAIN);
    let rest = InkLine::of("  ", ink::PLAIN);
    behind(wrap(&line, style.columns().saturating_sub(2)), &first, &rest)
}

fn subject(subject: &Subject, diff_above: bool, style: &Style) -> (String, Vec<InkLine>) {
    let mut inner = Boxed::new("", style);
    let title = match subject {
        Subject::Command { command, cwd, .. } => {
            inner.text(&reveal(command), ink::BOLD, "$ ", "  ");
            if let Some(cwd) = cwd {
                inner.text(&format!("in {}", reveal(cwd)), ink::DIM, "", "");
            }
            "Run this command?".to_owned()
        }
        Subject::Edit { changes, grant_root } => {
            let within = Style { width: inner.room(), ..*style };
            let head = |change: &FileChange| {
                let mut line = InkLine::of(diff::verb(change), ink::BOLD).with("  ", ink::PLAIN);
                line.append(diff::title(change, style));
                wrap(&line, within.width)
            };
            let changes: Vec<FileChange> = changes.iter().map(revealed).collect();
            if diff_above {
                inner.lines.extend(changes.iter().flat_map(head));
            } else {
                inner.lines.extend(diff::lines(&changes, FOLD, " (longshore show)", &within, head));
            }
            if diff_above {
                inner.text("the changes above", ink::DIM, "", "");
            }
            if let Some(root) = grant_root {
                inner.text(&format!("{} becomes writable", reveal(root)), ink::WARN, "", "");
            }
            if changes.len() == 1 { "Change this file?".to_owned() } else { "Change these files?".to_owned() }
        }
        Subject::Tool { name, input } => {
            inner.text(&reveal(name), ink::BOLD, "", "  ");
            inner.data(input);
            "Use this tool?".to_owned()
        }
        Subject::Plan { plan } => {
            inner.lines.extend(markdown::lines(&reveal(plan), inner.room(), style));
            "Go ahead with this plan?".to_owned()
        }
        Subject::Permissions { permissions } => {
            inner.data(permissions);
            "Grant extra permissions?".to_owned()
        }
    };
    (title, inner.lines)
}

fn revealed(change: &FileChange) -> FileChange {
    FileChange {
        path: reveal(&change.path),
        kind: change.kind,
        moved_to: change.moved_to.as_deref().map(reveal),
        diff: reveal(&change.diff.replace("\r\n", "\n")),
    }
}

/// The options side by side, as many as fit.
fn options(request: &ApprovalRequest, room: usize) -> Vec<InkLine> {
    let always = match &request.subject {
        Subject::Command { always, .. } => always.join(" "),
        Subject::Edit { .. } | Subject::Tool { .. } | Subject::Plan { .. } | Subject::Permissions { .. } => {
            String::new()
        }
    };
    let choice = |option: &Decision| {
        let of_plan = matches!(request.subject, Subject::Plan { .. });
        let words = match option {
            Decision::AllowOnce if of_plan => "go ahead".to_owned(),
            Decision::AllowSession if of_plan => "go ahead, and edit without asking".to_owned(),
            Decision::Deny if of_plan => "keep planning".to_owned(),
            Decision::AllowOnce => "once".to_owned(),
            Decision::AllowSession => "for this session".to_owned(),
            Decision::AllowAlways if always.is_empty() => "always".to_owned(),
            Decision::AllowAlways => format!("always: {}", reveal(&always)),
            Decision::Deny => "no".to_owned(),
            Decision::Cancel => "no, and stop the turn".to_owned(),
        };
        InkLine::of(key(option), ink::ASK).with(&format!(" {words}"), ink::PLAIN)
    };
    flow(request.options.iter().map(choice).collect(), &InkLine::of("   ", ink::PLAIN), room)
}

/// A box that is open to the right: it stands out, copies well, and no character of odd width can break it.
pub(super) struct Boxed<'a> {
    title: String,
    style: &'a Style,
    pub(super) lines: Vec<InkLine>,
}

impl<'a> Boxed<'a> {
    pub(super) fn new(title: &str, style: &'a Style) -> Self {
        Self { title: title.to_owned(), style, lines: Vec::new() }
    }

    pub(super) fn room(&self) -> usize {
        self.style.columns() - 2
    }

    /// A text with a margin of its own.
    pub(super) fn text(&mut self, text: &str, ink: Ink, first: &str, rest: &str) {
        let (first, rest) = (InkLine::of(first, ink::DIM), InkLine::of(rest, ink::DIM));
        self.lines.extend(text_behind(text, ink, self.room(), &first, &rest));
    }

    /// Data as readable JSON.
    pub(super) fn data(&mut self, data: &Value) {
        let says_nothing = data.is_null() || data.as_object().is_some_and(serde_json::Map::is_empty);
        if !says_nothing {
            self.text(&reveal(&format!("{data:#}")), ink::PLAIN, "", "");
        }
    }

    pub(super) fn finish(self) -> Vec<InkLine> {
        let signs = self.style.signs();
        let (open, side) = (
            InkLine::of(&format!("{} ", signs.open), ink::ASK),
            InkLine::of(&format!("{} ", signs.side), ink::ASK),
        );
        let mut lines = text_behind(&self.title, ink::ASK, self.style.columns(), &open, &side);
        for line in self.lines {
            let mut whole = side.clone();
            whole.append(line);
            lines.push(whole);
        }
        lines.push(InkLine::of(signs.close, ink::ASK));
        lines
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::id::ApprovalId;
    use longshore_model::item::FileChangeKind;
    use serde_json::json;

    use super::*;

    const ALL: [Decision; 5] = [
        Decision::AllowOnce,
        Decision::AllowSession,
        Decision::AllowAlways,
        Decision::Deny,
        Decision::Cancel,
    ];

    fn shown(subject: Subject, reason: Option<&str>, width: usize) -> String {
        let approval: ApprovalId = "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6".parse().unwrap();
        let request = ApprovalRequest { approval, subject, options: ALL.to_vec() };
        approval_prompt(&request, reason, &Style { width, ..Style::default() })
    }

    #[test]
    fn a_command_is_shown_as_it_is() {
        let subject = Subject::Command {
            command: "/bin/bash -lc 'git fetch\u{1b}[8m && rm -rf x'".to_owned(),
            cwd: Some("/w".to_owned()),
            always: vec!["git".to_owned(), "fetch".to_owned()],
        };
        assert_eq!(
            shown(subject, Some("May I fetch?"), 60),
            "\
╭─ Run this command?
│ $ /bin/bash -lc 'git fetch\\x1b[8m && rm -rf x'
│ in /w
│ May I fetch?
│
│ y once   s for this session   a always: git fetch   n no
│ c no, and stop the turn
╰─
"
        );
    }

    #[test]
    fn an_edit_is_shown_as_its_diff() {
        let change = FileChange {
            path: "a.txt".to_owned(),
            kind: FileChangeKind::Update,
            moved_to: Some("b.txt".to_owned()),
            diff: "@@ -1 +1 @@\n-old\n+ne\u{202e}w\n".to_owned(),
        };
        let subject = Subject::Edit { changes: vec![change], grant_root: Some("/etc".to_owned()) };
        assert_eq!(
            shown(subject, None, 100),
            "\
╭─ Change this file?
│ Move  a.txt → b.txt  +1 -1
│   1 - old
│   1 + ne\\u{202e}w
│ /etc becomes writable
│
│ y once   s for this session   a always   n no   c no, and stop the turn
╰─
"
        );
    }

    #[test]
    fn a_plan_is_shown_as_a_plan_with_keys_that_speak_of_it() {
        let subject = Subject::Plan { plan: "## Steps\n\n1. **Read** the code\n2. Mend it".to_owned() };
        assert_eq!(
            shown(subject, None, 100),
            "\
╭─ Go ahead with this plan?
│ ## Steps
│ 1. Read the code
│ 2. Mend it
│
│ y go ahead   s go ahead, and edit without asking   a always   n keep planning
│ c no, and stop the turn
╰─
"
        );
    }

    #[test]
    fn a_tool_is_shown_with_its_input() {
        let subject = Subject::Tool { name: "linear.close".to_owned(), input: json!({"id": 7}) };
        assert!(
            shown(subject, None, 80)
                .starts_with("╭─ Use this tool?\n│ linear.close\n│ {\n│   \"id\": 7\n│ }\n│\n│ y once")
        );
    }

    #[test]
    fn nothing_hides_behind_the_first_line_of_a_command_in_a_list() {
        let listed = |command: &str| {
            brief(&Subject::Command { command: command.to_owned(), cwd: None, always: Vec::new() })
        };
        assert_eq!(listed(&format!("ls{}rm -rf ~", "\n".repeat(40))), "run ls ⏎ rm -rf ~");
        let many: String = (0..40).map(|at| format!("echo {at}\n")).collect();
        assert_eq!(listed(&(many + "rm -rf ~")), "run echo 0 … +39 lines … rm -rf ~");
        assert_eq!(listed("ls\rrm -rf ~"), "run ls\\rrm -rf ~");
        assert_eq!(listed("ls \u{202e}~ fr- mr\u{200b}"), "run ls \\u{202e}~ fr- mr\\u{200b}");
        assert_eq!(listed("tools/bash -lc 'make test'"), "run tools/bash -lc 'make test'");
    }

    #[test]
    fn only_what_is_offered_can_be_decided() {
        let plain = |decision| Some((decision, None));
        assert_eq!(["y", " S\n", "always", "N", "c"].map(|key| parse_decision(key, &ALL)), ALL.map(plain));
        assert_eq!(parse_decision("s", &[Decision::AllowOnce, Decision::Deny]), None);
        assert_eq!([parse_decision("", &ALL), parse_decision("x", &ALL)], [None, None]);
    }

    #[test]
    fn whoever_denies_may_say_why_and_a_sentence_is_no_yes() {
        let denied = Some((Decision::Deny, Some("use the other file".to_owned())));
        assert_eq!(parse_decision("n use the other file", &ALL), denied);
        assert_eq!(parse_decision("No, use the other file ", &ALL), denied);
        assert_eq!(parse_decision("yes but only here", &ALL), None);
        assert_eq!(keys(&ALL), "y, s, a, n, c");
    }

    #[test]
    fn a_decision_names_who_made_it() {
        let decision = ApprovalDecision {
            decision: Decision::Deny,
            message: Some("not today".to_owned()),
            input: None,
            by: "phone".to_owned(),
        };
        let style = Style::default();
        assert_eq!(
            print(&decided(&decision, "run rm", &style), &style),
            "⊘ denied by phone · run rm · \"not today\"\n"
        );
    }
}
