//! Commands without the shell that agents wrap them in.

/// What a shell is told to run, if that is all the command does: `/bin/bash -lc 'ls -la'` reads `ls -la`.
///
/// For cards only. Who is asked for a yes sees the command as it is.
pub(super) fn unwrapped(command: &str) -> String {
    inner(command).unwrap_or_else(|| command.to_owned())
}

fn inner(command: &str) -> Option<String> {
    let (shell, rest) = command.split_once(' ')?;
    let name = shell.rsplit('/').next()?;
    let (flag, script) = rest.trim_start().split_once(' ')?;
    let wraps =
        matches!(name, "sh" | "bash" | "zsh" | "dash") && matches!(flag, "-c" | "-lc" | "-cl" | "-ic");
    if wraps { one_word(script.trim()) } else { None }
}

/// A shell word without its quotes; none if it is more than one word.
fn one_word(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => loop {
                match rest.next()? {
                    '\'' => break,
                    c => word.push(c),
                }
            },
            '"' => loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        c @ ('"' | '\\' | '$' | '`') => word.push(c),
                        c => word.extend(['\\', c]),
                    },
                    c => word.push(c),
                }
            },
            '\\' => word.push(rest.next()?),
            c if c.is_whitespace() || "|&;<>()$`".contains(c) => return None,
            c => word.push(c),
        }
    }
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_command_is_shown_bare() {
        for (command, expected) in [
            ("/bin/bash -lc 'ls -la'", "ls -la"),
            ("bash -c ls", "ls"),
            (r#"/usr/bin/zsh -lc "echo \"$HOME\"""#, r#"echo "$HOME""#),
            (r"sh -c 'it'\''s'", "it's"),
        ] {
            assert_eq!(unwrapped(command), expected);
        }
    }

    #[test]
    fn what_is_more_than_a_wrapper_stays() {
        for command in
            ["ls -la", "bash -c 'a' b", "bash -c 'open", "bash -lc 'a' && rm b", "bash -x 'a'", "bash", ""]
        {
            assert_eq!(unwrapped(command), command);
        }
    }
}
