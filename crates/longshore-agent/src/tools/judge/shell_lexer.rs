//! Parses shell lines that need no shell: simple commands, joined by `|`, `&&`, `||` and `;`.
//!
//! It refuses everything that a shell would change: variables, substitutions, globs, braces, tildes, redirections
//! except to `/dev/null` and `2>&1`, groups, jobs, comments, assignments.

use std::iter::Peekable;
use std::str::Chars;

/// A simple command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    /// Whether the next command runs only if this one succeeds: `&&`.
    pub(super) and: bool,
}

/// The simple commands of a line. Returns none if the line has anything else.
pub(super) fn commands(line: &str) -> Option<Vec<Simple>> {
    let mut reader = ShellLexer {
        chars: line.chars().peekable(),
        word: None,
        quoted: false,
        words: Vec::new(),
        commands: Vec::new(),
        open: false,
    };
    reader.read()?;
    // An assignment, or a keyword of the shell.
    let odd = |Simple { words, .. }: &Simple| {
        words.first().is_none_or(|program| program.contains('=') || KEYWORDS.contains(&program.as_str()))
    };
    if reader.commands.is_empty() || reader.commands.iter().any(odd) {
        return None;
    }
    Some(reader.commands)
}

const KEYWORDS: [&str; 21] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "function", "select", "time", "coproc", "eval", "exec", "source", ".",
];

struct ShellLexer<'a> {
    chars: Peekable<Chars<'a>>,
    word: Option<String>,
    /// Whether a part of the word was quoted.
    quoted: bool,
    words: Vec<String>,
    commands: Vec<Simple>,
    /// Whether another command must follow.
    open: bool,
}

impl ShellLexer<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.chars.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' => self.end_command(false, false)?,
                '\'' => self.single()?,
                '"' => self.double()?,
                '\\' => {
                    let next = self.chars.next().filter(|next| *next != '\n')?;
                    self.quoted = true;
                    self.push(next);
                }
                '|' => {
                    self.chars.next_if_eq(&'|');
                    self.end_command(true, false)?;
                }
                '&' => {
                    self.chars.next_if_eq(&'&')?;
                    self.end_command(true, true)?;
                }
                '>' => self.redirect()?,
                '$' | '`' | '(' | ')' | '{' | '}' | '<' | '*' | '?' | '[' | ']' => return None,
                // Inside a word, these characters have no special meaning: HEAD~1.
                '#' | '~' | '!' if self.word.is_none() => return None,
                control if control.is_control() => return None,
                other => self.push(other),
            }
        }
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(Simple { words: std::mem::take(&mut self.words), and: false });
            return Some(());
        }
        // A `;` may end the line, but a command must follow a `|`.
        (!self.open).then_some(())
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
        self.quoted = false;
    }

    /// Ends a command. Fails if a command is missing.
    fn end_command(&mut self, another: bool, and: bool) -> Option<()> {
        self.end_word();
        if self.words.is_empty() {
            // An empty line is no command.
            return (!another && !self.open).then_some(());
        }
        self.commands.push(Simple { words: std::mem::take(&mut self.words), and });
        self.open = another;
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        self.quoted = true;
        loop {
            match self.chars.next()? {
                '\'' => return Some(()),
                other => self.push(other),
            }
        }
    }

    fn double(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        self.quoted = true;
        loop {
            match self.chars.next()? {
                '"' => return Some(()),
                '$' | '`' => return None,
                '\\' => {
                    let next = self.chars.next()?;
                    match next {
                        '"' | '\\' | '$' | '`' => self.push(next),
                        '\n' => return None,
                        other => {
                            self.push('\\');
                            self.push(other);
                        }
                    }
                }
                other => self.push(other),
            }
        }
    }

    /// These redirections write to no file: `>/dev/null`, `2>/dev/null` and `2>&1`.
    fn redirect(&mut self) -> Option<()> {
        match self.word.as_deref() {
            None => {}
            Some("1" | "2") if !self.quoted => self.word = None,
            Some(_) => return None,
        }
        let mut target = String::new();
        while self.chars.next_if_eq(&' ').is_some() {}
        while let Some(c) =
            self.chars.next_if(|c| !" \t\n;|".contains(*c) && (target.is_empty() || *c != '&'))
        {
            target.push(c);
        }
        ["/dev/null", "&1", "&2"].contains(&target.as_str()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_commands_are_read_as_a_shell_reads_them() {
        for (line, words) in [
            ("ls -la", vec![vec!["ls", "-la"]]),
            ("  rg 'a b' \"c \\\" d\" e\\ f ''", vec![vec!["rg", "a b", "c \" d", "e f", ""]]),
            ("git log | head -3", vec![vec!["git", "log"], vec!["head", "-3"]]),
            ("a && b || c; d\ne;", vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"], vec!["e"]]),
            ("ls 2>/dev/null | wc -l 2>&1", vec![vec!["ls"], vec!["wc", "-l"]]),
            ("ls > /dev/null", vec![vec!["ls"]]),
            ("grep 'a;b|c>d$e`f`' x", vec![vec!["grep", "a;b|c>d$e`f`", "x"]]),
            ("echo a#b HEAD~1 x!", vec![vec!["echo", "a#b", "HEAD~1", "x!"]]),
        ] {
            let read = commands(line).unwrap_or_else(|| panic!("{line}"));
            let read: Vec<Vec<String>> = read.into_iter().map(|command| command.words).collect();
            assert_eq!(read, words, "{line}");
        }
    }

    #[test]
    fn whatever_a_shell_would_make_something_else_of_is_not_understood() {
        for line in [
            "",
            ";",
            "ls > out",
            "ls >> out",
            "ls >out",
            "ls 2>err",
            "ls 3>/dev/null",
            "ls '2'>/dev/null",
            "ls a2>/dev/null",
            "ls >/dev/null/../../tmp/x",
            "ls >&out",
            "ls &> out",
            "ls < in",
            "ls $(rm x)",
            "ls `rm x`",
            "ls \"$(rm x)\"",
            "ls \"`rm x`\"",
            "cat $HOME/x",
            "ls & rm x",
            "ls &",
            "ls |& rm",
            "ls | ",
            "| ls",
            "ls && ",
            "(ls)",
            "{ ls; }",
            "ls *",
            "ls a?",
            "ls [ab]",
            "ls ~/x",
            "cat <(ls)",
            "A=1 ls",
            "! ls",
            "ls # x",
            "ls 'open",
            "ls \"open",
            "ls \\",
            "if ls",
            "eval ls",
            "ls\u{0}x",
        ] {
            assert_eq!(commands(line), None, "{line}");
        }
    }

    proptest::proptest! {
        /// A real shell reads the same words from each line that the lexer understands, and writes nothing.
        #[test]
        fn a_real_shell_reads_the_same_words(rest in "([a-d ]|[ab'\"\\\\$`;&|<>(){}*?~!#=\\[\\] \t\n-]|/dev/null|2>&1){0,12}") {
            let line = format!("printf '<%s>' {rest}");
            let understood = commands(&line).unwrap_or_default();
            let [Simple { words, .. }] = understood.as_slice() else { return Ok(()) };
            let folder = tempfile::tempdir().unwrap();
            let shell = std::process::Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output();
            let output = shell.unwrap();
            let silent = line.contains('>') && output.stdout.is_empty();
            let printed = String::from_utf8(output.stdout).unwrap();
            let expected: String = match words.get(2..) {
                Some([]) | None => "<>".to_owned(),
                Some(words) => words.iter().map(|word| format!("<{word}>")).collect(),
            };
            proptest::prop_assert!(silent || printed == expected, "{line:?}: {printed:?}, not {expected:?}");
            proptest::prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{:?} wrote", line);
        }
    }
}
