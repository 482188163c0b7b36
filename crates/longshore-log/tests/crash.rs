//! `kill -9` between an append and its acknowledgement: what was acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use longshore_log::{LogSettings, SqliteLog, WithRaw};
use longshore_model::frame::Frame;
use longshore_model::id::Seq;

use longshore_log::story::sample::{Talk, all, append, end, parts, session};

const FOLDER: &str = "LONGSHORE_LOG_CRASH_FOLDER";
const EVENTS: usize = 5;

/// The next batch of a session: a function of where the session stands, so that both processes can make it.
fn batch(talk: &mut Talk) -> Vec<Frame> {
    talk.clock = talk.seq.0 as i64;
    let number = talk.seq.0 as u128;
    talk.turn_of(number, &["word "])
}

/// Not a test of its own: the process that the other test kills. Appends until it dies, and says what is acknowledged.
#[tokio::test]
#[ignore = "runs as the child of acknowledged_events_survive_kill"]
async fn child() {
    let folder = std::env::var(FOLDER).expect("only the other test starts this one");
    let log = SqliteLog::open(Path::new(&folder), &LogSettings::default()).unwrap();
    let mut talk = Talk::new(1);
    talk.seq = end(&log, talk.session).await;
    for _ in 0..100_000 {
        let frames = batch(&mut talk);
        append(&log, talk.batch(frames)).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "\nacked {}", talk.seq).unwrap();
        out.flush().unwrap();
    }
}

fn spawn(folder: &Path) -> (Child, impl Iterator<Item = u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::<ChildStdout>::new(child.stdout.take().unwrap()).lines();
    let acked = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("acked ")?.parse().ok());
    (child, acked)
}

#[tokio::test]
async fn acknowledged_events_survive_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut head = 0;
    for round in 0..20u64 {
        let (mut child, mut acked) = spawn(folder.path());
        // It dies while the append after the last one that we have heard of is somewhere on its way.
        let heard =
            acked.by_ref().take(1 + (round * 7 % 31) as usize).last().expect("the child says something");
        child.kill().unwrap();
        child.wait().unwrap();
        let heard = acked.last().unwrap_or(heard);
        assert!(heard > head, "round {round}: the child went on where the log ended");

        let log = SqliteLog::open(folder.path(), &LogSettings::default()).unwrap();
        head = end(&log, session(1)).await.0;
        assert!(head >= heard, "round {round}: {heard} was acknowledged, the log ends at {head}");
        assert_eq!(head % EVENTS as u64, 0, "round {round}: a batch is written whole or not at all");
        let mut talk = Talk::new(1);
        let mut expected = Vec::new();
        while talk.seq < Seq(head) {
            expected.extend(batch(&mut talk));
        }
        assert_eq!(
            parts(&all(&log, session(1), 1_000, WithRaw::Yes).await),
            parts(&expected),
            "round {round}"
        );
    }
}
