//! The judge of commands.

use std::path::{Path, PathBuf};

use longshore_model::approval::Subject;
use longshore_model::capability::Mode;

use super::shell_lexer::Simple;
use super::{Ground, reading, shell_lexer};
use crate::git::places;
use crate::git::quiet::Quiet;
use crate::tools::command::Script;
use crate::tools::{CallApproval, CallVerdict, Risk};
use longshore_drivers::host_io::files::{ResolvedPath, locate};

/// A command that the model wants to run.
#[derive(Debug)]
pub(super) struct ProposedCommand<'a> {
    pub(super) script: &'a Script,
    pub(super) cwd: Option<&'a str>,
    pub(super) escalate: bool,
    pub(super) reason: Option<&'a str>,
}

/// The way in which a command runs, whoever allowed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools) enum Manner {
    /// The command only reads.
    Reads {
        /// The folder in which the command reads.
        there: PathBuf,
        /// Whether the command reads outside of the work tree.
        outside: bool,
    },
    /// The command runs git, and otherwise only programs that read.
    Git {
        /// Whether the command may change git's settings.
        settings: bool,
    },
    /// The command may run anything.
    Any,
}

/// The facts about a command that are known before it runs.
struct CommandFacts {
    /// The simple commands, without a `cd` at the beginning. None if the lexer does not understand the script, which
    /// may then do anything.
    commands: Option<Vec<Simple>>,
    there: PathBuf,
    only_reads: bool,
    /// Settings of the repository that name a program which this command would run.
    programs: Vec<String>,
    /// A place outside of the work tree that the repository would make git read.
    named: Option<PathBuf>,
    outside: bool,
}

impl CommandFacts {
    fn at(script: &Script, place: &ResolvedPath, root: &Path) -> Self {
        let understood = understood(script);
        let (there, commands) = match understood.as_deref() {
            Some(commands) => {
                let (there, rest) = elsewhere(commands, &place.path);
                (there, Some(rest.to_vec()))
            }
            None => (place.path.clone(), None),
        };
        let strays = match &commands {
            Some(all) => all.iter().any(|command| strays(&command.words, &there, root)),
            None => rough_words(&script.line()).any(|word| leads_out(word, &place.path, root)),
        };
        let strays = strays || there.to_str().is_none_or(|there| leads_out(there, &place.path, root));
        let all = commands.as_deref().unwrap_or_default();
        let only_reads = commands.is_some() && all.iter().all(|command| reading::only_reads(&command.words));
        let programs =
            match only_reads && all.iter().any(|command| reading::shows_differences(&command.words)) {
                true => Quiet::of(&there).shows().to_vec(),
                false => Vec::new(),
            };
        let only_reads = only_reads && programs.is_empty();
        let named = match only_reads && all.iter().any(is_git) {
            true => places::unvouched(&there, root),
            false => None,
        };
        let outside = !place.inside || strays || named.is_some();
        Self { commands, there, only_reads, programs, named, outside }
    }
}

/// The way in which a command runs.
pub(in crate::tools) fn manner(script: &Script, place: &ResolvedPath, root: &Path) -> Manner {
    let CommandFacts { commands, there, only_reads, outside, .. } = CommandFacts::at(script, place, root);
    if only_reads {
        return Manner::Reads { there, outside };
    }
    let commands = commands.unwrap_or_default();
    let tame = |command: &Simple| is_git(command) || reading::only_reads(&command.words);
    match commands.iter().any(is_git) && commands.iter().all(tame) {
        true => Manner::Git { settings: commands.iter().any(|command| reading::sets_git(&command.words)) },
        false => Manner::Any,
    }
}

fn is_git(command: &Simple) -> bool {
    command.words.first().is_some_and(|program| program == "git")
}

pub(super) fn verdict(proposed: &ProposedCommand<'_>, ground: &Ground<'_>) -> CallVerdict {
    if proposed.script.is_empty() {
        return CallVerdict::Refuse("the command is empty".to_owned());
    }
    let place = match locate(ground.root, proposed.cwd.unwrap_or(".")) {
        Ok(place) if place.path.is_dir() => place,
        Ok(place) => return CallVerdict::Refuse(format!("{} is no folder to run in", place.path.display())),
        Err(fault) => return CallVerdict::Refuse(fault.to_string()),
    };
    let line = proposed.script.line();
    let CommandFacts { commands, only_reads, programs, named, outside, .. } =
        CommandFacts::at(proposed.script, &place, ground.root);
    let allowed = only_reads || (programs.is_empty() && is_allowed(&line, commands.as_deref(), ground.rules));
    let free = allowed && !outside && !proposed.escalate && ground.sandbox;
    match ground.mode {
        Mode::Full => return CallVerdict::Go,
        Mode::Plan if !only_reads || proposed.escalate => {
            return ground
                .planning("run commands, except some that only read (ls, cat, rg, git log and the like)");
        }
        Mode::Plan | Mode::Ask | Mode::AutoEdit if free => return CallVerdict::Go,
        Mode::Plan | Mode::Ask | Mode::AutoEdit => {}
    }
    let mut reasons = Vec::new();
    if proposed.escalate {
        let why = proposed.reason.map(|reason| format!(" Its reason: {reason}")).unwrap_or_default();
        reasons.push(format!("It would run outside of the sandbox.{why}"));
    } else if !ground.sandbox {
        reasons.push("There is no sandbox here, so it could write anywhere.".to_owned());
    }
    if let Some(named) = &named {
        reasons.push(format!(
            "The repository has git read {}, which is outside of the work tree.",
            named.display()
        ));
    } else if outside {
        reasons.push("It names something outside of the work tree.".to_owned());
    }
    if let Some(name) = programs.first() {
        reasons.push(format!(
            "It shows differences with a program that the repository's own settings name ({name})."
        ));
    }
    if reasons.is_empty() {
        reasons.push("It runs a command that may change something.".to_owned());
    }
    let risks = risks(&line, outside, proposed.escalate || !ground.sandbox, ground.network);
    // An approval for the whole session counts for exactly this line, inside of the sandbox.
    let always = if free || (!outside && !proposed.escalate) { vec![line.clone()] } else { Vec::new() };
    let cwd = Some(place.path.display().to_string());
    let subject = Subject::Command { command: line, cwd, always: always.clone() };
    CallVerdict::Ask(CallApproval { reason: reasons.join(" "), risks, subject, always })
}

/// The folder in which commands after `cd FOLDER &&` run, and these commands.
fn elsewhere<'a>(commands: &'a [Simple], cwd: &Path) -> (PathBuf, &'a [Simple]) {
    match commands {
        [Simple { words, and: true }, rest @ ..] => match words.as_slice() {
            [cd, folder] if cd == "cd" && !folder.starts_with('-') && cwd.join(folder).is_dir() => {
                (cwd.join(folder), rest)
            }
            _ => (cwd.to_owned(), commands),
        },
        _ => (cwd.to_owned(), commands),
    }
}

/// The simple commands of a script.
fn understood(script: &Script) -> Option<Vec<Simple>> {
    match (script, script.inner()) {
        (Script::Line(line), _) => shell_lexer::commands(line),
        (Script::Words(_), Some(line)) => shell_lexer::commands(line),
        (Script::Words(words), None) => Some(vec![Simple { words: words.clone(), and: false }]),
    }
}

/// Whether a rule is exactly this line, or every command only reads or begins with the words of a rule.
fn is_allowed(line: &str, commands: Option<&[Simple]>, rules: &[String]) -> bool {
    if rules.iter().any(|rule| rule == line) {
        return true;
    }
    let ruled = |words: &[String]| {
        rules.iter().filter(|rule| !rule.trim().is_empty()).any(|rule| {
            let mut rest = words.iter();
            rule.split_whitespace().all(|word| rest.next().is_some_and(|other| other == word))
        })
    };
    let may = |command: &Simple| reading::only_reads(&command.words) || ruled(&command.words);
    commands.is_some_and(|all| all.iter().all(may))
}

/// Whether a command names an existing path outside of the work tree. Other words count as no paths.
fn strays(words: &[String], cwd: &Path, root: &Path) -> bool {
    words.iter().skip(1).any(|word| match word.strip_prefix('-') {
        None => leads_out(word, cwd, root),
        Some("" | "-") => false,
        Some(option) => match option.split_once('=') {
            Some((_, value)) => leads_out(value, cwd, root),
            // A path may follow the letter of an option: -I/usr/include.
            None => option.contains('/') || option.contains(".."),
        },
    })
}

fn leads_out(word: &str, cwd: &Path, root: &Path) -> bool {
    if word.is_empty() || word == "/dev/null" {
        return false;
    }
    let path = cwd.join(word);
    if path.symlink_metadata().is_err() {
        return false;
    }
    let place = path.to_str().and_then(|path| locate(root, path).ok());
    place.is_none_or(|place| !place.inside)
}

/// The possible words of a line that the lexer may not understand. They can only add risks and approvals.
fn rough_words(line: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || ";|&()<>'\"`=".contains(c);
    line.split(ends).filter(|word| !word.is_empty())
}

/// The risks of a command, for people.
fn risks(line: &str, outside: bool, unsandboxed: bool, network: bool) -> Vec<Risk> {
    let words: Vec<&str> = rough_words(line).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let pair = |first: &str, seconds: &[&str]| {
        words.windows(2).any(|pair| matches!(pair, [one, two] if *one == first && seconds.contains(two)))
    };
    let deletes = has(&["rm", "rmdir", "unlink", "shred", "-delete", "truncate", "dd", "mkfs"])
        || pair("git", &["clean", "reset", "checkout", "restore"]);
    let reaches =
        has(&["curl", "wget", "ssh", "scp", "rsync", "nc", "telnet", "ftp", "ping", "gh", "docker"])
            || pair("git", &["push", "pull", "fetch", "clone", "submodule"])
            || ["npm", "pnpm", "yarn", "pip", "pip3", "cargo", "apt", "apt-get", "brew", "go", "gem"]
                .iter()
                .any(|program| {
                    pair(
                        program,
                        &["install", "add", "ci", "i", "get", "publish", "update", "fetch", "download"],
                    )
                });
    let mut risks = Vec::new();
    let all = [
        (
            outside || words.iter().any(|word| word.starts_with('~') || word.starts_with("$HOME")),
            Risk::Outside,
        ),
        (reaches && (network || unsandboxed), Risk::Network),
        (deletes, Risk::Deletes),
        (unsandboxed, Risk::Unsandboxed),
    ];
    risks.extend(all.into_iter().filter_map(|(there, risk)| there.then_some(risk)));
    risks
}
