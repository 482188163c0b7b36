//! `apply_patch` and `write_file`.

use std::os::unix::fs::{PermissionsExt, symlink};

use longshore_model::item::{FileChangeKind, ToolStatus};
use serde_json::json;

use super::{Bench, call};

fn patch(body: &str) -> serde_json::Value {
    json!({ "input": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted_in_one_patch() {
    let bench = Bench::new().await;
    bench.write("keep.txt", "a\nb\nc\n");
    bench.write("run.sh", "#!/bin/sh\necho old\n");
    bench.write("gone.txt", "bye\n");
    let script = bench.root().join("run.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let arguments = patch(
        "*** Add File: new/deep.txt\n+one\n+two\n*** Update File: keep.txt\n@@\n a\n-b\n+B\n c\n\
         *** Update File: run.sh\n*** Move to: bin/run.sh\n@@\n-echo old\n+echo new\n*** Delete File: gone.txt",
    );
    let preview = bench.tools.preview(&call("apply_patch", arguments.clone())).unwrap();
    assert_eq!(preview.status, ToolStatus::Running);
    assert!(bench.root().join("gone.txt").exists());

    let done = bench.run("apply_patch", arguments).await;
    assert_eq!(done.content, "Done:\nA new/deep.txt\nM keep.txt\nR run.sh -> bin/run.sh\nD gone.txt");
    assert_eq!(bench.read("new/deep.txt"), "one\ntwo\n");
    assert_eq!(bench.read("keep.txt"), "a\nB\nc\n");
    assert_eq!(bench.read("bin/run.sh"), "#!/bin/sh\necho new\n");
    let mode = std::fs::metadata(bench.root().join("bin/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!script.exists() && !bench.root().join("gone.txt").exists());

    let diff = done.diff.unwrap();
    assert_eq!((diff.status, &diff.changes), (ToolStatus::Completed, &preview.changes));
    let kinds: Vec<_> =
        diff.changes.iter().map(|change| (change.kind, change.diff.lines().count())).collect();
    assert_eq!(
        kinds,
        [
            (FileChangeKind::Add, 3),
            (FileChangeKind::Update, 5),
            (FileChangeKind::Update, 4),
            (FileChangeKind::Delete, 2)
        ]
    );
    assert_eq!(diff.changes[2].moved_to.as_deref(), Some("bin/run.sh"));
    assert!(diff.changes[1].diff.contains("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"), "{}", diff.changes[1].diff);
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing_and_says_all_that_is_wrong() {
    let bench = Bench::new().await;
    bench.write("a.txt", "one\ntwo\nthree\n");
    let arguments = patch(
        "*** Add File: new.txt\n+x\n*** Update File: a.txt\n@@\n-one\n+1\n@@\n-for\n+4\n*** Delete File: nowhere.txt\n\
         *** Add File: a.txt\n+x",
    );
    assert_eq!(bench.tools.preview(&call("apply_patch", arguments.clone())), None);
    let failed = bench.run("apply_patch", arguments).await;
    for part in [
        "Nothing was changed.",
        "a.txt: hunk 2 (line 8 of the patch): these lines were not found after line 1 of the file:\n    for\n",
        "nowhere.txt does not exist",
        "a.txt exists already",
    ] {
        assert!(failed.content.contains(part), "{part}: {}", failed.content);
    }
    assert!(!failed.success && failed.diff.is_none());
    assert_eq!(bench.read("a.txt"), "one\ntwo\nthree\n");
    assert!(!bench.root().join("new.txt").exists());
}

#[tokio::test]
async fn a_change_that_cannot_be_made_takes_back_those_before_it() {
    let bench = Bench::new().await;
    bench.write("a.txt", "old\n");
    // A file stands where a folder is needed, which only the second write finds out.
    let arguments =
        patch("*** Update File: a.txt\n@@\n-old\n+new\n*** Add File: d/x\n+1\n*** Add File: d/x/y\n+2");
    let failed = bench.run("apply_patch", arguments).await;
    assert!(!failed.success && failed.content.starts_with("Nothing was changed."), "{}", failed.content);
    assert_eq!(bench.read("a.txt"), "old\n");
    assert!(!bench.root().join("d").exists());
}

#[tokio::test]
async fn later_parts_of_a_patch_see_earlier_ones() {
    let bench = Bench::new().await;
    bench.write("a", "1\n");
    let done = bench
        .run("apply_patch", patch("*** Update File: a\n-1\n+2\n*** Update File: ./a\n-2\n+3\n*** Delete File: a\n*** Add File: a\n+4"))
        .await;
    assert!(done.success, "{}", done.content);
    assert_eq!(bench.read("a"), "4\n");
    assert_eq!(done.diff.unwrap().changes.len(), 1);
}

#[tokio::test]
async fn whole_files_are_written_through_links_to_where_they_lead() {
    let bench = Bench::new().await;
    bench.write("real.txt", "old\n");
    symlink("real.txt", bench.root().join("link.txt")).unwrap();
    let done = bench.run("write_file", json!({ "path": "link.txt", "content": "new\n" })).await;
    assert!(done.success, "{}", done.content);
    assert_eq!(bench.read("real.txt"), "new\n");
    assert!(std::fs::symlink_metadata(bench.root().join("link.txt")).unwrap().is_symlink());
    let done = bench.run("write_file", json!({ "path": "deep/er/new.txt", "content": "x" })).await;
    assert_eq!(done.content, "Done:\nA deep/er/new.txt");
    let failed = bench.run("write_file", json!({ "path": "deep", "content": "x" })).await;
    assert!(failed.content.contains("deep is not a file"), "{}", failed.content);
    let failed = bench.run("write_file", json!({ "path": "", "content": "x" })).await;
    assert!(!failed.success, "{}", failed.content);
}

#[tokio::test]
async fn a_mark_at_the_beginning_and_latin_letters_are_kept() {
    let bench = Bench::new().await;
    let bytes = |path: &str| std::fs::read(bench.root().join(path)).unwrap();
    std::fs::write(bench.root().join("marked"), b"\xef\xbb\xbffirst\nsecond\n").unwrap();
    std::fs::write(bench.root().join("latin"), b"caf\xe9\nsecond\n").unwrap();
    let shown = bench.run("read_file", json!({ "path": "marked" })).await;
    assert!(shown.content.starts_with("     1\tfirst\n"), "{:?}", shown.content);
    let shown = bench.run("fetch_file", json!({ "path": "latin" })).await;
    assert_eq!(shown.content, "caf\u{e9}\nsecond\n");
    let found = bench.run("search", json!({ "pattern": "caf\u{e9}|first" })).await;
    assert_eq!(found.content, "latin:1:caf\u{e9}\nmarked:1:first\n");
    let both = "*** Update File: marked\n@@\n-first\n+1st\n*** Update File: latin\n@@\n caf\u{e9}\n-second\n+zw\u{f6}lf";
    let done = bench.run("apply_patch", patch(both)).await;
    assert!(done.success, "{}", done.content);
    assert_eq!(bytes("marked"), b"\xef\xbb\xbf1st\nsecond\n");
    assert_eq!(bytes("latin"), b"caf\xe9\nzw\xf6lf\n");
    let strange =
        bench.run("apply_patch", patch("*** Update File: latin\n@@\n-caf\u{e9}\n+5 \u{20ac}")).await;
    assert!(!strange.success && strange.content.contains("written in Latin-1"), "{}", strange.content);
    assert_eq!(bytes("latin"), b"caf\xe9\nzw\xf6lf\n");
    let moved = bench
        .run("apply_patch", patch("*** Update File: latin\n*** Move to: moved\n@@\n-caf\u{e9}\n+th\u{e9}"))
        .await;
    assert!(moved.success, "{}", moved.content);
    assert_eq!(bytes("moved"), b"th\xe9\nzw\xf6lf\n");
    std::fs::write(bench.root().join("image"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    let refused = bench.run("read_file", json!({ "path": "image" })).await;
    assert!(!refused.success && refused.content.contains("is no text"), "{}", refused.content);
}
