//! A client's request in neutral form.

use std::collections::HashSet;
use std::sync::Arc;

use crate::api::{self, NeutralRequest, RequestOptions, Strict};
use longshore_model::service::ModelApi;
use serde::de::DeserializeOwned;

use super::conversation::{Conversation, Prior};
use super::sealed::Service;
use super::tools::Tools;
use super::{chat, messages, responses};

/// The reason why the gateway cannot answer a request.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// A client's request.
#[derive(Debug)]
pub struct ModelRequest {
    pub(super) request: NeutralRequest,
    pub(super) options: RequestOptions,
    pub(super) tools: Tools,
    /// The ids of the calls in the conversation. Calls of the answer get other ids.
    pub(super) calls: HashSet<String>,
    /// Whether the client wants a stream.
    pub(super) streamed: bool,
    /// Whether the stream reports the usage.
    pub(super) tells_usage: bool,
}

/// The options that all APIs have.
#[derive(Default)]
pub(super) struct ClientOptions {
    pub(super) model: Option<String>,
    pub(super) max_output: Option<u64>,
    pub(super) effort: Option<String>,
    pub(super) options: RequestOptions,
    pub(super) streamed: bool,
    pub(super) tells_usage: bool,
}

impl ModelRequest {
    pub(super) fn new(client: ClientOptions, said: Conversation, tools: Tools) -> Result<Self, Unreadable> {
        let ClientOptions { model, max_output, effort, options, streamed, tells_usage } = client;
        let model = model.filter(|model| !model.is_empty());
        let model =
            model.ok_or_else(|| Unreadable::new("`model` is missing: name the model that is to answer"))?;
        let Prior { instructions, history, calls } = said.prior();
        if history.is_empty() {
            return Err(Unreadable::new("nothing is asked: there is no message to answer"));
        }
        let offered: Arc<[_]> = tools.offered().into();
        let request = NeutralRequest { model, instructions, history, tools: offered, max_output, effort };
        Ok(Self { request, options, tools, calls, streamed, tells_usage })
    }

    /// The body for the service. Thoughts of other services are left out.
    pub fn body(&self, service: &Service) -> String {
        self.body_for(service, Strict::default())
    }

    /// The body for a service that enforces rules.
    pub(super) fn body_for(&self, service: &Service, strict: Strict) -> String {
        let mut request = self.request.clone();
        request.history.retain(|item| !item.is_foreign_to(&service.place));
        api::body_with(service.api, &request, &RequestOptions { strict, ..self.options.clone() })
    }
}

/// Reads the body of a request.
pub fn read(api: ModelApi, body: &[u8]) -> Result<ModelRequest, Unreadable> {
    match api {
        ModelApi::Chat => chat::read(body),
        ModelApi::Responses => responses::read(body),
        ModelApi::Messages => messages::read(body),
    }
}

/// Parses JSON.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::new(format!("the body cannot be read: {error}")))
}
