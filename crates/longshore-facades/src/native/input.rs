//! The input of a call: the names in the path, and the other parameters as JSON or as a query.
//!
//! One struct holds all parameters, no matter how they came: the names in the path are fields like all
//! others.

use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The names in a path, with their values.
pub(crate) type PathNames<'a> = [(&'a str, &'a str)];

/// The input of a call.
pub(crate) struct CallInput<'a> {
    path: &'a PathNames<'a>,
    members: Members<'a>,
}

/// The parameters that are not in the path.
pub(crate) enum Members<'a> {
    /// A JSON object.
    Json(&'a [u8]),
    /// The query of the URL.
    Query(&'a str),
}

impl<'a> CallInput<'a> {
    pub(crate) fn new(path: &'a PathNames<'a>, members: Members<'a>) -> Self {
        Self { path, members }
    }

    /// All parameters in one JSON object.
    pub(crate) fn of_json(json: &'a str) -> Self {
        Self { path: &[], members: Members::Json(json.as_bytes()) }
    }

    /// Reads the parameters, or says why they are invalid.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let fields = NamedFields { path: self.path, read: PhantomData };
        match self.members {
            Members::Json(json) => {
                let mut json = serde_json::Deserializer::from_slice(json);
                let params = fields.deserialize(&mut json).and_then(|params| json.end().map(|()| params));
                params.map_err(|fault| fault.to_string())
            }
            Members::Query(query) => {
                let query = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
                fields.deserialize(query).map_err(|fault| fault.to_string())
            }
        }
    }
}

/// Parameters by name. Without this wrapper, serde would also read a list as the fields in their order, which
/// is not part of the contract.
#[derive(Debug)]
pub(crate) struct ByName<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByName<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        NamedFields { path: &[], read: PhantomData }.deserialize(from).map(Self)
    }
}

/// Reads an object, together with the names in the path.
struct NamedFields<'a, T> {
    path: &'a PathNames<'a>,
    read: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for NamedFields<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedFields<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        let joined = Joined { path: self.path.iter(), value: None, members };
        T::deserialize(MapAccessDeserializer::new(joined))
    }
}

/// The names in the path, followed by the other parameters.
struct Joined<'a, A> {
    path: std::slice::Iter<'a, (&'a str, &'a str)>,
    value: Option<&'a str>,
    members: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Joined<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.path.next() {
            Some(&(name, value)) => {
                self.value = Some(value);
                seed.deserialize(name.into_deserializer()).map(Some)
            }
            None => self.members.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value.into_deserializer()),
            None => self.members.next_value_seed(seed),
        }
    }
}
