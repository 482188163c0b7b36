//! The warden: a shell that waits for the end of the hub, and then kills the processes that still carry its
//! mark or are recorded.
//!
//! When a hub is killed, the system asks its agents to end, and some ignore that. Until the next hub starts,
//! only the warden can act. It is not a child of the hub and carries its own mark, so that it does not count
//! as an agent's process. Only the hub holds the warden's input open. The end of that input means the end of
//! the hub, unless a line came before.

use std::io::{self, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::thread::JoinHandle;

use crate::keyless::keyless;

/// Leaves the warden in the background, with the input, and ends. A second shell would cost a millisecond of
/// the first session.
///
/// The warden reads the name from its input. Every user of the machine can read command lines, and a user who
/// knows the name can have the processes ended that carry it. The warden waits for the end of its input and a
/// little longer, and then kills. A line on the input dismisses it. It searches several times, because
/// processes may just be starting. Of the recorded processes it kills only those with the recorded start
/// time.
const SCRIPT: &str = r#"exec 3<&0
(
    read -r name || exit
    read -r _ && exit
    record=$1/$name
    for pause in 5 1 1; do
        sleep $pause
        for file in $(echo "$name" | grep -alF -f - /proc/[0-9]*/environ 2>/dev/null); do
            pid=${file#/proc/}
            echo "$name" | grep -qaF -f - "$file" 2>/dev/null && kill -9 "${pid%/environ}" 2>/dev/null
        done
        [ -f "$record" ] || continue
        while read -r pid start; do
            [ -n "$start" ] || { [ "$pid" = "$(cat /proc/sys/kernel/random/boot_id)" ] && continue || break; }
            read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
            set -- ${stat##*) }
            [ "${20}" = "$start" ] && kill -9 "$pid" 2>/dev/null
        done <"$record"
    done
) <&3 3<&- &
"#;

/// A running warden.
#[derive(Debug)]
pub(super) struct Warden {
    input: Option<ChildStdin>,
}

impl Warden {
    /// Dismisses the warden, because there are no processes to end.
    pub(super) fn dismiss(self) {
        if let Some(Err(error)) = self.input.map(|mut input| input.write_all(b"\n")) {
            tracing::debug!(%error, "the warden is gone already");
        }
    }
}

/// The start of a warden, on another thread. Two shells take milliseconds, and the first session does not
/// wait for them.
#[derive(Debug)]
pub(super) struct StartingWarden(io::Result<JoinHandle<io::Result<Warden>>>);

impl StartingWarden {
    /// Begins to start a warden for this name, and for the record of that name in this folder.
    pub(super) fn begin(name: &str, records: &Path) -> Self {
        let (name, records) = (name.to_owned(), records.to_owned());
        let start = move || start(&name, &records).inspect_err(warn);
        let thread = std::thread::Builder::new().name("leash-warden".to_owned()).spawn(start);
        Self(thread.inspect_err(warn))
    }

    /// The warden, once it runs. None if it could not be started.
    pub(super) fn started(self) -> Option<Warden> {
        self.0.ok()?.join().ok()?.ok()
    }
}

fn warn(error: &io::Error) {
    tracing::warn!(%error, "what agents leave if the hub is killed will stay until the next start");
}

/// Starts a warden. After the end of this process, it ends the processes that carry this name or are in the
/// record of that name in this folder.
fn start(name: &str, records: &Path) -> io::Result<Warden> {
    let mut command = keyless("/bin/sh");
    command.args(["-c", SCRIPT, "warden"]).arg(records).current_dir("/").env(super::VARIABLE, "warden");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // An interrupt from the terminal is not for the warden.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut shell = command.spawn()?;
    let mut input = shell.stdin.take();
    if let Some(input) = &mut input {
        writeln!(input, "{name}")?;
    }
    shell.wait()?;
    Ok(Warden { input })
}
