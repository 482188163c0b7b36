//! The description of `/api/v1` for programs: OpenAPI 3.1, made from the types of the calls.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::answers::{Me, PairedDevice};
use super::call::Verb::{self, Delete, Get, Post};
use super::call::{Call, path_names};
use super::calls::calls;
use crate::auth::ProveParams;
use crate::pair::{Consume, OfCode, Pasted};

/// The description of one endpoint.
struct Endpoint {
    verb: &'static str,
    path: &'static str,
    summary: &'static str,
    /// The parameters in the query or in the body.
    params: Value,
    status: u16,
    answer: Value,
    needs_token: bool,
}

/// The whole description.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut taken = settings.clone().for_deserialize().into_generator();
    let mut given = settings.for_serialize().into_generator();
    let mut paths = Map::new();
    let calls = calls().iter().map(|call| of_call(call, &mut taken, &mut given)).collect::<Vec<_>>();
    for endpoint in calls.into_iter().chain(others(&mut taken, &mut given)) {
        let (verb, path) = (endpoint.verb.to_ascii_lowercase(), endpoint.path);
        paths.entry(path).or_insert_with(|| json!({}))[verb] = describe(endpoint);
    }
    let mut schemas = taken.take_definitions(true);
    // A type that occurs in requests and in answers is described as in answers, because that description says
    // more.
    schemas.extend(given.take_definitions(true));
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
            "schemas": schemas,
        },
    })
}

fn of_call(call: &Call, taken: &mut SchemaGenerator, given: &mut SchemaGenerator) -> Endpoint {
    Endpoint {
        verb: call.verb.name(),
        path: call.path,
        summary: call.summary,
        params: (call.signature.params)(taken).to_value(),
        status: call.status.as_u16(),
        answer: (call.signature.answer)(given).to_value(),
        needs_token: true,
    }
}

/// The endpoints that are no calls: only HTTP has them, or they need no token.
fn others(taken: &mut SchemaGenerator, given: &mut SchemaGenerator) -> Vec<Endpoint> {
    let text = json!({ "type": "string" });
    let (none, any) = (json!({}), json!({ "type": "object" }));
    let object = |name: &str, schema: Value| json!({ "type": "object", "properties": { name: schema } });
    let of = |needs_token| {
        move |verb: Verb, path, summary, params, status, answer| Endpoint {
            verb: verb.name(),
            path,
            summary,
            params,
            status,
            answer,
            needs_token,
        }
    };
    let (open, closed) = (of(false), of(true));
    vec![
        open(
            Get,
            "/health",
            "Check that the hub answers",
            none.clone(),
            200,
            object("status", json!({ "const": "ok" })),
        ),
        open(
            Get,
            "/prove",
            "Prove that the hub knows a token, before the client sends the token",
            whole::<ProveParams>(taken),
            200,
            object("proof", text.clone()),
        ),
        open(
            Post,
            "/pair/consume",
            "Pair a device with a code; sets a cookie",
            whole::<Consume>(taken),
            200,
            given.subschema_for::<PairedDevice>().to_value(),
        ),
        open(
            Post,
            "/pair/token",
            "Exchange a token for a cookie",
            whole::<Pasted>(taken),
            200,
            given.subschema_for::<Me>().to_value(),
        ),
        open(Delete, "/pair/token", "Delete the cookie", none.clone(), 204, any.clone()),
        open(
            Get,
            "/ca.pem",
            "Get the certificate of the hub's own authority, with --tls",
            none.clone(),
            200,
            text.clone(),
        ),
        closed(
            Get,
            "/admin/pair/qr.svg",
            "Get a pairing code as a picture",
            whole::<OfCode>(taken),
            200,
            text.clone(),
        ),
        closed(Get, "/metrics", "Get metrics for Prometheus", none.clone(), 200, text),
        closed(
            Get,
            "/api/v1/socket",
            "A WebSocket that speaks JSON-RPC 2.0, see docs/api.md",
            none.clone(),
            101,
            any.clone(),
        ),
        closed(Get, "/api/v1/openapi.json", "Get this description", none, 200, any),
    ]
}

fn whole<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    T::json_schema(schemas).to_value()
}

fn describe(endpoint: Endpoint) -> Value {
    let Endpoint { verb, path, summary, params, status, answer, needs_token } = endpoint;
    let parameter = |place, name: &str, schema: &Value, required| json!({ "name": name, "in": place, "required": required, "schema": schema });
    let required = |name: &str| params["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let is_in_path = |name: &str| path_names(path).any(|known| known == name);
    let members = params["properties"].as_object().into_iter().flatten();
    let (in_path, others): (Vec<_>, Vec<_>) = members.partition(|(name, _)| is_in_path(name));
    let mut parameters: Vec<Value> =
        in_path.iter().map(|(name, schema)| parameter("path", name, schema, true)).collect();
    let mut operation = json!({
        "summary": summary,
        "responses": {
            status.to_string(): { "description": summary, "content": { "application/json": { "schema": answer } } },
            "default": {
                "description": "what went wrong; docs/errors.md lists the codes",
                "content": { "application/problem+json": { "schema": { "type": "object" } } },
            },
        },
    });
    if verb == Verb::Get.name() {
        parameters
            .extend(others.iter().map(|(name, schema)| parameter("query", name, schema, required(name))));
    } else if !others.is_empty() {
        let required: Vec<_> = others.iter().map(|(name, _)| name).filter(|name| required(name)).collect();
        let properties: Map<String, Value> =
            others.iter().map(|(name, schema)| ((*name).clone(), (*schema).clone())).collect();
        let body = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        operation["requestBody"] = json!({
            "required": !required.is_empty(), "content": { "application/json": { "schema": body } },
        });
    }
    operation["parameters"] = json!(parameters);
    if !needs_token {
        operation["security"] = json!([]);
    }
    operation
}
