//! The description of `/api/v1` for programs: OpenAPI 3.1, made from the types themselves.

use longshore_model::approval::{ApprovalDecision, QuestionAnswer};
use longshore_model::capability::{AgentInfo, ModelInfo};
use longshore_model::device::{Device, DeviceMode};
use longshore_model::event::EventJson;
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::timeline::Item;
use longshore_model::usage::DayUsage;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::params::{
    AnswerParams, DecideParams, EventsParams, FoldersParams, ForkParams, ListAgentsParams, ListParams,
    OpenParams, PairParams, PresenceParams, PromptParams, PromptReceipt, PushSubscribeParams,
    PushUnsubscribeParams, ReviveParams, RewriteParams, SearchParams, SendQueuedParams, TimelineParams,
    UpdateParams, UsageParams,
};
use crate::auth::ProveParams;
use crate::pair::{Consume, OfCode, Pasted};

/// What needs no token.
const OPEN: [&str; 5] = ["/health", "/prove", "/pair/consume", "/pair/token", "/ca.pem"];

/// One call: how it is made and what comes back.
struct Endpoint {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: Option<Value>,
    body: Option<Value>,
    status: &'static str,
    answer: Value,
}

/// The whole description.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let mut paths = Map::new();
    for endpoint in endpoints(&mut schemas) {
        let (method, path) = (endpoint.method, endpoint.path);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[method] = describe(endpoint);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Longshore",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Any coding agent in, any client out, nothing lost.",
            "license": { "name": "Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas.take_definitions(true),
        },
    })
}

fn describe(endpoint: Endpoint) -> Value {
    let Endpoint { path, summary, query, body, status, answer, .. } = endpoint;
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        .collect();
    if let Some(Value::Object(properties)) = query.as_ref().map(|schema| schema["properties"].clone()) {
        parameters.extend(properties.into_iter().map(|(name, schema)| {
            let required = query.as_ref().is_some_and(|whole| {
                whole["required"].as_array().is_some_and(|names| names.contains(&json!(name)))
            });
            json!({ "name": name, "in": "query", "required": required, "schema": schema })
        }));
    }
    let problem = json!({ "description": "what went wrong; docs/errors.md lists the codes",
        "content": { "application/problem+json": { "schema": { "type": "object" } } } });
    let mut operation = json!({
        "summary": summary,
        "parameters": parameters,
        "responses": {
            status: { "description": summary, "content": { "application/json": { "schema": answer } } },
            "default": problem,
        },
    });
    if let Some(body) = body {
        operation["requestBody"] = json!({ "content": { "application/json": { "schema": body } } });
    }
    if OPEN.contains(&path) {
        operation["security"] = json!([]);
    }
    operation
}

fn endpoints(schemas: &mut SchemaGenerator) -> Vec<Endpoint> {
    let mut list = Vec::new();
    let mut add = |method, path, summary, query, body, status, answer| {
        list.push(Endpoint { method, path, summary, query, body, status, answer });
    };
    let session = of::<SessionInfo>(schemas);
    let next = json!({ "type": ["string", "null"] });
    let seq = json!({ "type": ["integer", "null"] });
    let any = json!({ "type": "object" });

    add(
        "get",
        "/health",
        "Whether the hub is there",
        None,
        None,
        "200",
        object(&[("status", json!({ "const": "ok" }))]),
    );
    let proven = object(&[("proof", json!({ "type": "string" }))]);
    let asked = Some(inline::<ProveParams>(schemas));
    add("get", "/prove", "Show that the hub knows a token, before that is sent", asked, None, "200", proven);
    add("get", "/metrics", "Figures for Prometheus", None, None, "200", json!({ "type": "string" }));
    add(
        "get",
        "/api/v1/agents",
        "Every known agent: found or not, version, capabilities, models",
        Some(inline::<ListAgentsParams>(schemas)),
        None,
        "200",
        object(&[("agents", array(of::<AgentInfo>(schemas)))]),
    );
    let models = object(&[("models", array(of::<ModelInfo>(schemas)))]);
    add("get", "/api/v1/agents/{agent}/models", "The models of an agent", None, None, "200", models);
    add(
        "get",
        "/api/v1/sessions",
        "Sessions, the one that changed last first",
        Some(inline::<ListParams>(schemas)),
        None,
        "200",
        object(&[("sessions", array(session.clone())), ("next", next.clone())]),
    );
    add(
        "post",
        "/api/v1/sessions",
        "Open a session",
        None,
        Some(of::<OpenParams>(schemas)),
        "201",
        session.clone(),
    );
    add("get", "/api/v1/sessions/{id}", "One session", None, None, "200", session.clone());
    add(
        "patch",
        "/api/v1/sessions/{id}",
        "Rename, archive, change mode, model or queue",
        None,
        Some(of::<UpdateParams>(schemas)),
        "200",
        session.clone(),
    );
    add("delete", "/api/v1/sessions/{id}", "Close it for good", None, None, "200", session.clone());
    add(
        "post",
        "/api/v1/sessions/{id}/prompts",
        "Say something",
        None,
        Some(of::<PromptParams>(schemas)),
        "202",
        of::<PromptReceipt>(schemas),
    );
    add(
        "patch",
        "/api/v1/sessions/{id}/prompts/{prompt}",
        "Rewrite a waiting prompt",
        None,
        Some(of::<RewriteParams>(schemas)),
        "200",
        session.clone(),
    );
    add(
        "delete",
        "/api/v1/sessions/{id}/prompts/{prompt}",
        "Take a waiting prompt back",
        None,
        None,
        "200",
        session.clone(),
    );
    add("post", "/api/v1/sessions/{id}/interrupt", "Stop the turn", None, None, "200", session.clone());
    let path = "/api/v1/sessions/{id}/queue";
    add("delete", path, "Take all waiting prompts back", None, None, "200", session.clone());
    let path = "/api/v1/sessions/{id}/queue/send";
    let body = Some(of::<SendQueuedParams>(schemas));
    add("post", path, "Send held prompts on", None, body, "200", session.clone());
    let path = "/api/v1/sessions/{id}/resume";
    add("post", path, "Have the agent go on where it was interrupted", None, None, "200", session.clone());
    let text = json!({ "type": "string" });
    let resumed = object(&[("resumed", array(text.clone())), ("resuming", array(text.clone()))]);
    add("post", "/api/v1/resume", "Resume all that a restart of the hub cut", None, None, "200", resumed);
    let back = object(&[("cwd", text.clone()), ("command", text.clone()), ("line", text.clone())]);
    let path = "/api/v1/sessions/{id}/release";
    let answer = object(&[("handBack", back)]);
    add("post", path, "End the agent's process, for its own terminal to go on", None, None, "200", answer);
    let path = "/api/v1/sessions/{id}/history";
    let answer = object(&[("deleted", text)]);
    add("delete", path, "Delete it, and all that was said in it", None, None, "200", answer);
    add(
        "post",
        "/api/v1/sessions/{id}/fork",
        "A copy that goes its own way",
        None,
        Some(of::<ForkParams>(schemas)),
        "201",
        session.clone(),
    );
    add(
        "post",
        "/api/v1/sessions/{id}/revive",
        "Wake the agent",
        None,
        Some(of::<ReviveParams>(schemas)),
        "200",
        session.clone(),
    );
    add(
        "get",
        "/api/v1/sessions/{id}/events",
        "Events: a page of JSON, all as NDJSON, or live as server-sent events, by Accept",
        Some(inline::<EventsParams>(schemas)),
        None,
        "200",
        object(&[
            ("events", array(of::<EventJson<'static>>(schemas))),
            ("next", seq.clone()),
            ("head", seq.clone()),
        ]),
    );
    add(
        "get",
        "/api/v1/sessions/{id}/timeline",
        "Folded items, the newest page first",
        Some(inline::<TimelineParams>(schemas)),
        None,
        "200",
        object(&[("items", array(of::<Item>(schemas))), ("next", seq.clone()), ("head", seq)]),
    );
    add(
        "get",
        "/api/v1/approvals",
        "Everything that waits for a person, oldest first",
        None,
        None,
        "200",
        object(&[
            ("approvals", array(of::<OpenApproval>(schemas))),
            ("questions", array(of::<OpenQuestion>(schemas))),
            ("interrupted", array(session.clone())),
            ("held", array(session)),
        ]),
    );
    add(
        "post",
        "/api/v1/approvals/{id}",
        "Decide; the first answer wins",
        None,
        Some(of::<DecideParams>(schemas)),
        "200",
        object(&[("decision", of::<ApprovalDecision>(schemas))]),
    );
    add(
        "post",
        "/api/v1/questions/{id}",
        "Answer",
        None,
        Some(of::<AnswerParams>(schemas)),
        "200",
        object(&[("answer", of::<QuestionAnswer>(schemas))]),
    );
    add(
        "get",
        "/api/v1/search",
        "Where words occur",
        Some(inline::<SearchParams>(schemas)),
        None,
        "200",
        object(&[("hits", array(any.clone()))]),
    );
    let device = of::<Device>(schemas);
    let me = object(&[
        ("role", json!({ "enum": ["owner", "device"] })),
        ("mode", of::<DeviceMode>(schemas)),
        ("device", device.clone()),
    ]);
    add("get", "/api/v1/me", "Who the caller is, and what it may do", None, None, "200", me.clone());
    let devices = object(&[("devices", array(device.clone()))]);
    add("get", "/api/v1/devices", "Every device, revoked ones too", None, None, "200", devices);
    let one = object(&[("device", device.clone())]);
    add("delete", "/api/v1/devices/{id}", "Revoke it, and end its connections", None, None, "200", one);
    let shown = Some(of::<PresenceParams>(schemas));
    add("post", "/api/v1/presence", "What the caller's screen shows", None, shown, "200", any.clone());
    let text = json!({ "type": "string" });
    let key = object(&[("publicKey", text.clone())]);
    add("get", "/api/v1/push/key", "What a browser subscribes with", None, None, "200", key);
    let push = "/api/v1/push/subscribe";
    let body = Some(of::<PushSubscribeParams>(schemas));
    add("post", push, "Where the caller's browser wants to be woken", None, body, "200", any.clone());
    let body = Some(of::<PushUnsubscribeParams>(schemas));
    add("delete", push, "And no longer", None, body, "200", any.clone());
    let sent = object(&[("sent", json!({ "type": "integer" }))]);
    add("post", "/api/v1/push/test", "Wake the caller's own browsers", None, None, "200", sent);
    let days = object(&[("days", array(of::<DayUsage>(schemas)))]);
    let query = Some(inline::<UsageParams>(schemas));
    add("get", "/api/v1/usage", "What was used by day, agent and project", query, None, "200", days);
    let machine = object(&[("name", text.clone()), ("agents", array(of::<AgentInfo>(schemas)))]);
    let machines = object(&[("machines", array(machine))]);
    let query = Some(inline::<ListAgentsParams>(schemas));
    add("get", "/api/v1/machines", "The machines that run agents", query, None, "200", machines);
    let folders = object(&[
        ("path", text.clone()),
        ("parent", next.clone()),
        ("folders", array(text.clone())),
        ("recent", array(text.clone())),
    ]);
    let query = Some(inline::<FoldersParams>(schemas));
    add("get", "/api/v1/folders", "Folders where a work tree could be", query, None, "200", folders);
    let code = object(&[
        ("code", text.clone()),
        ("expiresAt", text.clone()),
        ("pairUrl", text.clone()),
        ("mode", of::<DeviceMode>(schemas)),
        ("addresses", array(text.clone())),
    ]);
    let body = Some(of::<PairParams>(schemas));
    add("post", "/admin/pair/new", "A code with which one device pairs", None, body, "200", code);
    let query = Some(inline::<OfCode>(schemas));
    add("get", "/admin/pair/qr.svg", "The same as a picture", query, None, "200", text.clone());
    let token = object(&[("token", text.clone())]);
    add("post", "/admin/token/rotate", "A new token for the owner", None, None, "200", token);
    let paired = object(&[("token", text.clone()), ("device", device)]);
    let body = Some(of::<Consume>(schemas));
    add("post", "/pair/consume", "Become a device; sets a cookie", None, body, "200", paired);
    let body = Some(of::<Pasted>(schemas));
    add("post", "/pair/token", "Take a token for a cookie", None, body, "200", me);
    add("delete", "/pair/token", "Give the cookie back", None, None, "204", any.clone());
    add("get", "/ca.pem", "The certificate of the hub's own authority, with --tls", None, None, "200", text);
    add(
        "get",
        "/api/v1/socket",
        "A WebSocket that speaks JSON-RPC 2.0, see docs/api.md",
        None,
        None,
        "101",
        any.clone(),
    );
    add("get", "/api/v1/openapi.json", "This description", None, None, "200", any);
    list
}

fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    schemas.subschema_for::<T>().to_value()
}

fn inline<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    T::json_schema(schemas).to_value()
}

fn array(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn object(properties: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties })
}
