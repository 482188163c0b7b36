//! `read_file`, `fetch_file`, `list_dir`, `search`, `view_image`.

use std::os::unix::fs::symlink;

use longshore_model::command::AttachmentSource;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn files_are_read_by_lines_or_whole() {
    let bench = Bench::new().await;
    let text: String = (1..=5000).map(|line| format!("line {line}\n")).collect();
    bench.write("long.txt", &text);
    let first = bench.run("read_file", json!({ "path": "long.txt" })).await.content;
    assert!(first.starts_with("     1\tline 1\n     2\tline 2\n"), "{}", &first[..40]);
    assert!(first.ends_with("  2000\tline 2000\n[lines 1 to 2000 of 5000; go on with \"line\": 2001]\n"));
    let some = bench.run("read_file", json!({ "path": "long.txt", "line": 4999, "limit": 9 })).await.content;
    assert_eq!(some, "  4999\tline 4999\n  5000\tline 5000\n");
    assert_eq!(bench.run("fetch_file", json!({ "path": "long.txt" })).await.content, text);

    bench.write("wide.txt", &"é".repeat(3000));
    let wide = bench.run("read_file", json!({ "path": "wide.txt" })).await.content;
    assert!(wide.ends_with("é [... 4000 bytes left out]\n"), "{wide}");
    bench.write("empty.txt", "");
    assert_eq!(bench.run("read_file", json!({ "path": "empty.txt" })).await.content, "[the file is empty]");
    std::fs::write(bench.root().join("binary"), b"\xff\xfe\x00").unwrap();
    for (path, told) in
        [("nowhere", "nowhere does not exist"), ("binary", "binary is no text"), (".", ". is not a file")]
    {
        for tool in ["read_file", "fetch_file"] {
            assert_eq!(bench.run(tool, json!({ "path": path })).await.content, told);
        }
    }
    let beyond = bench.run("read_file", json!({ "path": "long.txt", "line": 9000 })).await;
    assert!(!beyond.success && beyond.content.contains("has 5000 lines"), "{}", beyond.content);
}

#[tokio::test]
async fn folders_are_listed() {
    let bench = Bench::new().await;
    bench.write("src/deep/a.rs", "");
    bench.write("b.txt", "");
    symlink("b.txt", bench.root().join("c")).unwrap();
    assert_eq!(bench.run("list_dir", json!({})).await.content, "b.txt\nc -> b.txt\nsrc/");
    let deep = bench.run("list_dir", json!({ "path": ".", "depth": 3 })).await.content;
    assert_eq!(deep, "b.txt\nc -> b.txt\nsrc/\nsrc/deep/\nsrc/deep/a.rs");
    assert_eq!(
        bench.run("list_dir", json!({ "path": "b.txt" })).await.content,
        "b.txt is no folder; read it instead"
    );
    assert_eq!(bench.run("list_dir", json!({ "path": "x" })).await.content, "x does not exist");
}

/// Whoever made the repository may have made them endless.
#[tokio::test]
async fn rules_of_what_to_ignore_that_have_no_end_are_not_read() {
    let bench = Bench::new().await;
    bench.write("a.txt", "needle\n");
    bench.write("deep/b.txt", "needle\n");
    let search = async || bench.run("search", json!({ "pattern": "needle" })).await;
    let rules = bench.root().join("deep/.ignore");
    std::os::unix::fs::symlink("/dev/zero", &rules).unwrap();
    assert_eq!(search().await.content, "a.txt:1:needle\n", "the others are searched");
    std::fs::remove_file(&rules).unwrap();
    for name in [".ignore", ".gitignore", ".git/info/exclude"] {
        let rules = bench.root().join(name);
        std::fs::create_dir_all(rules.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &rules).unwrap();
        let refused = search().await;
        assert!(
            !refused.success && refused.content.contains("nothing is searched there"),
            "{}",
            refused.content
        );
        std::fs::remove_file(&rules).unwrap();
    }
    assert_eq!(search().await.content, "a.txt:1:needle\ndeep/b.txt:1:needle\n");
}

/// A `.git` that is a file leads to rules, too.
#[tokio::test]
async fn what_a_git_file_leads_to_is_not_read_either_if_it_has_no_end() {
    let bench = Bench::new().await;
    let at = |name: &str| bench.root().join(name);
    bench.write("a.txt", "needle\n");
    let search = async || bench.run("search", json!({ "pattern": "needle" })).await;
    let refused = async |what: &str| {
        let refused = search().await;
        let said = refused.content.contains("nothing is searched there");
        assert!(!refused.success && said, "{what}: {}", refused.content);
    };
    std::fs::File::create(at(".git")).unwrap().set_len(3 << 30).unwrap();
    refused("a long one").await;
    std::fs::remove_file(at(".git")).unwrap();
    // As it stands, and as seen from the folder.
    for git in [at("g").display().to_string(), "./g".to_owned()] {
        bench.write(".git", &format!("gitdir: {git}\n"));
        std::fs::create_dir_all(at("g")).unwrap();
        symlink("/dev/zero", at("g/commondir")).unwrap();
        refused("an endless commondir").await;
        std::fs::remove_file(at("g/commondir")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("g/commondir")).status().unwrap();
        assert!(made.success());
        refused("a pipe").await;
        std::fs::remove_file(at("g/commondir")).unwrap();
        bench.write("g/commondir", "../c\n");
        std::fs::create_dir_all(at("c/info")).unwrap();
        symlink("/dev/zero", at("c/info/exclude")).unwrap();
        refused("endless rules").await;
        std::fs::remove_file(at("c/info/exclude")).unwrap();
        assert_eq!(search().await.content, "a.txt:1:needle\n");
        std::fs::remove_dir_all(at("g")).unwrap();
    }
}

#[tokio::test]
async fn searching_respects_gitignore_and_says_where() {
    let bench = Bench::new().await;
    bench.write(".gitignore", "target\n");
    bench.write("src/a.rs", "fn one() {}\nfn Two() {}\n");
    bench.write("src/b.md", "fn one() {}\n");
    bench.write("target/c.rs", "fn one() {}\n");
    bench.write(".hidden", "fn one\n");
    bench.write(".git/config", "fn one\n");
    let search = async |arguments| bench.run("search", arguments).await;
    let all = search(json!({ "pattern": r"fn one\b" })).await.content;
    assert_eq!(all, ".hidden:1:fn one\nsrc/a.rs:1:fn one() {}\nsrc/b.md:1:fn one() {}\n");
    let rust =
        search(json!({ "pattern": "fn (one|two)", "glob": "*.rs", "ignore_case": true, "path": "src" }))
            .await;
    assert_eq!(rust.content, "src/a.rs:1:fn one() {}\nsrc/a.rs:2:fn Two() {}\n");
    let around = search(json!({ "pattern": "Two()", "literal": true, "context": 1 })).await;
    assert_eq!(around.content, "src/a.rs-1-fn one() {}\nsrc/a.rs:2:fn Two() {}\n");
    let names = search(json!({ "pattern": "fn", "files_only": true })).await.content;
    assert_eq!(names, ".hidden\nsrc/a.rs\nsrc/b.md\n");
    let few = search(json!({ "pattern": "fn", "limit": 2 })).await.content;
    assert!(few.ends_with("[stopped after 2 matching lines; there may be more]\n"), "{few}");
    assert_eq!(search(json!({ "pattern": "nothing like it" })).await.content, "[nothing was found]");
    let wrong = search(json!({ "pattern": "(" })).await;
    assert!(!wrong.success && wrong.content.contains("is no regular expression"), "{}", wrong.content);
    let one = search(json!({ "pattern": "one", "path": "src/a.rs" })).await.content;
    assert_eq!(one, "src/a.rs:1:fn one() {}\n");
}

#[tokio::test]
async fn images_are_shown_to_the_model() {
    let bench = Bench::new().await;
    std::fs::write(bench.root().join("a.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    bench.write("b.png", "no image");
    let shown = bench.run("view_image", json!({ "path": "a.png" })).await;
    assert_eq!(shown.content, "[a.png: image/png, 12 bytes]");
    let [image] = shown.images.as_slice() else { panic!("{:?}", shown.images) };
    assert_eq!(image.source, AttachmentSource::Data("iVBORw0KGgpyZXN0".to_owned()));
    let wrong = bench.run("view_image", json!({ "path": "b.png" })).await;
    assert!(!wrong.success && wrong.content.contains("is no image"), "{}", wrong.content);
}
