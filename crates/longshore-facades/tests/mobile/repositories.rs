//! Projects, work trees and git.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn projects_are_the_listed_ones_and_the_folders_that_were_used() {
    let mut rig = Rig::new().await;
    rig.call("POST", "/api/v1/projects").json(&json!({ "path": "/home/dev/boat/" })).send().await.ok(200);
    let nowhere = rig.call("POST", "/api/v1/projects").json(&json!({ "path": "/nowhere" })).send().await;
    assert_eq!(nowhere.problem(), (422, "bad_cwd".to_owned()));
    for path in ["boat", ""] {
        let refused = rig.call("POST", "/api/v1/projects").json(&json!({ "path": path })).send().await;
        assert_eq!(refused.problem().0, 400, "{path}");
    }
    rig.open().await;
    let (mut phone, _) = rig.phone("full").await;
    let list = phone.ask(json!({ "type": "listProjects" }), "projectList").await;
    let tree = |path: &str| json!([{ "path": path, "branch": "main", "isMain": true, "status": "main" }]);
    assert_eq!(
        list["projects"],
        json!([
            { "id": "/home/dev/boat", "name": "boat", "path": "/home/dev/boat", "icon": "📁", "worktrees": tree("/home/dev/boat") },
            { "id": "/w", "name": "w", "path": "/w", "icon": "📁", "worktrees": tree("/w") },
        ])
    );
    phone.send(json!({ "type": "unregisterProject", "projectId": "/home/dev/boat" })).await;
    // The app also asks when it comes.
    while phone.until("projectList").await["projects"].as_array().unwrap().len() > 1 {}
    phone.ask(json!({ "type": "unregisterProject", "projectId": "/w" }), "error").await;
    assert_eq!(rig.get("/api/v1/projects").await.ok(200)["projects"], json!([]));
}

#[tokio::test]
async fn git_is_told_in_the_words_of_the_app() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (mut phone, _) = rig.phone("read_only").await;
    let status = phone.ask(json!({ "type": "getGitStatus", "agentId": session }), "gitStatus").await;
    assert_eq!(
        (&status["branch"], &status["ahead"], &status["behind"]),
        (&json!("main"), &json!(1), &json!(2))
    );
    let files = json!([
        { "file": "a.rs", "status": "M" }, { "file": "b.rs", "status": "U" },
        { "file": "c.rs", "status": "C" }, { "file": "d.rs", "status": "A" },
    ]);
    assert_eq!(status["files"], files);
    let of = json!({ "type": "getGitDiff", "agentId": session, "filePath": "a.rs" });
    let diff = phone.ask(of, "gitDiff").await;
    assert_eq!((&diff["filePath"], &diff["diff"]), (&json!("a.rs"), &json!("diff of Some(\"a.rs\")")));
    let tree = phone
        .ask(json!({ "type": "getWorktreeStatus", "worktreePath": "/w/.worktrees/b" }), "worktreeStatus")
        .await;
    assert_eq!((&tree["worktreePath"], &tree["files"]), (&json!("/w/.worktrees/b"), &files));
    let of = json!({ "type": "getWorktreeDiff", "worktreePath": "/w", "filePath": "a.rs" });
    assert_eq!(phone.ask(of, "worktreeDiff").await["filePath"], "a.rs");
    let log = phone.ask(json!({ "type": "getGitLog", "projectPath": "/w" }), "gitLog").await;
    let commit = json!({ "hash": "1f2e3d", "abbrevHash": "1f2e", "parents": ["0a"], "subject": "first of 100",
        "author": "Ada", "relativeTime": "2 days ago", "refs": ["main"] });
    assert_eq!((&log["projectPath"], &log["commits"]), (&json!("/w"), &json!([commit])));
    // Other folders show more of the machine than the sessions do.
    for path in ["/etc", "/w/../etc", "/w/x", "/x/.worktrees/b"] {
        let asked = json!({ "type": "getWorktreeStatus", "worktreePath": path });
        assert!(phone.ask(asked, "error").await["error"].as_str().unwrap().contains("read_only"), "{path}");
    }
}

#[tokio::test]
async fn a_work_tree_is_made_and_removed() {
    let mut rig = Rig::new().await;
    rig.open().await;
    let (mut phone, _) = rig.phone("full").await;
    let made = phone
        .ask(json!({ "type": "createWorktree", "projectId": "/w", "branchName": "boat" }), "worktreeCreated")
        .await;
    assert_eq!((&made["projectId"], made["worktrees"].as_array().unwrap().len()), (&json!("/w"), 2));
    assert_eq!(
        made["worktree"],
        json!({ "path": "/w/.worktrees/boat", "branch": "boat", "isMain": false, "status": "active" })
    );
    let gone = json!({ "type": "removeWorktree", "projectId": "/w", "worktreePath": "/w/.worktrees/boat" });
    let gone = phone.ask(gone, "worktreeRemoved").await;
    assert_eq!(
        (&gone["worktreePath"], gone["worktrees"].as_array().unwrap().len()),
        (&json!("/w/.worktrees/boat"), 1)
    );
    let bad = json!({ "type": "createWorktree", "projectId": "/w", "branchName": "-x" });
    assert!(phone.ask(bad, "error").await["error"].as_str().unwrap().contains("no name of a branch"));
}
