//! The warden: a shell that waits for the end of the hub, and ends what then still carries its mark, or is written down.
//!
//! When a hub is killed, the system asks its agents to end, and some do not care. Until a hub is started again nobody else
//! would be there. It is no child of ours, so that nobody takes it for an agent; and the end of its input, which only we
//! hold open, is the end of us, unless it heard a line before.

use std::io::{self, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};

use crate::keyless::keyless;

/// Starts the warden in the background, with its input, and leaves it there.
const START: &str = r#"exec 3<&0; sh -c "$1" warden "$2" <&3 3<&- & "#;

/// Hears the name, which is on no command line: all users of the machine read those, and whoever knows it can have what carries
/// it ended. Waits for the end of its input and a little longer, and then kills; not if a line dismisses it. It looks again for those
/// that were being started. Of those that are written down it kills who began when it is said to have.
const WATCH: &str = r#"
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

/// Has whoever carries this name, or is in the record of that name in this folder, end after this process.
pub(super) fn begin(name: &str, records: &Path) -> io::Result<Warden> {
    let mut command = keyless("/bin/sh");
    command.args(["-c", START, "sh", WATCH]).arg(records).current_dir("/");
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
