//! Commands behind a slash in `attach`: the program's own, and the agent's.

use longshore_model::capability::{Mode, SlashCommand};

/// What the program does itself, with the argument that it takes and what it is for.
const OURS: [(&str, &str, &str); 12] = [
    ("help", "", "list the commands and keys"),
    ("stop", "", "stop the turn (Esc, or Ctrl-C)"),
    ("steer", "TEXT", "send the text into the running turn (Ctrl-S instead of Enter)"),
    ("now", "TEXT", "stop the turn, then send the text"),
    ("queue", "", "list the queued prompts"),
    ("send", "", "send the held prompts"),
    ("discard", "", "remove all queued prompts"),
    ("mode", "[MODE]", "show or set what the agent may do without asking (Shift-Tab)"),
    ("model", "[MODEL]", "show or set the model"),
    ("effort", "[EFFORT]", "show or set how hard the model thinks"),
    ("resume", "", "resume the turn that a restart of the hub interrupted"),
    ("quit", "", "leave; the session goes on (Ctrl-D)"),
];

/// A line that begins with a slash, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Stop,
    Steer(String),
    Now(String),
    Queue,
    Send,
    Discard,
    Mode(Option<Mode>),
    Model(Option<String>),
    Effort(Option<String>),
    Resume,
    Quit,
    /// Words for the agent.
    Words(String),
    /// Nobody knows it, or not so; why.
    Wrong(String),
}

/// What a line means, where the agent knows these commands.
pub(super) fn parse(line: &str, of_agent: &[SlashCommand]) -> Slash {
    let words = || Slash::Words(line.to_owned());
    let Some(rest) = line.trim().strip_prefix('/') else { return words() };
    if let Some(escaped) = rest.strip_prefix('/') {
        return Slash::Words(format!("/{escaped}"));
    }
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    // A path, or anything else that people write.
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c)) {
        return words();
    }
    let given = Some(argument.to_owned()).filter(|argument| !argument.is_empty());
    let needed = |to: fn(String) -> Slash| match given.clone() {
        Some(text) => to(text),
        None => Slash::Wrong(format!("/{name} needs a text, as in: /{name} fix the tests")),
    };
    match name {
        "help" => Slash::Help,
        "stop" => Slash::Stop,
        "steer" => needed(Slash::Steer),
        "now" => needed(Slash::Now),
        "queue" => Slash::Queue,
        "send" => Slash::Send,
        "discard" => Slash::Discard,
        "mode" => match given.map(|mode| mode.parse()).transpose() {
            Ok(mode) => Slash::Mode(mode),
            Err(wrong) => Slash::Wrong(wrong),
        },
        "model" => Slash::Model(given),
        "effort" => Slash::Effort(given),
        "resume" => Slash::Resume,
        "quit" | "exit" => Slash::Quit,
        name if of_agent.iter().any(|command| command.name.trim_start_matches('/') == name) => words(),
        name => {
            let how = "/help lists the commands; with two slashes it goes to the agent";
            Slash::Wrong(format!("there is no command /{name}: {how}"))
        }
    }
}

/// What Tab completes.
pub(super) fn names(of_agent: &[SlashCommand]) -> Vec<String> {
    let ours = OURS.iter().map(|(name, ..)| (*name).to_owned());
    let theirs = of_agent.iter().map(|command| command.name.trim_start_matches('/').to_owned());
    ours.chain(theirs.filter(|name| !OURS.iter().any(|(ours, ..)| ours == name))).collect()
}

/// What `/help` says.
pub(super) fn help(of_agent: &[SlashCommand]) -> Vec<String> {
    let mut lines = vec![
        "Enter sends; while a turn runs, the prompt is queued. Alt-Enter, or a backslash at the end, starts a new line."
            .to_owned(),
        "Up and Down recall earlier input, Ctrl-R searches it.".to_owned(),
        "Answer the agent's questions in the same line: y, n and a reason, or the letters of the box.".to_owned(),
    ];
    let row = |name: &str, argument: &str, what: &str| {
        let call = format!("/{name} {argument}");
        format!("{:<16} {what}", call.trim_end())
    };
    lines.extend(OURS.iter().map(|(name, argument, what)| row(name, argument, what)));
    let theirs = of_agent.iter().map(|command| (command.name.trim_start_matches('/'), &command.description));
    lines.extend(theirs.map(|(name, what)| row(name, "", &format!("{what} (the agent's)"))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_come_first_then_the_agents_and_a_path_is_no_command() {
        let theirs =
            [SlashCommand { name: "review".to_owned(), description: "look at the changes".to_owned() }];
        let read = |line: &str| parse(line, &theirs);
        assert_eq!(read("/stop"), Slash::Stop);
        assert_eq!(read(" /mode auto-edit "), Slash::Mode(Some(Mode::AutoEdit)));
        assert_eq!(read("/model"), Slash::Model(None));
        assert_eq!(read("/steer look left"), Slash::Steer("look left".to_owned()));
        assert_eq!(read("/review main"), Slash::Words("/review main".to_owned()));
        assert_eq!(read("//model"), Slash::Words("/model".to_owned()));
        assert_eq!(read("/etc/hosts is wrong"), Slash::Words("/etc/hosts is wrong".to_owned()));
        assert_eq!(read("fix it"), Slash::Words("fix it".to_owned()));
        for wrong in ["/nothing", "/mode sometimes", "/now"] {
            assert!(matches!(read(wrong), Slash::Wrong(_)), "{wrong}");
        }
    }

    #[test]
    fn every_command_is_explained_and_completed() {
        let named = names(&[]);
        for (name, ..) in OURS {
            assert!(!matches!(parse(&format!("/{name} plan"), &[]), Slash::Words(_)), "{name}");
            assert!(named.iter().any(|known| known == name));
            assert!(help(&[]).iter().any(|line| line.starts_with(&format!("/{name}"))), "{name}");
        }
    }
}
