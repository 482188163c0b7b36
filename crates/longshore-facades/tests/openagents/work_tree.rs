//! Files and commands in the work tree of a session.

use longshore_model::capability::Mode;
use longshore_model::command::Command;
use serde_json::json;

use super::OpenAgentsApp;
use crate::rig::Rig;

#[tokio::test]
async fn files_are_read_and_written_where_the_anchor_lets_them() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let of = |path: &str| json!({ "session_id": session, "path": path });
    assert_eq!(app.call("fs/read_text_file", of("boat.txt")).await, json!({ "content": "oars\n" }));
    let by_address = json!({ "session_id": session, "uri": "file://boat.txt" });
    assert_eq!(app.call("fs/read_text_file", by_address).await, json!({ "content": "oars\n" }));
    assert_eq!(
        app.refused("fs/read_text_file", of("none.txt")).await,
        (-32002, "none.txt does not exist".to_owned())
    );
    let (code, words) = app.refused("fs/read_text_file", of("large.txt")).await;
    assert!(code == -32603 && words.contains("`limit`"), "more than a frame: {words}");
    let write = |path: &str| json!({ "session_id": session, "uri": path, "text": "x" });
    assert_eq!(app.call("fs/write_text_file", write("boat.txt")).await, json!({}));
    let (code, words) = app.refused("fs/write_text_file", write("../out")).await;
    assert!(code == -32603 && words.contains("outside of the work tree"), "{words}");
}

#[tokio::test]
async fn a_command_runs_only_where_nobody_is_asked_anyway() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let run = json!({ "session_id": session, "command": ["ls", "-la"], "env": { "A": "1" }, "output_byte_limit": 100 });
    let (code, words) = app.refused("terminal/run", run.clone()).await;
    assert!(code == -32602 && words.contains("mode ask") && words.contains("mode full"), "{words}");
    rig.hub.command(session, Command::SetMode(Mode::Full), "owner".to_owned()).await.unwrap();
    let ran = app.call("terminal/run", run).await;
    assert_eq!(ran, json!({ "output": "ls -la", "truncated": false, "exit_status": 7 }));
    assert_eq!(app.refused("terminal/run", json!({ "session_id": session, "command": [] })).await.0, -32602);
}
