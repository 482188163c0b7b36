//! The input line of `attach`: editing, history, several lines. The session's output goes above it, the
//! current activity stands directly over it, and output never wipes typed text.
//!
//! `rustyline` owns the terminal, in its own thread. Its prompt has two rows: an empty one, in whose place
//! the highlighter prints the activity, and the sign before the input.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, ExternalPrinter, Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use tokio::sync::mpsc;
use unicode_width::UnicodeWidthStr;

use super::responder::Typed;

/// An empty row for what goes on, and the sign.
const PROMPT: &str = "\n> ";
/// How many lines are remembered.
const REMEMBERED: usize = 1000;
/// How long an escape may be the beginning of another key, in milliseconds.
const ESCAPE: u16 = 40;
/// How many lines may wait to be read by the watch.
const AHEAD: usize = 256;
/// Draws the line anew without printing anything: a row up, a row down.
const NOTHING: &str = "\x1b[A\n";

/// What the thread that reads and the watch both know.
#[derive(Debug, Default)]
struct LineState {
    /// What goes on, without a line break.
    over: String,
    /// Whether a turn runs, so that Ctrl-C is about it.
    busy: bool,
    /// Whether the next line is an answer: an empty one may be, and none is remembered.
    asking: bool,
    /// Whether that answer is nobody's to read.
    secret: bool,
    /// What stands in the line now.
    line: String,
    /// Whether it stood there, or began to, before an answer was asked for: then it is none.
    begun_before: bool,
    color: bool,
    /// Whether there is nothing more to read.
    ended: bool,
    /// Words behind a slash.
    commands: Vec<String>,
}

type SharedLine = Arc<Mutex<LineState>>;

fn locked(state: &SharedLine) -> MutexGuard<'_, LineState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line at the bottom of the terminal.
pub(super) struct InputLine {
    state: SharedLine,
    printer: Box<dyn ExternalPrinter + Send>,
    /// How the terminal was: the thread cannot be told to leave it so.
    before: Termios,
}

impl InputLine {
    /// Begins to read. What is remembered is kept in `history`, for its owner alone.
    pub(super) fn open(history: &Path, color: bool) -> Result<(Self, mpsc::Receiver<Typed>)> {
        let before = tcgetattr(std::io::stdin())?;
        let config = Config::builder()
            .max_history_size(REMEMBERED)?
            .history_ignore_dups(true)?
            .completion_type(CompletionType::List)
            .keyseq_timeout(Some(ESCAPE))
            // Without it nothing could stand over the line; what it prints has no colour where none is wanted.
            .color_mode(ColorMode::Forced)
            .auto_add_history(false)
            .build();
        let mut editor: Editor<LineRules, FileHistory> = Editor::with_config(config)?;
        let printer = editor.create_external_printer()?;
        let state = SharedLine::new(Mutex::new(LineState { color, ..LineState::default() }));
        let (typed, lines) = mpsc::channel(AHEAD);
        editor.set_helper(Some(LineRules { state: Arc::clone(&state) }));
        let keys = [
            KeyEvent(KeyCode::Esc, Modifiers::NONE),
            KeyEvent::ctrl('C'),
            KeyEvent::ctrl('S'),
            KeyEvent(KeyCode::BackTab, Modifiers::NONE),
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            KeyEvent::ctrl('J'),
        ];
        for key in keys {
            let keys = LineKeys { state: Arc::clone(&state), typed: typed.clone() };
            editor.bind_sequence(key, EventHandler::Conditional(Box::new(keys)));
        }
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        // A first start has none, and a pipe in its place would hold the line up.
        if history.is_file() {
            let _ = editor.load_history(history);
        }
        let (history, shared) = (history.to_owned(), Arc::clone(&state));
        std::thread::spawn(move || read(editor, &typed, &shared, &history));
        Ok((Self { state, printer: Box::new(printer), before }, lines))
    }

    /// Prints above the line.
    pub(super) fn print(&mut self, text: &str) -> std::io::Result<()> {
        self.printer.print(text.to_owned()).map_err(std::io::Error::other)
    }

    /// Says what goes on.
    pub(super) fn over(&mut self, text: String) -> std::io::Result<()> {
        if std::mem::replace(&mut locked(&self.state).over, text.clone()) == text {
            return Ok(());
        }
        self.print(NOTHING)
    }

    /// Whether a turn runs.
    pub(super) fn busy(&self, busy: bool) {
        locked(&self.state).busy = busy;
    }

    /// Whether the next line is an answer, and a secret one.
    pub(super) fn asking(&self, asking: bool, secret: bool) {
        let mut state = locked(&self.state);
        if asking && !state.asking {
            state.begun_before = !state.line.trim().is_empty();
        }
        (state.asking, state.secret) = (asking, secret);
    }

    /// What Tab completes behind a slash.
    pub(super) fn commands(&self, commands: Vec<String>) {
        locked(&self.state).commands = commands;
    }
}

impl Drop for InputLine {
    fn drop(&mut self) {
        // Nobody is there to be told of a terminal that is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, &self.before);
        // The row over the line and the line are of no use to whoever comes next.
        let rows = if locked(&self.state).ended { 2 } else { 1 };
        let _ = write!(std::io::stdout(), "\x1b[?2004l\x1b[{rows}A\r\x1b[J");
        let _ = std::io::stdout().flush();
    }
}

/// Reads until the end of input, or until nobody wants to know.
fn read(
    mut editor: Editor<LineRules, FileHistory>,
    typed: &mpsc::Sender<Typed>,
    state: &SharedLine,
    history: &Path,
) {
    while let Ok(line) = editor.readline(PROMPT) {
        let line = line.replace("\\\n", "\n");
        let (asked, is_prompt) = {
            let mut state = locked(state);
            state.line.clear();
            let begun_before = std::mem::take(&mut state.begun_before) && state.asking;
            // A command is one whenever it was typed.
            let is_prompt = begun_before && !line.trim_start().starts_with('/');
            (state.asking && !is_prompt, is_prompt)
        };
        if !asked && !line.trim().is_empty() && editor.add_history_entry(&line).unwrap_or(false) {
            // What cannot be kept is still said.
            if history.is_file() || !history.exists() {
                let _ = editor.append_history(history);
            }
        }
        let what = if is_prompt { Typed::Prompt(line) } else { Typed::Line(line) };
        if typed.blocking_send(what).is_err() {
            return;
        }
    }
    locked(state).ended = true;
}

/// The keys that are about the session and not about the text.
struct LineKeys {
    state: SharedLine,
    typed: mpsc::Sender<Typed>,
}

impl ConditionalEventHandler for LineKeys {
    fn handle(&self, event: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let mut state = locked(&self.state);
        // Somebody who presses keys faster than they are heard presses them again.
        let tell = |typed: Typed| {
            let _ = self.typed.try_send(typed);
        };
        match event.get(0)? {
            KeyEvent(KeyCode::Esc, _) => tell(Typed::Stop),
            KeyEvent(KeyCode::BackTab, _) => tell(Typed::NextMode),
            KeyEvent(KeyCode::Char('C'), _) if !state.busy && !context.line().is_empty() => {
                return Some(Cmd::Kill(Movement::WholeBuffer));
            }
            KeyEvent(KeyCode::Char('C'), _) => tell(Typed::Break),
            KeyEvent(KeyCode::Char('S'), _) if context.line().trim().is_empty() => {}
            KeyEvent(KeyCode::Char('S'), _) => {
                tell(Typed::Steer(context.line().to_owned()));
                return Some(Cmd::Kill(Movement::WholeBuffer));
            }
            _ if context.line().trim().is_empty() && !state.asking => {}
            // What was said stays on the screen, and what goes on moves below it.
            _ => {
                state.over.clear();
                return None;
            }
        }
        Some(Cmd::Noop)
    }
}

/// What the editor asks of us.
struct LineRules {
    state: SharedLine,
}

impl Helper for LineRules {}

impl Highlighter for LineRules {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, default: bool) -> Cow<'b, str> {
        if !default {
            return Cow::Borrowed(prompt);
        }
        let state = locked(&self.state);
        let sign = if state.color { "\x1b[1;35m>\x1b[0m" } else { ">" };
        Cow::Owned(format!("{}\n{sign} ", state.over))
    }

    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        let mut state = locked(&self.state);
        line.clone_into(&mut state.line);
        state.begun_before &= !line.is_empty();
        match state.secret {
            true => Cow::Owned("*".repeat(line.width())),
            false => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Validator for LineRules {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Completer for LineRules {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..pos).unwrap_or_default();
        let Some(word) = typed.strip_prefix('/').filter(|word| !word.contains(char::is_whitespace)) else {
            return Ok((pos, Vec::new()));
        };
        let state = locked(&self.state);
        let known = state.commands.iter().filter(|command| command.starts_with(word));
        Ok((1, known.map(|command| format!("{command} ")).collect()))
    }
}

impl Hinter for LineRules {
    type Hint = String;
}
