//! The table of all calls. HTTP, the socket, OpenAPI and the contract for other languages are made from it.

mod account;
mod agents;
mod history;
mod inbox;
mod projects;
mod prompts;
mod sessions;
mod transfer;

use std::sync::LazyLock;

use axum::http::Method;

pub(crate) use account::{me, revoke_device};

use super::call::Call;
use super::call::Verb::{Delete, Get, Patch, Post};
use super::events;
use crate::auth::Access::{self, Act, Admin, Decide, Read};

static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| {
    vec![
        Call::new("agents", Get, "/api/v1/agents", Read, agents::agents)
            .says("List all known agents, installed or not, with version, capabilities and models"),
        Call::new("models", Get, "/api/v1/agents/{agent}/models", Read, agents::models)
            .says("List the models of an agent"),
        Call::new("machines", Get, "/api/v1/machines", Read, agents::machines)
            .says("List the machines that run agents"),
        Call::new("folders", Get, "/api/v1/folders", Act, agents::folders)
            .says("List the folders in which a work tree could be"),
        Call::new("projects", Get, "/api/v1/projects", Read, projects::projects)
            .says("List the folders that people listed as projects"),
        Call::new("addProject", Post, "/api/v1/projects", Act, projects::add)
            .says("List a folder as a project"),
        Call::new("removeProject", Delete, "/api/v1/projects", Act, projects::remove)
            .says("List a folder as a project no longer; the folder stays"),
        Call::new("usage", Get, "/api/v1/usage", Read, agents::usage)
            .says("Sum the usage by day, agent and project"),
        Call::new("sessions", Get, "/api/v1/sessions", Read, sessions::sessions)
            .says("List sessions; the session that changed last comes first"),
        Call::creating("open", "/api/v1/sessions", Act, sessions::open).says("Open a session"),
        Call::new("session", Get, "/api/v1/sessions/{session}", Read, sessions::session)
            .says("Get a session"),
        Call::new("update", Patch, "/api/v1/sessions/{session}", Act, sessions::update)
            .says("Change title, archive, mode, model, effort or queue of a session")
            .with_body(),
        Call::new("close", Delete, "/api/v1/sessions/{session}", Act, sessions::close)
            .says("Close a session for good"),
        Call::new(
            "deleteHistory",
            Delete,
            "/api/v1/sessions/{session}/history",
            Act,
            sessions::delete_history,
        )
        .says("Delete a session and its whole history"),
        Call::creating("fork", "/api/v1/sessions/{session}/fork", Act, sessions::fork)
            .says("Copy a session; the copy continues on its own"),
        Call::new("revive", Post, "/api/v1/sessions/{session}/revive", Act, sessions::revive)
            .says("Start the agent of a session again"),
        Call::new("interrupt", Post, "/api/v1/sessions/{session}/interrupt", Act, sessions::interrupt)
            .says("Stop the running turn"),
        Call::new("resume", Post, "/api/v1/sessions/{session}/resume", Act, sessions::resume)
            .says("Resume an interrupted turn"),
        Call::new("resumeAll", Post, "/api/v1/resume", Act, sessions::resume_all)
            .says("Resume all sessions that a restart of the hub interrupted"),
        Call::new("release", Post, "/api/v1/sessions/{session}/release", Act, transfer::release)
            .says("End the agent's process, so that the session can continue in the agent's own terminal"),
        Call::new("handBack", Get, "/api/v1/sessions/{session}/hand-back", Read, transfer::hand_back)
            .says("Get the command that continues a session in the agent's own terminal, or null"),
        Call::new("importPast", Post, "/api/v1/import/past", Act, transfer::import_past)
            .says("Look for conversations in the agents' own records, and list them as sessions"),
        Call::new("import", Post, "/api/v1/import", Act, transfer::import)
            .says("Import events of an exported session"),
        Call::new("prompt", Post, "/api/v1/sessions/{session}/prompts", Act, prompts::prompt)
            .says("Send a prompt")
            .accepting(),
        Call::new("editPrompt", Patch, "/api/v1/sessions/{session}/prompts/{prompt}", Act, prompts::edit)
            .says("Rewrite a waiting prompt"),
        Call::new(
            "cancelPrompt",
            Delete,
            "/api/v1/sessions/{session}/prompts/{prompt}",
            Act,
            prompts::cancel,
        )
        .says("Cancel a waiting prompt"),
        Call::new("sendQueued", Post, "/api/v1/sessions/{session}/queue/send", Act, prompts::send_queued)
            .says("Send held prompts"),
        Call::new("discardQueue", Delete, "/api/v1/sessions/{session}/queue", Act, prompts::discard_queue)
            .says("Cancel all waiting prompts"),
        Call::new("events", Get, "/api/v1/sessions/{session}/events", Read, history::events)
            .says("Get events: a page as JSON, all as NDJSON, or live as server-sent events; Accept chooses")
            .streaming(events::stream),
        Call::new("timeline", Get, "/api/v1/sessions/{session}/timeline", Read, history::timeline)
            .says("Get items of the timeline; the newest page comes first"),
        Call::new("search", Get, "/api/v1/search", Read, history::search)
            .says("Search all sessions for words"),
        Call::new("approvals", Get, "/api/v1/approvals", Read, inbox::approvals)
            .says("List everything that waits for a person, oldest first"),
        Call::new("decide", Post, "/api/v1/approvals/{approval}", Decide, inbox::decide)
            .says("Decide an approval; the first decision wins"),
        Call::new("answer", Post, "/api/v1/questions/{question}", Act, inbox::answer)
            .says("Answer a question")
            .with_body(),
        Call::new("me", Get, "/api/v1/me", Read, account::who)
            .says("Get the caller, and what the caller may do"),
        Call::new("devices", Get, "/api/v1/devices", Read, account::devices)
            .says("List all devices, also revoked devices"),
        Call::new("revoke", Delete, "/api/v1/devices/{device}", Act, account::revoke)
            .says("Revoke a device, and end its connections"),
        Call::new("pair", Post, "/admin/pair/new", Act, account::pair)
            .says("Make a code with which one device pairs"),
        Call::new("pairMobile", Post, "/admin/pair/mobile", Act, account::pair_mobile)
            .says("Make a code with which one phone with mobile-agent pairs"),
        Call::new("rotateToken", Post, "/admin/token/rotate", Admin, account::rotate)
            .says("Make a new token for the owner"),
        Call::new("presence", Post, "/api/v1/presence", Read, account::presence)
            .says("Report what the caller's screen shows"),
        Call::new("pushKey", Get, "/api/v1/push/key", Read, account::push_key)
            .says("Get the key with which a browser subscribes to pushes"),
        Call::new("pushSubscribe", Post, "/api/v1/push/subscribe", Read, account::push_subscribe)
            .says("Subscribe the caller's browser to pushes"),
        Call::new("pushUnsubscribe", Delete, "/api/v1/push/subscribe", Read, account::push_unsubscribe)
            .says("End the caller's subscription to pushes"),
        Call::new("pushTest", Post, "/api/v1/push/test", Read, account::push_test)
            .says("Send a test push to the caller's own browsers"),
    ]
});

/// All calls.
pub fn calls() -> &'static [Call] {
    &CALLS
}

/// A number that a client may choose, with its default and its maximum.
fn bounded(chosen: Option<usize>, (usual, most): (usize, usize)) -> usize {
    chosen.unwrap_or(usual).clamp(1, most)
}

/// The call with this name.
pub(super) fn named(name: &str) -> Option<&'static Call> {
    calls().iter().find(|call| call.name == name)
}

/// The least access that a request needs, if it is a request for a call.
pub(crate) fn access_of(method: &Method, path: &str) -> Option<Access> {
    calls().iter().find(|call| call.path == path && call.verb.takes(method)).map(|call| call.access)
}
