//! What only a log on a disk can suffer: a newer format, damage, no room, two hubs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use longshore_log::{
    Batch, Catalog, Durability, Journal, LogError, LogSettings, MemoryLog, SqliteLog, Stores, WithRaw,
};
use longshore_model::frame::Frame;
use longshore_model::id::Seq;
use longshore_model::time::Timestamp;

use longshore_log::story::sample::{Talk, all, append, at, end, parts};

fn open(folder: &Path) -> Result<SqliteLog, LogError> {
    SqliteLog::open(folder, &LogSettings::default())
}

fn sql(folder: &Path, statement: &str) {
    rusqlite::Connection::open(folder.join("log.db")).unwrap().execute_batch(statement).unwrap();
}

/// The refusal, which must be one.
fn refusal(folder: &Path) -> LogError {
    open(folder).err().expect("the log must not open")
}

#[tokio::test]
async fn a_newer_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    sql(folder.path(), "PRAGMA user_version = 99");
    let before = fs::read(folder.path().join("log.db")).unwrap();

    let error = refusal(folder.path());
    assert!(matches!(error, LogError::NewerVersion { found: 99, known: 4, .. }), "{error}");
    assert!(error.to_string().contains("update Longshore, or use another data folder"), "{error}");
    assert_eq!(fs::read(folder.path().join("log.db")).unwrap(), before);

    sql(folder.path(), "PRAGMA user_version = 4");
    open(folder.path()).unwrap();
}

#[tokio::test]
async fn another_programs_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    sql(folder.path(), "CREATE TABLE recipes (name)");
    let error = refusal(folder.path());
    assert!(
        matches!(&error, LogError::Corrupt { detail, .. } if detail.contains("another program")),
        "{error}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.db"), "no database, but long enough for one. ".repeat(200)).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains(".recover"), "says what to do: {error}");
}

#[tokio::test]
async fn damage_in_the_middle_shows_where_it_is_read_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = Talk::new(1);
    let mut frames = Vec::new();
    {
        let log = open(folder.path()).unwrap();
        for number in 0..50 {
            let turn = talk.turn_of(number, &["word "; 50]);
            append(&log, talk.batch(turn.clone())).await.unwrap();
            frames.extend(turn);
        }
    }
    sql(
        folder.path(),
        "UPDATE raw_blocks SET block = x'ffffffff' WHERE first = (SELECT max(first) FROM raw_blocks)",
    );
    let log = open(folder.path()).unwrap();
    let last = Seq(talk.seq.0 - 1);
    let error = log.read(talk.session, last, 10, WithRaw::Yes).await.unwrap_err();
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
    assert_eq!(log.read(talk.session, last, 10, WithRaw::No).await.unwrap().len(), 1);
    assert_eq!(log.read(talk.session, Seq::ZERO, 10, WithRaw::Yes).await.unwrap().len(), 10);
    drop(log);

    // Pages of nonsense across the second half of the file; what describes its tables is in the first.
    let file = folder.path().join("log.db");
    let mut bytes = fs::read(&file).unwrap();
    let pages = bytes.len() / 4096;
    for page in (pages / 2..pages).step_by(2) {
        bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
    }
    fs::write(&file, bytes).unwrap();
    let log = open(folder.path()).unwrap();
    let error = log.read(talk.session, Seq::ZERO, usize::MAX, WithRaw::No).await.unwrap_err();
    assert!(matches!(error, LogError::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_full_disk_refuses_loses_nothing_and_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let settings = LogSettings { max_bytes: Some(400_000), ..LogSettings::default() };
    let log = SqliteLog::open(folder.path(), &settings).unwrap();

    // An old session that retention can take away later.
    let mut old = Talk::new(1);
    let turn = old.turn_of(1, &["some words to fill the pages with "; 200]);
    let info = Some(old.info(|info| info.updated_at = at(-1)));
    append(&log, Batch { info, ..old.batch(turn) }).await.unwrap();

    let mut talk = Talk::new(2);
    let mut kept: Vec<Frame> = Vec::new();
    let (refused, error) = loop {
        let turn = talk.turn_of(kept.len() as u128 + 100, &["and more of them "; 20]);
        match append(&log, talk.batch(turn.clone())).await {
            Ok(_) => kept.extend(turn),
            Err(error) => break (turn, error),
        }
        assert!(kept.len() < 10_000, "the limit is never reached");
    };
    assert!(matches!(error, LogError::Full { .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(parts(&all(&log, talk.session, 100, WithRaw::Yes).await), parts(&kept));

    // It stays refused, and the refusal takes nothing along.
    let error = append(&log, talk.batch(refused.clone())).await.unwrap_err();
    assert!(matches!(error, LogError::Full { .. }), "{error}");
    assert_eq!(end(&log, talk.session).await, kept.last().unwrap().seq());

    assert_eq!(log.forget(at(0)).await.unwrap(), 1);
    append(&log, talk.batch(refused.clone())).await.unwrap();
    kept.extend(refused);
    assert_eq!(parts(&all(&log, talk.session, 100, WithRaw::Yes).await), parts(&kept));

    // And a restart finds the same.
    drop(log);
    let log = open(folder.path()).unwrap();
    assert_eq!(parts(&all(&log, talk.session, 100, WithRaw::Yes).await), parts(&kept));
}

#[tokio::test]
async fn what_a_crash_left_half_forgotten_goes_with_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut talks = [Talk::new(1), Talk::new(2)];
    {
        let log = open(folder.path()).unwrap();
        for talk in &mut talks {
            let turn = talk.turn_of(1, &["the ", "barnacle"]);
            let info = Some(talk.info(|_| ()));
            append(&log, Batch { info, ..talk.batch(turn) }).await.unwrap();
        }
    }
    // As if the hub had died just after it parted with the first session.
    sql(
        folder.path(),
        "INSERT INTO forgotten SELECT min(key) FROM sessions; \
         DELETE FROM sessions WHERE key IN (SELECT key FROM forgotten)",
    );
    let log = open(folder.path()).unwrap();
    assert_eq!(log.search("barnacle".into(), 10).await.unwrap().len(), 1, "nobody finds it any more");
    assert_eq!(log.forget(at(0)).await.unwrap(), 0);
    drop(log);

    let file = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    let count = |what: &str| -> i64 {
        file.query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("events"), count("raw_blocks"), count("turns"), count("forgotten")), (6, 1, 1, 0));
    // FTS5 compares its index with the text of the events, word by word.
    file.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)", []).unwrap();
    file.execute("INSERT INTO search (search) VALUES ('rebuild')", []).unwrap();
    assert_eq!(count("search_docsize"), 1, "the final message is all that is to be found");
}

#[tokio::test]
async fn the_write_ahead_log_stays_bounded_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let settings = LogSettings { durability: Durability::Normal, ..LogSettings::default() };
    let log = SqliteLog::open(folder.path(), &settings).unwrap();
    let mut talk = Talk::new(1);
    let frames: Vec<Frame> = (0..48)
        .map(|_| {
            talk.say(longshore_model::event::Body::MessageDelta, None, &"x".repeat(2 * 1024 * 1024), None)
        })
        .collect();
    // No pause between them: the checkpoint thread is always behind.
    let appends = frames.into_iter().map(|frame| append(&log, talk.batch(vec![frame])));
    let mut largest = 0;
    for append in appends {
        append.await.unwrap();
        largest = largest.max(fs::metadata(folder.path().join("log.db-wal")).unwrap().len());
    }
    assert!(largest < 80 * 1024 * 1024, "96 MiB were appended, the write-ahead log took {largest}");
    assert_eq!(end(&log, talk.session).await, Seq(48));
}

#[tokio::test]
async fn one_hub_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).unwrap();
    let error = refusal(folder.path());
    let us = std::process::id();
    assert!(matches!(error, LogError::Locked { holder: Some(pid), .. } if pid == us), "{error}");
    drop(first);
    open(folder.path()).unwrap();
}

#[tokio::test]
async fn everything_is_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("made/for/us");
    let settings = LogSettings { durability: Durability::Normal, ..LogSettings::default() };
    let log = SqliteLog::open(&data, &settings).unwrap();
    let mut talk = Talk::new(1);
    let turn = talk.turn_of(1, &["x"]);
    append(&log, talk.batch(turn)).await.unwrap();

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    assert_eq!(names, ["lock", "log.db", "log.db-shm", "log.db-wal", "log.made"]);
    assert!(log.stats().await.unwrap().wal_bytes > 0);
}

#[tokio::test]
async fn an_event_that_is_not_as_it_was_written_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = Talk::new(1);
    {
        let log = open(folder.path()).unwrap();
        let turn = talk.turn_of(1, &["word "; 5]);
        append(&log, talk.batch(turn)).await.unwrap();
    }
    assert_eq!(SqliteLog::quick_check(folder.path(), 10).unwrap(), Vec::<String>::new());
    sql(
        folder.path(),
        "UPDATE events SET json = replace(json, 'message_delta', 'message_dehta') WHERE place & 0xffff = 4",
    );
    let log = open(folder.path()).unwrap();
    let error = log.read(talk.session, Seq::ZERO, 10, WithRaw::No).await.unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { detail, .. } if detail.contains("event 4")), "{error}");
    assert_eq!(log.read(talk.session, Seq(4), 2, WithRaw::No).await.unwrap().len(), 2, "the others are well");
}

#[test]
fn a_log_that_is_gone_or_empty_is_not_begun_anew_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    drop(open(folder.path()).unwrap());
    for harm in ["emptied", "removed"] {
        for name in ["log.db", "log.db-wal", "log.db-shm"] {
            let _ = fs::remove_file(folder.path().join(name));
        }
        if harm == "emptied" {
            fs::write(folder.path().join("log.db"), "").unwrap();
        }
        let error = open(folder.path()).err().expect(harm);
        assert!(matches!(error, LogError::Lost { .. }), "{harm}: {error}");
    }
    // Whoever means it says so.
    fs::remove_file(folder.path().join("log.made")).unwrap();
    drop(open(folder.path()).unwrap());
}

#[test]
fn what_stands_in_the_place_of_a_file_is_named() {
    for name in ["lock", "log.db"] {
        for kind in ["pipe", "folder"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            match kind {
                "pipe" => {
                    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success())
                }
                _ => fs::create_dir(&path).unwrap(),
            }
            let error = open(folder.path()).err().expect(name);
            assert!(matches!(error, LogError::NotAFile { .. }), "{name}, {kind}: {error}");
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
    }
}

#[test]
fn a_first_start_that_was_interrupted_is_no_loss() {
    let left: [&[(&str, &str)]; 5] = [
        &[("lock", "")],
        &[("lock", "4711")],
        &[("lock", "4711"), ("log.db", "")],
        &[("lock", "4711"), ("log.db", ""), ("log.db-journal", "")],
        &[("lock", "4711"), ("log.db", ""), ("log.db-journal", "half of a journal")],
    ];
    for files in left {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(longshore_log::quick_check(folder.path()), Ok(()), "{files:?}");
        open(folder.path()).unwrap_or_else(|error| panic!("{files:?}: {error}"));
        // From now on there is something to lose.
        fs::remove_file(folder.path().join("log.db")).unwrap();
        let error = open(folder.path()).err().expect("lost");
        assert!(matches!(error, LogError::Lost { .. }), "{files:?}: {error}");
    }
}

#[test]
fn a_log_of_before_the_mark_gets_it_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    fs::remove_file(folder.path().join("log.made")).unwrap();
    drop(open(folder.path()).unwrap());
    fs::remove_file(folder.path().join("log.db")).unwrap();
    let error = open(folder.path()).err().expect("lost");
    assert!(error.to_string().contains("log.made"), "{error}");
}

#[tokio::test]
async fn the_copy_of_an_older_log_goes_with_a_session_that_is_erased_and_with_retention() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).unwrap();
    let copy = folder.path().join("log.db.format-1");
    let mut talk = Talk::new(1);
    let turn = talk.turn_of(1, &["the key is xyzzyplugh"]);
    append(&log, talk.batch(turn)).await.unwrap();
    // A row that is written again and again leaves its earlier forms.
    for length in [900, 20, 600, 3] {
        let info = talk.info(|info| info.title = format!("xyzzyplugh {}", "y".repeat(length)));
        append(&log, Batch { info: Some(info), ..talk.batch(Vec::new()) }).await.unwrap();
    }

    fs::write(&copy, "it has the key xyzzyplugh").unwrap();
    log.forget(Timestamp::from_micros(1)).await.unwrap();
    assert!(copy.exists(), "it is younger than what retention drops");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&copy).unwrap().set_modified(long_ago).unwrap();
    log.forget(at(0)).await.unwrap();
    assert!(!copy.exists(), "retention came to it");

    let mut talk = Talk::new(2);
    let turn = talk.turn_of(2, &["the key is xyzzyplugh"]);
    append(&log, talk.batch(turn)).await.unwrap();
    fs::write(&copy, "it has the key xyzzyplugh").unwrap();
    assert!(!log.erase(Talk::new(3).session).await.unwrap());
    assert!(copy.exists(), "nothing was erased");
    assert!(log.erase(talk.session).await.unwrap());
    assert!(!copy.exists(), "what is erased is in no copy either");
}

#[tokio::test]
async fn nothing_of_an_erased_session_is_left_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path()).unwrap();
    let mut talk = Talk::new(1);
    let turn = talk.turn_of(1, &["the key is xyzzyplugh"]);
    append(&log, talk.batch(turn)).await.unwrap();
    // Its row is written anew again and again, each time with another length.
    for number in 0..40 {
        let info = talk.info(|info| info.title = format!("xyzzyplugh {}", "x".repeat(number * 7 % 50)));
        append(&log, Batch { info: Some(info), ..talk.batch(Vec::new()) }).await.unwrap();
    }
    let mut other = Talk::new(2);
    let turn = other.turn_of(2, &["something else"]);
    append(&log, other.batch(turn)).await.unwrap();
    assert!(log.erase(talk.session).await.unwrap());
    drop(log);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(10).any(|window| window == b"xyzzyplugh"));
    }
}

/// As the version before the keyring left it.
#[tokio::test]
async fn devices_pushes_and_sessions_of_an_older_log_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.db");
    let mut talk = Talk::new(1);
    let turn = talk.turn_of(1, &["the ", "barnacle"]);
    {
        let steps = [
            include_str!("../src/sqlite/migrations/0001_first.sql"),
            include_str!("../src/sqlite/migrations/0002_devices.sql"),
            include_str!("../src/sqlite/migrations/0003_cut_erased_sums.sql"),
        ];
        let database = rusqlite::Connection::open(&file).unwrap();
        steps.iter().for_each(|step| database.execute_batch(step).unwrap());
        database
            .execute_batch(
                "PRAGMA application_id = 0x4C4F4E47; PRAGMA user_version = 3; \
                 INSERT INTO devices VALUES (x'0190c0de000070008000000000000002', zeroblob(32), \
                 '{\"id\":\"0190c0de-0000-7000-8000-000000000002\",\"label\":\"phone\",\"mode\":\"approve\",\
                 \"createdAt\":\"2026-11-01T00:00:00Z\"}'); \
                 INSERT INTO pushes VALUES ('https://push/?é', x'0190c0de000070008000000000000002', \
                 '{\"endpoint\":\"https://push/?é\",\"keys\":{\"p256dh\":\"p\",\"auth\":\"a\"}}'), \
                 ('https://b', NULL, '{\"endpoint\":\"https://b\",\"keys\":{\"p256dh\":\"p\",\"auth\":\"a\"}}'); \
                 INSERT INTO erased VALUES ('codex', 'native-1'), ('codex', 'native-2');",
            )
            .unwrap();
        let session = talk.session.0.as_bytes().as_slice();
        database.execute("INSERT INTO sessions (id) VALUES (?1)", [session]).unwrap();
        for frame in &turn {
            let event = frame.event().unwrap();
            let growth = i64::from(event.body.growth() == longshore_model::event::Growth::Delta);
            database
                .execute(
                    "INSERT INTO events (place, at, growth, findable, json) VALUES (1 << 40 | ?1, ?2, ?3, 0, ?4)",
                    rusqlite::params![frame.seq().0 as i64, event.at.micros(), growth, frame.json()],
                )
                .unwrap();
        }
    }
    fs::write(folder.path().join("log.made"), "").unwrap();
    let log: Stores = std::sync::Arc::new(open(folder.path()).unwrap()).into();
    let devices = log.keyring.devices().await.unwrap();
    assert_eq!((devices.len(), devices[0].token_hash), (1, [0; 32]));
    assert_eq!((devices[0].device.label.as_str(), devices[0].device.revoked_at), ("phone", None));
    let pushes = log.keyring.pushes().await.unwrap();
    let pushes: Vec<_> =
        pushes.iter().map(|push| (push.subscription.endpoint.as_str(), push.device)).collect();
    assert_eq!(pushes, [("https://b", None), ("https://push/?é", Some(devices[0].device.id))]);
    log.keyring.drop_push("https://push/?é".into()).await.unwrap();
    assert_eq!(log.keyring.pushes().await.unwrap().len(), 1);

    // What was written before can be followed, and goes on.
    let empty = MemoryLog::default();
    longshore_log::catalog::catch_up(&empty, &*log.journal).await.unwrap();
    assert_eq!(empty.applied(talk.session).await.unwrap(), talk.seq);
    assert!(empty.is_erased("native-2".into()).await.unwrap());
    let turn = talk.turn_of(2, &["more"]);
    append(&*log.journal, talk.batch(turn)).await.unwrap();
    longshore_log::catalog::catch_up(&empty, &*log.journal).await.unwrap();
    assert_eq!(empty.applied(talk.session).await.unwrap(), talk.seq);
}
