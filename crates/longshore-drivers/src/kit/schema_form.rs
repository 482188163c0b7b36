//! Forms: the flat JSON schemas with which agents and MCP servers ask for data.

use longshore_model::approval::{Choice, Field, FieldKind};
use serde_json::Value;

/// The fields of a form: the properties of a flat schema, required fields first.
pub fn fields_of(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let mut fields: Vec<Field> = properties
        .iter()
        .map(|(id, property)| {
            let word = |name: &str| property[name].as_str().unwrap_or_default().to_owned();
            let (kind, choices) = kind_of(property);
            let label = match word("title") {
                empty if empty.is_empty() => id.clone(),
                title => title,
            };
            Field {
                id: id.clone(),
                label,
                text: word("description"),
                kind,
                choices,
                open: false,
                secret: property["format"] == "password" || property["writeOnly"] == true,
                optional: !required.contains(&id.as_str()),
            }
        })
        .collect();
    fields.sort_by_key(|field| required.iter().position(|id| *id == field.id).unwrap_or(required.len()));
    fields
}

fn kind_of(property: &Value) -> (FieldKind, Vec<Choice>) {
    let one = choices_of(property);
    if !one.is_empty() {
        return (FieldKind::One, one);
    }
    match property["type"].as_str() {
        Some("number") => (FieldKind::Number, one),
        Some("integer") => (FieldKind::Integer, one),
        Some("boolean") => (FieldKind::Boolean, one),
        Some("array") => (FieldKind::Many, choices_of(&property["items"])),
        Some(_) | None => (FieldKind::Text, one),
    }
}

/// `enum` with its `enumNames`, or `oneOf` / `anyOf` of `const` and `title`.
fn choices_of(property: &Value) -> Vec<Choice> {
    let choice = |label: &Value, name: &Value| {
        let label = label.as_str()?.to_owned();
        let description = name.as_str().filter(|name| *name != label).unwrap_or_default().to_owned();
        Some(Choice { label, description })
    };
    if let Some(labels) = property["enum"].as_array() {
        let names = &property["enumNames"];
        return labels.iter().enumerate().filter_map(|(at, label)| choice(label, &names[at])).collect();
    }
    let titled = property["oneOf"].as_array().or_else(|| property["anyOf"].as_array());
    titled.into_iter().flatten().filter_map(|one| choice(&one["const"], &one["title"])).collect()
}

/// The text of a question with these fields: the text of its only field. If there are several fields, each
/// has its own text, and a common text would only repeat these texts.
pub fn only_text(fields: &[Field]) -> Option<String> {
    match fields {
        [only] => Some(only.text.clone()),
        _ => None,
    }
}
