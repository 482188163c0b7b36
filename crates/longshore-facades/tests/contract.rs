//! The calls in TypeScript: generated from the table, committed, and never older than it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use longshore_facades::native::answers::PairedDevice;
use longshore_facades::native::{Signature, calls, socket_methods};
use longshore_facades::problem::Problem;
use longshore_facades::push::PushMessage;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::typescript;

const HEADER: &str =
    "// Generated from the table of calls by `cargo test -p longshore-facades`. Do not edit.\n";
const MODEL: &str = include_str!("../../longshore-model/contract/longshore.ts");

/// The types by name, as TypeScript declares each.
type Declarations = BTreeMap<String, String>;

fn declarations(definitions: &Map<String, Value>) -> Declarations {
    let of_one = |(name, schema): (&String, &Value)| {
        let alone = Map::from_iter([(name.clone(), schema.clone())]);
        (name.clone(), typescript::types(&alone))
    };
    definitions.iter().map(of_one).collect()
}

/// What the contract of the model declares.
fn of_the_model() -> Declarations {
    let of_one = |block: &str| {
        let name = block.split("export type ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        (name.to_owned(), format!("\n{}\n", block.trim_end()))
    };
    MODEL.split("\n\n").skip(1).map(of_one).collect()
}

fn contract() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut taken = settings.clone().for_deserialize().into_generator();
    let mut given = settings.for_serialize().into_generator();
    let mut params = Map::new();
    let mut method = |name: &str, summary: &str, signature: Signature, given: &mut SchemaGenerator| {
        let params_name = (signature.params_name)().into_owned();
        let answer = typescript::of(&(signature.answer)(given).to_value(), "  ");
        let row = format!("  /** {summary}. */\n  {name}: {{ params: {params_name}; result: {answer} }};\n");
        params.insert(params_name, (signature.params)(&mut taken).to_value());
        row
    };
    let mut methods = String::new();
    for call in calls() {
        let summary = format!("{}: `{} {}`", call.summary, call.verb.name(), call.path);
        methods.push_str(&method(call.name, &summary, call.signature, &mut given));
    }
    for own in socket_methods() {
        methods.push_str(&method(own.name, own.summary, own.signature, &mut given));
    }
    given.subschema_for::<PairedDevice>();
    given.subschema_for::<Problem>();
    given.subschema_for::<PushMessage>();
    let mut taken = taken.take_definitions(true);
    taken.extend(params);
    let (model, given) = (of_the_model(), declarations(&given.take_definitions(true)));
    for (name, declaration) in given.iter().filter(|(name, _)| model.contains_key(*name)) {
        assert_eq!(model[name], *declaration, "`{name}` is another type in the contract of the model");
    }
    // What the hub gives it also takes, with less in it.
    let all = declarations(&taken).into_iter().chain(given);
    let (known, own): (Declarations, Declarations) = all.partition(|(name, _)| model.contains_key(name));
    let own: String = own.into_values().collect();
    let text = format!("{own}{methods}");
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let named = known.into_keys().filter(|name| words.contains(name.as_str()));
    let imports = named.collect::<Vec<_>>().join(",\n  ");
    format!(
        "{HEADER}import type {{\n  {imports},\n}} from \"../../longshore-model/contract/longshore.ts\";\n{own}\n\
         /** Every method of the socket: what it takes and what comes back. */\n\
         export type Methods = {{\n{methods}}};\n"
    )
}

#[test]
fn the_typescript_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract/calls.ts");
    let (found, fresh) = (std::fs::read_to_string(&path).unwrap_or_default(), contract());
    if found != fresh {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, fresh).unwrap();
        panic!(
            "contract/calls.ts was older than the table; it is rewritten now: look at the difference and commit it"
        );
    }
}
