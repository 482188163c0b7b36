//! The leash: an agent does not outlive the hub, also when the hub is killed and can say goodbye to nobody.

use std::io;
use std::sync::mpsc;

use tokio::process::Command;
use tokio::sync::oneshot;

/// Has the system end the process when the thread that starts it is gone. Where the system cannot do that, an agent ends
/// when its input does, as most do.
pub(super) fn put_on(command: &mut Command) {
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
    // SAFETY: it makes one system call, which takes no memory and no lock.
    unsafe {
        command.pre_exec(|| {
            use rustix::process::{Signal, set_parent_process_death_signal};
            Ok(set_parent_process_death_signal(Some(Signal::TERM))?)
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Keeps the thread alive that started a process. Dropped, it lets go of the process.
#[derive(Debug)]
pub(crate) struct Hold {
    _thread: mpsc::Sender<()>,
}

/// Does something that may take its time, such as to start a process, on a thread that stays for as long as it is held.
/// The runtime's own threads for such work go when there is none for some seconds, and what they started would go
/// with them.
pub(crate) async fn held<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<(T, Hold)> {
    let (done, result) = oneshot::channel();
    let (thread, let_go) = mpsc::channel();
    let runtime = tokio::runtime::Handle::current();
    std::thread::Builder::new().name("leash".to_owned()).spawn(move || {
        let inside = runtime.enter();
        let heard = done.send(work()).is_ok();
        drop(inside);
        if heard {
            // Nothing is ever sent: it ends when the other end is dropped.
            let _ = let_go.recv();
        }
    })?;
    let result = result.await.map_err(|_| io::Error::other("the thread that starts processes failed"))?;
    Ok((result, Hold { _thread: thread }))
}
