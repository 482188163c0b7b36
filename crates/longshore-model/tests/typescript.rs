//! TypeScript from JSON Schema: as much of it as our own schemas use.

use serde_json::Value;

/// One exported type per definition.
pub(crate) fn types(definitions: &serde_json::Map<String, Value>) -> String {
    let mut text = String::new();
    for (name, schema) in definitions {
        text.push('\n');
        text.push_str(&doc(schema, ""));
        text.push_str(&format!("export type {name} = {};\n", of(schema, "")));
    }
    text
}

pub(crate) fn doc(schema: &Value, indent: &str) -> String {
    match schema["description"].as_str() {
        Some(text) => format!("{indent}/** {} */\n", text.replace("\n\n", " ").replace('\n', " ")),
        None => String::new(),
    }
}

/// The type of a schema.
pub(crate) fn of(schema: &Value, indent: &str) -> String {
    if schema.as_bool() == Some(true) || schema.as_object().is_some_and(|object| object.is_empty()) {
        return "unknown".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(reference) = schema["$ref"].as_str() {
        parts.push(reference.rsplit('/').next().unwrap().to_owned());
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(options) = schema[key].as_array() {
            let options: Vec<String> = options.iter().map(|option| of(option, indent)).collect();
            let simple = options.iter().all(|option| option.len() < 30 && !option.contains('\n'));
            let line = format!("\n{indent}  | ");
            parts.push(match simple {
                true => format!("({})", options.join(" | ")),
                false => format!("({line}{})", options.join(&line)),
            });
        }
    }
    if let Some(options) = schema["allOf"].as_array() {
        parts.extend(options.iter().map(|option| of(option, indent)));
    }
    if let Some(options) = schema["enum"].as_array() {
        parts.push(options.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "));
    } else if let Some(constant) = schema.get("const") {
        parts.push(constant.to_string());
    } else if let Some(kind) = kind_of(schema, indent) {
        parts.push(kind);
    }
    match parts.len() {
        0 => "unknown".to_owned(),
        _ => parts.join(" & "),
    }
}

fn kind_of(schema: &Value, indent: &str) -> Option<String> {
    let one = |kind: &str| match kind {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => format!("{}[]", of(&schema["items"], indent)),
        "object" => object(schema, indent),
        other => panic!("a schema of type {other} has no TypeScript yet"),
    };
    match &schema["type"] {
        Value::String(kind) => Some(one(kind)),
        Value::Array(kinds) => {
            Some(kinds.iter().map(|kind| one(kind.as_str().unwrap())).collect::<Vec<_>>().join(" | "))
        }
        _ => schema.get("properties").map(|_| object(schema, indent)),
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        let values = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => "never".to_owned(),
            Some(values) => of(values, indent),
            None => "unknown".to_owned(),
        };
        return format!("Record<string, {values}>");
    };
    let required =
        |name: &String| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let inner = format!("{indent}  ");
    let mut text = String::from("{\n");
    for (name, property) in properties {
        text.push_str(&doc(property, &inner));
        let mark = if required(name) { "" } else { "?" };
        text.push_str(&format!("{inner}{name}{mark}: {};\n", of(property, &inner)));
    }
    text.push_str(&format!("{indent}}}"));
    text
}
