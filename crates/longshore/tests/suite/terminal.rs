//! A terminal, as a person sits at one.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::rig::{Rig, WITHIN};

/// A terminal with a verb in it.
pub(super) struct Terminal {
    terminal: pty_process::Pty,
    verb: tokio::process::Child,
    pub(super) shown: String,
    /// How much of it was looked at.
    seen: usize,
}

impl Terminal {
    pub(super) fn with(rig: &Rig, arguments: &[&str], env: &[(&str, &str)]) -> Self {
        let (terminal, inside) = pty_process::open().unwrap();
        terminal.resize(pty_process::Size::new(40, 100)).unwrap();
        let plain = rig.longshore();
        let plain = plain.as_std();
        let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let command = pty_process::Command::new(env!("CARGO_BIN_EXE_longshore")).env_clear().envs(variables);
        let command = command.envs(env.iter().copied());
        let command = command.env("TERM", "xterm-256color").env("NO_COLOR", "1").current_dir(rig.work());
        let verb = command.args(arguments).kill_on_drop(true).spawn(inside).unwrap();
        Self { terminal, verb, shown: String::new(), seen: 0 }
    }

    pub(super) async fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).await.unwrap();
    }

    /// Reads until these words are shown, after those that were waited for before.
    pub(super) async fn until(&mut self, words: &str) {
        let reading = async {
            loop {
                if let Some(at) = self.shown[self.seen..].find(words) {
                    self.seen += at + words.len();
                    return true;
                }
                let mut bytes = [0; 4096];
                match self.terminal.read(&mut bytes).await {
                    Ok(read @ 1..) => self.shown.push_str(&String::from_utf8_lossy(&bytes[..read])),
                    _ => return false,
                }
            }
        };
        let found = tokio::time::timeout(WITHIN, reading).await.unwrap_or(false);
        assert!(found, "`{words}` was never shown:\n{}", self.shown);
    }

    /// The rows that a person sees now.
    pub(super) fn rows(&self) -> Vec<String> {
        rows_of(&self.shown)
    }

    pub(super) async fn ends(mut self) -> (Option<i32>, String) {
        let mut bytes = [0; 4096];
        let draining = async {
            // The terminal reports an error when the program has ended.
            while let Ok(read @ 1..) = self.terminal.read(&mut bytes).await {
                self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        if tokio::time::timeout(WITHIN, draining).await.is_err() {
            panic!("it did not end:\n{}", self.shown);
        }
        let status = tokio::time::timeout(WITHIN, self.verb.wait()).await.unwrap().unwrap();
        (status.code(), self.shown)
    }
}

/// The rows that a person sees of what was sent to a terminal, but for those with nothing in them.
pub(super) fn rows_of(sent: &str) -> Vec<String> {
    let mut glass = Glass::default();
    glass.show(sent);
    glass.rows().into_iter().filter(|row| !row.is_empty()).collect()
}

/// What a terminal without an edge shows of what it is sent, as far as we and the input line use one.
#[derive(Default)]
pub(super) struct Glass {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Glass {
    /// The rows that a person sees, down to the last one with something in it.
    pub(super) fn rows(&self) -> Vec<String> {
        let text = |row: &Vec<char>| row.iter().collect::<String>().trim_end().to_owned();
        let mut rows: Vec<String> = self.rows.iter().map(text).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    pub(super) fn show(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(next) = rest.next() {
            if self.rows.len() <= self.row {
                self.rows.resize(self.row + 1, Vec::new());
            }
            match next {
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                '\u{7}' => {}
                '\u{1b}' => self.command(&mut rest),
                plain => {
                    let row = &mut self.rows[self.row];
                    row.resize(row.len().max(self.column + 1), ' ');
                    row[self.column] = plain;
                    self.column += 1;
                }
            }
        }
    }

    fn command(&mut self, rest: &mut std::str::Chars<'_>) {
        assert_eq!(rest.next(), Some('['), "a sequence of another kind");
        let mut code = String::new();
        let end = loop {
            match rest.next() {
                Some(end) if end.is_ascii_alphabetic() => break end,
                Some(part) => code.push(part),
                None => return,
            }
        };
        let count = code.parse::<usize>().unwrap_or(1).max(1);
        match end {
            'A' => self.row = self.row.saturating_sub(count),
            'C' => self.column += count,
            'J' => {
                self.rows.truncate(self.row + 1);
                self.rows[self.row].truncate(self.column);
            }
            'K' if code == "2" => self.rows[self.row].clear(),
            'K' => self.rows[self.row].truncate(self.column),
            'm' | 'h' | 'l' => {}
            other => panic!("nobody knows {other} in {code}"),
        }
    }
}
