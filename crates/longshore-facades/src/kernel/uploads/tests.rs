//! The store of files: what it takes, what it keeps, what leaves.

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_micros(0).plus_millis(minutes * 60_000)
}

async fn sent(
    uploads: &Uploads,
    name: &str,
    media_type: &str,
    bytes: &'static [u8],
    now: Timestamp,
) -> UploadTicket {
    let ticket = uploads.announce(name, media_type, bytes.len() as u64, now).await.unwrap();
    uploads.store(&ticket.token, media_type, Bytes::from_static(bytes), now).await.unwrap();
    ticket
}

#[tokio::test]
async fn a_file_is_there_under_its_token_also_for_the_next_hub() {
    let folder = tempfile::tempdir().unwrap();
    let place = Some(folder.path().join("uploads"));
    let uploads = Uploads::open(place.clone(), Retention::default());
    let ticket = sent(&uploads, "../a/my photo.png", "image/png", PNG, at(0)).await;
    assert_eq!((ticket.name.as_str(), ticket.media_type.as_str()), ("my photo.png", "image/png"));
    assert!(ticket.path.ends_with(format!("{}/my_photo.png", ticket.token)), "{ticket:?}");
    assert_eq!(std::fs::read(&ticket.path).unwrap(), PNG);
    drop(uploads);

    let uploads = Uploads::open(place, Retention::default());
    let found = uploads.find(&ticket.token).unwrap();
    assert_eq!((found.path, found.content), (ticket.path.clone(), FileContent::Png));
    let path = ticket.path.to_str().unwrap().to_owned();
    for named in [
        ticket.token.clone(),
        format!("/u/{}", ticket.token),
        format!("http://h/u/{}?x", ticket.token),
        path.clone(),
    ] {
        let attachment = uploads.attachment(&named).unwrap();
        assert_eq!(
            (attachment.media_type.as_str(), attachment.name.as_deref()),
            ("image/png", Some("my photo.png"))
        );
        assert_eq!(attachment.source, AttachmentSource::Path(path.clone()));
    }
    for other in ["", "/etc/passwd", "/u/", "../uploads"] {
        assert_eq!(uploads.attachment(other), None, "{other}");
    }
    assert_eq!((uploads.stats().files, uploads.stats().bytes), (1, PNG.len() as u64));
}

#[tokio::test]
async fn what_did_not_come_as_a_whole_is_not_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let uploads = Uploads::open(Some(folder.path().to_owned()), Retention::default());
    let whole = sent(&uploads, "whole.png", "image/png", PNG, at(0)).await;
    let cut = sent(&uploads, "cut.png", "image/png", PNG, at(0)).await;
    let announced = uploads.announce("a.png", "image/png", 4, at(0)).await.unwrap();
    std::fs::remove_file(folder.path().join(format!("{}.json", cut.token))).unwrap();
    std::fs::write(folder.path().join("notes.json"), "{}").unwrap();
    drop(uploads);
    let uploads = Uploads::open(Some(folder.path().to_owned()), Retention::default());
    assert!(uploads.find(&whole.token).is_some() && uploads.find(&cut.token).is_none());
    assert!(!cut.path.exists(), "nobody would ever delete it");
    let late = uploads.store(&announced.token, "image/png", Bytes::from_static(b"1234"), at(0)).await;
    assert!(matches!(late, Err(UploadError::Unknown)), "it is announced again");
    assert!(folder.path().join("notes.json").exists(), "what is not ours stays");
}

#[tokio::test]
async fn what_comes_is_what_was_announced_and_comes_once() {
    let uploads = Uploads::open(None, Retention::default());
    let announced = uploads.announce("a", "image/png", 4, at(0)).await.unwrap();
    let store = |kind: &'static str, bytes: &'static [u8], now| {
        uploads.store(&announced.token, kind, Bytes::from_static(bytes), now)
    };
    assert!(matches!(store("text/html", b"1", at(0)).await, Err(UploadError::OtherType(_))));
    assert!(matches!(store("image/png", b"12345", at(0)).await, Err(UploadError::LargerThanAnnounced)));
    assert!(matches!(store("image/png", b"1", at(11)).await, Err(UploadError::Unknown)), "that is too late");
    assert!(uploads.find(&announced.token).is_none());
    store("image/PNG; charset=x", b"1234", at(0)).await.unwrap();
    assert!(matches!(store("image/png", b"1", at(0)).await, Err(UploadError::Here)));
    assert!(matches!(uploads.announce("a", "b/c", FILE_BYTES + 1, at(0)).await, Err(UploadError::TooLarge)));
    assert!(matches!(uploads.store("../x", "b/c", Bytes::new(), at(0)).await, Err(UploadError::Unknown)));
    let path = uploads.folder().to_owned();
    assert!(path.is_dir());
    drop(uploads);
    assert!(!path.exists(), "what is in memory leaves nothing behind");
}

#[tokio::test]
async fn old_files_leave_and_files_that_are_kept_for_ever_stay() {
    let day = 24 * 60;
    let uploads = Uploads::open(None, Retention::default());
    let old = sent(&uploads, "old.png", "image/png", PNG, at(0)).await;
    let new = sent(&uploads, "new.png", "image/png", PNG, at(3 * day)).await;
    assert_eq!(uploads.prune(at(900 * day), true).await, 0, "for ever");
    uploads.set_retention(Retention { days: 2, every_hours: 1 });
    assert_eq!(uploads.prune(at(4 * day), false).await, 1);
    assert!(uploads.find(&old.token).is_none() && !old.path.exists());
    assert!(uploads.find(&new.token).is_some() && new.path.exists());
    let stats = uploads.stats();
    assert_eq!((stats.files, stats.oldest, stats.newest), (1, Some(at(3 * day)), Some(at(3 * day))));
    assert!(stats.last_prune.is_some_and(|prune| prune.removed == 1 && !prune.by_hand));
    assert!(uploads.is_time(at(0)) && !uploads.is_time(at(59)) && uploads.is_time(at(60)));
}

#[test]
fn the_oldest_make_room_and_what_never_came_is_the_first() {
    let note = |bytes, minutes, content| UploadNote {
        name: "a".to_owned(),
        media_type: "a/b".to_owned(),
        bytes,
        at: at(minutes),
        content,
    };
    let mut notes = HashMap::from([
        ("stale".to_owned(), note(1, 0, None)),
        ("old".to_owned(), note(TOTAL_BYTES / 2, 1, Some(FileContent::Other))),
        ("new".to_owned(), note(TOTAL_BYTES / 2, 2, Some(FileContent::Other))),
    ]);
    assert_eq!(make_room(&mut notes, 0, at(60)), ["stale"]);
    assert_eq!(make_room(&mut notes, FILE_BYTES, at(60)), ["old"]);
    let mut many: HashMap<_, _> =
        (0..FILES).map(|n| (n.to_string(), note(1, n as i64, Some(FileContent::Png)))).collect();
    assert_eq!(make_room(&mut many, 1, at(0)), ["0"]);
}

#[test]
fn the_first_bytes_say_what_a_file_is() {
    for (bytes, content) in [
        (PNG, FileContent::Png),
        (b"\xff\xd8\xff\xe0".as_slice(), FileContent::Jpeg),
        (b"GIF89a", FileContent::Gif),
        (b"RIFF....WEBPVP8 ", FileContent::Webp),
        (b"\0\0\0\x20ftypavif", FileContent::Avif),
        (b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>", FileContent::Other),
        (b"<!doctype html><script>", FileContent::Other),
        (b"BM<script>", FileContent::Other),
        (b"", FileContent::Other),
    ] {
        assert_eq!(FileContent::of(bytes), content, "{bytes:?}");
    }
    assert!(!FileContent::Other.is_picture());
}

#[test]
fn names_are_harmless() {
    for (given, shown, file) in [
        ("a b.png", "a b.png", "a_b.png"),
        ("C:\\x\\y.txt", "y.txt", "y.txt"),
        ("../../.ssh/id", "id", "id"),
        ("..", "file", "file"),
        ("-rf $(x)`y`\n.sh", "-rf $(x)`y` .sh", "rf___x__y__.sh"),
        ("Bild ü 图.jpg", "Bild ü 图.jpg", "Bild_ü_图.jpg"),
        ("", "file", "file"),
    ] {
        assert_eq!(content::shown_name(given), shown);
        assert_eq!(content::file_name(shown), file);
    }
    let long = "ü".repeat(500);
    assert!(content::shown_name(&long).len() <= 120 && content::file_name(&long).len() <= 120);
    assert_eq!(content::media_type("Text/HTML; charset=utf-8"), "text/html");
    assert_eq!(content::media_type("a/b\r\nx: y"), "application/octet-stream");
}
