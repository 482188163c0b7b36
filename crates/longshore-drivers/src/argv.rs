//! Command lines that agents send word by word, as a person would type them.
//!
//! People must see exactly what will run. So a shell is removed from a command only if it is the system's
//! shell: a repository can contain a program called `bash`.

use serde_json::Value;

/// Shells that run a line given as an argument.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];
/// The folders of the system's shells. A name without a folder is found in `PATH`, as every other program.
const PLACES: [&str; 6] =
    ["", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/"];

/// The line for the shell in these words: `bash -lc LINE`.
pub fn inner(words: &[impl AsRef<str>]) -> Option<&str> {
    let [shell, flag, line] = words else { return None };
    let shell = shell.as_ref();
    let is_shell =
        PLACES.iter().filter_map(|place| shell.strip_prefix(place)).any(|name| SHELLS.contains(&name));
    (is_shell && ["-c", "-lc", "-ic", "-lic"].contains(&flag.as_ref())).then(|| line.as_ref())
}

/// The line of these words: the shell's line if they start a shell, otherwise the words themselves.
pub fn line_of(words: &[impl AsRef<str>]) -> String {
    inner(words).map_or_else(|| typed(words), str::to_owned)
}

/// The same for words in JSON. None if a value is not a string.
pub fn line_in(words: &[Value]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    words.filter(|words| !words.is_empty()).map(|words| line_of(&words))
}

/// The line inside a shell command: `/bin/bash -lc 'ls -la'` contains `ls -la`.
pub fn unwrapped(line: &str) -> String {
    let words = split(line).unwrap_or_default();
    inner(&words).unwrap_or(line).to_owned()
}

/// A line that a shell reads as these words.
pub fn typed(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// A word in a form that a shell reads back unchanged.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The words of a command line as a shell reads them. None if a quote is open.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => match letters.next()? {
                            special @ ('"' | '\\' | '$' | '`') => word.push(special),
                            other => word.extend(['\\', other]),
                        },
                        quoted => word.push(quoted),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_shown_as_they_would_be_typed() {
        assert_eq!(line_of(&["echo", "Hello World", ">", "it's"]), r"echo 'Hello World' '>' 'it'\''s'");
        assert_eq!(line_of(&["bash", "-lc", "ls | wc"]), "ls | wc");
        let in_json = |words: Value| line_in(words.as_array().unwrap());
        assert_eq!(in_json(json!(["git", "commit", "-m", "a b"])).as_deref(), Some("git commit -m 'a b'"));
        assert_eq!(in_json(json!([])), None);
        assert_eq!(in_json(json!([{"cmd": "ls"}])), None);
    }

    #[test]
    fn a_shell_is_one_where_systems_keep_it_and_nowhere_else() {
        for shell in ["sh", "/bin/dash", "/usr/bin/bash", "/usr/local/bin/zsh"] {
            assert_eq!(line_of(&[shell, "-c", "make"]), "make", "{shell}");
        }
        for other in [
            "./bash",
            "tools/bin/bash",
            "/home/dev/project/bin/sh",
            "/bin/../tmp/sh",
            "./evil.sh",
            "python",
            "",
        ] {
            assert_eq!(inner(&[other, "-c", "make"]), None, "{other}");
        }
        assert_eq!(line_of(&["./tools/bash", "-lc", "cargo test"]), "./tools/bash -lc 'cargo test'");
        assert_eq!(unwrapped("./evil.sh -c 'cargo test'"), "./evil.sh -c 'cargo test'");
    }

    #[test]
    fn a_shell_is_taken_off_and_nothing_else() {
        for (whole, inner) in [
            ("/bin/bash -lc 'ls -la && echo done > out.txt'", "ls -la && echo done > out.txt"),
            (r#"/bin/zsh -lc "echo \"hi\" '$HOME'""#, r#"echo "hi" '$HOME'"#),
            (r#"bash -c 'echo '"'"'x'"'"''"#, "echo 'x'"),
            ("/bin/bash -lc pwd", "pwd"),
            ("/bin/bash -lc 'open quote", "/bin/bash -lc 'open quote"),
            ("git push", "git push"),
            ("", ""),
        ] {
            assert_eq!(unwrapped(whole), inner, "of {whole}");
        }
    }
}
