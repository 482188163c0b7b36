//! The warden: a shell that waits for the end of the hub, and then ends what still carries its mark or is
//! recorded.
//!
//! When a hub is killed, the system asks its agents to end, and some ignore that. Until the next hub starts,
//! only the warden can act. It is no child of ours and carries its own mark, so that nobody takes it for an
//! agent's process. Only the hub holds the warden's input open. The end of that input means the end of the
//! hub, unless a line came before.

use std::io::{self, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::thread::JoinHandle;

use crate::keyless::keyless;

/// Leaves the warden in the background, with the input, and ends. A second shell for it would cost a millisecond of the
/// first session.
///
/// The warden reads the name from its input: every user of the machine can read command lines, and whoever knows the name
/// can have the processes that carry it ended. It waits for the end of its input and a little longer, and then kills. A
/// line on the input dismisses it. It looks more than once, for processes that were being started. Of the recorded
/// processes it kills only those that began when the record says.
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

/// One that waits.
#[derive(Debug)]
pub(super) struct Warden {
    input: Option<ChildStdin>,
}

impl Warden {
    /// There is nothing to be ended.
    pub(super) fn dismiss(self) {
        if let Some(Err(error)) = self.input.map(|mut input| input.write_all(b"\n")) {
            tracing::debug!(%error, "the warden is gone already");
        }
    }
}

/// A warden that is started beside everything else: two shells take milliseconds, and the first session waits for none.
#[derive(Debug)]
pub(super) struct StartingWarden(io::Result<JoinHandle<io::Result<Warden>>>);

impl StartingWarden {
    /// Begins to start the warden of this name and of the record of that name in this folder.
    pub(super) fn begin(name: &str, records: &Path) -> Self {
        let (name, records) = (name.to_owned(), records.to_owned());
        let start = move || start(&name, &records).inspect_err(warn);
        let thread = std::thread::Builder::new().name("leash-warden".to_owned()).spawn(start);
        Self(thread.inspect_err(warn))
    }

    /// The warden, once it is there; none when it could not be started.
    pub(super) fn started(self) -> Option<Warden> {
        self.0.ok()?.join().ok()?.ok()
    }
}

fn warn(error: &io::Error) {
    tracing::warn!(%error, "what agents leave if the hub is killed will stay until the next start");
}

/// Has whoever carries this name, or is in the record of that name in this folder, end after this process.
fn start(name: &str, records: &Path) -> io::Result<Warden> {
    let mut command = keyless("/bin/sh");
    command.args(["-c", SCRIPT, "warden"]).arg(records).current_dir("/").env(super::VARIABLE, "warden");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A terminal that interrupts us does not mean it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut shell = command.spawn()?;
    let mut input = shell.stdin.take();
    if let Some(input) = &mut input {
        writeln!(input, "{name}")?;
    }
    shell.wait()?;
    Ok(Warden { input })
}
