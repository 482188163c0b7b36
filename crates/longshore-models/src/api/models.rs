//! The list of models of a service.

use longshore_model::capability::ModelInfo;
use serde_json::Value;

/// Reads a list: `{"data": [..]}`, `{"models": [..]}`, both at once as llama.cpp sends it, or the list itself.
pub fn models_of(body: &str) -> Result<Vec<ModelInfo>, String> {
    let body: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let list = |value: &Value| value.as_array().filter(|list| !list.is_empty()).cloned();
    let empty = || ["data", "models"].iter().any(|key| body[*key].is_array()).then(Vec::new);
    let all = list(&body["data"]).or_else(|| list(&body["models"])).or_else(|| list(&body)).or_else(empty);
    let all = all.ok_or("it has neither `data` nor `models`")?;
    let mut models: Vec<ModelInfo> = Vec::new();
    for model in all.iter().filter_map(model) {
        if !models.iter().any(|known| known.id == model.id) {
            models.push(model);
        }
    }
    Ok(models)
}

/// A model of which only the id is known.
pub fn model_called(id: &str) -> ModelInfo {
    let (description, efforts) = (String::new(), Vec::new());
    ModelInfo { id: id.to_owned(), title: id.to_owned(), description, default: false, efforts }
}

fn model(listed: &Value) -> Option<ModelInfo> {
    let text = |key: &str| listed[key].as_str().filter(|text| !text.is_empty());
    let id = listed.as_str().or_else(|| ["id", "slug", "name", "model"].into_iter().find_map(text))?;
    let title = text("display_name").map_or_else(|| id.to_owned(), str::to_owned);
    Some(ModelInfo { title, efforts: efforts(listed), ..model_called(id) })
}

/// The reasoning efforts that a service lists for a model: a list of words, a list of objects with a word, or an object
/// that says for each known word whether it is supported.
fn efforts(listed: &Value) -> Vec<String> {
    let lists = ["supported_reasoning_levels", "supported_reasoning_efforts", "supported_efforts"];
    let list = lists.into_iter().find_map(|key| listed[key].as_array());
    if let Some(list) = list {
        let word = |entry: &Value| entry.as_str().or(entry["effort"].as_str()).map(str::to_owned);
        return list.iter().filter_map(word).collect();
    }
    let words = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let known = &listed["capabilities"]["effort"];
    words.into_iter().filter(|word| known[*word]["supported"] == true).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(body: &str) -> Vec<String> {
        models_of(body).unwrap().into_iter().map(|model| model.id).collect()
    }

    #[test]
    fn lists_are_read_in_every_shape_that_servers_give_them() {
        assert_eq!(ids(r#"{"object":"list","data":[{"id":"a"},{"id":"b","object":"model"}]}"#), ["a", "b"]);
        let both = r#"{"models":[{"name":"m.gguf","model":"m.gguf","capabilities":["completion"]}],"object":"list","data":[{"id":"m.gguf","meta":{"n_ctx":1}}]}"#;
        assert_eq!(ids(both), ["m.gguf"], "llama.cpp says it twice");
        assert_eq!(
            ids(r#"{"models":[{"slug":"gpt-5.5"},{"name":"x","title":7}],"data":[]}"#),
            ["gpt-5.5", "x"]
        );
        assert_eq!(ids(r#"[{"id":"a"},{"id":"a"},{"nothing":1},"b"]"#), ["a", "b"]);
        assert!(ids(r#"{"data":[]}"#).is_empty());
        assert!(models_of("{}").is_err() && models_of("<html>").is_err());
        let titled = models_of(r#"{"data":[{"id":"a","display_name":"A model"}]}"#).unwrap();
        assert_eq!(titled[0].title, "A model");
        let efforts = |body: &str| models_of(body).unwrap()[0].efforts.join(" ");
        assert_eq!(
            efforts(r#"[{"id":"a","supported_reasoning_levels":[{"effort":"low"},{"effort":"high"}]}]"#),
            "low high"
        );
        let supported = r#"[{"id":"a","capabilities":{"effort":{"supported":true,"max":{"supported":true},"low":{"supported":true},"high":{"supported":false}}}}]"#;
        assert_eq!(efforts(supported), "low max");
        assert_eq!(efforts(r#"[{"id":"a","capabilities":["completion"]}]"#), "");
    }
}
