//! A process that does not outlive us, though the end of its input says nothing to it.
//!
//! When we are killed, an agent that reads its input notices, for the pipe ends. A program that calls back does not: it goes
//! on calling for minutes, and may go on working. So it is started by a shell that holds the pipe in its place, and kills
//! the group some time after the end of it. While we are there, the process is ended by us well before that.

use std::path::PathBuf;
use std::time::Duration;

use super::spawn::Spawn;

/// `$0` is how many seconds it has after the end of its input, `$@` the program and its arguments.
///
/// A SIGTERM to the group is for the program: the shell waits on for what becomes of it, and ends as it did.
const SCRIPT: &str = r#"
exec 3<&0
trap : TERM
"$@" </dev/null 3<&- &
program=$!
(trap '' TERM; cat <&3; sleep "$0"; kill -KILL 0) >/dev/null 2>&1 &
exec </dev/null 2>/dev/null 3<&-
wait "$program"; code=$?
while kill -0 "$program" 2>/dev/null; do wait "$program"; code=$?; done
exit "$code"
"#;

impl Spawn {
    /// The same, killed so long after the end of its input, to the next second.
    #[must_use]
    pub fn guarded(self, grace: Duration) -> Self {
        let program = self.program.to_string_lossy().into_owned();
        let before = ["-c".to_owned(), SCRIPT.to_owned(), (grace.as_secs() + 1).to_string(), program];
        Self {
            program: PathBuf::from("/bin/sh"),
            arguments: before.into_iter().chain(self.arguments).collect(),
            ..self
        }
    }
}
