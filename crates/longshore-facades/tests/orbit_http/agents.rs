//! Agents that people describe in the web app.

use serde_json::json;

use super::error_of;
use crate::rig::Rig;

#[tokio::test]
async fn agents_are_imported_listed_exported_and_deleted() {
    let rig = Rig::new().await;
    assert_eq!(rig.get("/api/agents").await.ok(200), json!([]));
    let given =
        json!({ "id": "reviewer_1", "name": "Reviewer", "instructions": "be kind\n", "tools": ["read"] });
    let made = rig.post("/api/agents/import", given.clone()).await.ok(200);
    assert_eq!((&made["id"], &made["tools"]), (&given["id"], &given["tools"]));
    assert!(made["createdAt"].is_string() && made["updatedAt"].is_string());
    let unnamed = rig.post("/api/agents/import", json!({ "name": "Other" })).await.ok(200);
    assert_eq!(unnamed["id"].as_str().unwrap().len(), 16);
    let renamed = json!({ "id": "reviewer_1", "name": "Critic", "createdAt": made["createdAt"] });
    rig.post("/api/agents/import", renamed).await.ok(200);
    let listed = rig.get("/api/agents").await.ok(200);
    let names =
        |id: &str| listed.as_array().unwrap().iter().find(|agent| agent["id"] == id).unwrap()["name"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(
        (names("reviewer_1"), names(unnamed["id"].as_str().unwrap())),
        (json!("Critic"), json!("Other"))
    );

    let exported = rig.get("/api/agents/reviewer_1/export").await;
    let named = "attachment; filename*=UTF-8''reviewer_1.agent.json";
    assert_eq!(
        (exported.ok(200)["name"].clone(), exported.header("content-disposition")),
        (json!("Critic"), Some(named))
    );

    let delete = |id: &str| rig.call("DELETE", format!("/api/agents/{id}")).send();
    assert_eq!(delete("reviewer_1").await.ok(200), json!({ "success": true }));
    assert_eq!(delete("reviewer_1").await.status, 404);
    assert_eq!(rig.get("/api/agents/reviewer_1/export").await.text(), "no agent has this id");
    assert_eq!(rig.get("/api/agents").await.ok(200).as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_no_agent_is_refused_and_what_the_hub_does_not_do_it_says() {
    let rig = Rig::new().await;
    assert_eq!(
        error_of(&rig.post("/api/agents/import", json!({ "id": "a" })).await, 400),
        "name is required"
    );
    for id in ["../x", "a/b", "ü", &"x".repeat(65)] {
        let odd = rig.post("/api/agents/import", json!({ "id": id, "name": "a" })).await;
        assert!(error_of(&odd, 400).contains("id must be"), "{id}");
    }
    let large = json!({ "name": "a", "instructions": "x".repeat(70 << 10) });
    error_of(&rig.post("/api/agents/import", large).await, 413);
    assert_eq!(rig.get("/api/agents").await.ok(200), json!([]));

    rig.post("/api/agents/import", json!({ "id": "a", "name": "a" })).await.ok(200);
    let synced = rig.post("/api/agents/a/sync-vscode?force=true", json!({})).await;
    assert_eq!(
        (synced.json()["success"].clone(), synced.json()["agentId"].clone()),
        (json!(false), json!("a"))
    );
    assert!(error_of(&synced, 501).contains("export the agent"));
    error_of(&rig.post("/api/agents/sync-all-vscode", json!({})).await, 501);
    assert_eq!(rig.post("/api/agents/none/sync-vscode", json!({})).await.status, 404);
}
