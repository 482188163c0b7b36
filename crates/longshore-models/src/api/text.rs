//! A text that borrows from the input if the input has no escapes in it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

/// A text. Some services send a list of parts instead, or send arguments as an object.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow, deserialize_with = "text")] pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    struct AnyText;
    impl<'de> serde::de::Visitor<'de> for AnyText {
        type Value = Cow<'de, str>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text")
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
            let mut all = String::new();
            while let Some(part) = parts.next_element::<Value>()? {
                let text = part.as_str().or_else(|| part["text"].as_str());
                all.push_str(text.unwrap_or_default());
            }
            Ok(Cow::Owned(all))
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let object = Value::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
            Ok(Cow::Owned(object.to_string()))
        }
    }
    deserializer.deserialize_any(AnyText)
}
