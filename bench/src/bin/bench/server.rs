//! A server of either kind. It starts in a new folder of its own, which is deleted with it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// How long a server may take to start, and to stop.
const PATIENCE: Duration = Duration::from_secs(15);

/// The token of every hub that the benchmark starts.
pub(crate) const TOKEN: &str = "bench";

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Longshore,
    Reference,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Longshore, Kind::Reference];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Longshore => "longshore",
            Kind::Reference => "reference",
        }
    }
}

/// The programs of the benchmark.
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// The programs in the folder of this program.
    pub(crate) fn beside_this_one() -> Result<Self> {
        let this = std::env::current_exe()?;
        let folder = this.parent().context("this program is nowhere")?.to_owned();
        let programs = Self { folder };
        for name in ["longshore", "reference", "fake-codex"] {
            let program = programs.path(name);
            if !program.is_file() {
                bail!("{} is missing: build it, or run `make bench`", program.display());
            }
        }
        Ok(programs)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn command(&self, kind: Kind, folder: &Path) -> Command {
        let agent = self.path("fake-codex");
        let mut command = Command::new(self.path(kind.name()));
        match kind {
            Kind::Longshore => command
                .args(["up", "--bind", "127.0.0.1:0"])
                .env("LONGSHORE_HOME", folder)
                .env("LONGSHORE_TOKEN", TOKEN)
                .env("LONGSHORE_LOG", "warn")
                .env("CODEX_PATH", agent),
            Kind::Reference => command.arg(folder).arg(agent),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        command
    }
}

/// A running server.
pub(crate) struct BenchServer {
    pub(crate) kind: Kind,
    pub(crate) pid: u32,
    /// Host and port.
    pub(crate) address: String,
    /// The time of its start.
    pub(crate) began: Instant,
    /// How long it took until it answered `/health`.
    pub(crate) healthy_after: Duration,
    child: Child,
    /// The server's standard output. It stays open, so that the server can write to it.
    _stdout: Lines<BufReader<ChildStdout>>,
    folder: Folder,
}

impl BenchServer {
    /// Starts a server and waits until it answers `/health`.
    pub(crate) async fn start(kind: Kind, programs: &Programs) -> Result<Self> {
        let folder = Folder::new()?;
        let mut command = programs.command(kind, &folder.0);
        let began = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", kind.name()))?;
        let pid = child.id().context("it ended before it began")?;
        let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let up = async {
            let line = stdout.next_line().await?.context("it ended before it was up")?;
            let (_, address) = line.split_once("http://").context("it does not say where it is")?;
            health(address).await?;
            Ok::<_, anyhow::Error>(address.to_owned())
        };
        let address = timeout(PATIENCE, up).await.context("it did not come up in time")??;
        let healthy_after = began.elapsed();
        Ok(Self { kind, pid, address, began, healthy_after, child, _stdout: stdout, folder })
    }

    /// A folder in which an agent may work.
    pub(crate) fn work_tree(&self) -> &Path {
        &self.folder.0
    }

    /// Stops the server and waits until it has ended.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        kill_process(pid.context("it has no pid")?, Signal::TERM)?;
        if timeout(PATIENCE, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }
}

async fn health(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(4096).read_to_string(&mut answer).await?;
    if !answer.starts_with("HTTP/1.1 200 ") {
        bail!("it is not well: {answer}");
    }
    Ok(())
}

/// A folder that is deleted when this value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("longshore-bench-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
