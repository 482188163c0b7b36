//! A model service: the API that it speaks, and its address.

use serde::{Deserialize, Serialize};

/// The API of a model service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelApi {
    /// OpenAI Chat Completions, which nearly every server speaks.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl ModelApi {
    /// The path of a request, appended to the service's address.
    pub fn path(self) -> &'static str {
        match self {
            ModelApi::Chat => "/chat/completions",
            ModelApi::Responses => "/responses",
            ModelApi::Messages => "/messages",
        }
    }
}

/// The host and port of an address, without user and password.
pub fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    place.rsplit_once('@').map_or(place, |(_, place)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_host_and_a_port_and_no_secret() {
        assert_eq!(host_of("https://api.deepseek.com/v1"), "api.deepseek.com");
        assert_eq!(host_of("http://me:secret@[::1]:8080/v1?key=x"), "[::1]:8080");
        assert_eq!(host_of("here"), "here");
    }
}
