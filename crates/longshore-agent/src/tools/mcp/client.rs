//! The HTTP client of an MCP server. It recognises an expired session also when the server does not answer 404.
//!
//! Many servers then answer 400, with an error that belongs to no request, so the caller would wait for ever. The
//! client reports an expired session instead. Then the transport opens a new session and repeats the request once.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

type HttpResult<T> = Result<T, StreamableHttpError<reqwest::Error>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The maximal length of a server's event, in bytes.
const EVENT_LIMIT: usize = 64 << 20;

#[derive(Clone, Debug)]
pub(super) struct McpHttpClient(pub(super) reqwest::Client);

impl StreamableHttpClient for McpHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, EVENT_LIMIT).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let (asked, in_session) = (request_of(&message), session.is_some());
        let answered =
            self.0.post_message_with_max_sse_event_size(uri, message, session, token, headers, limit).await;
        let forgotten = |words: &str| in_session && words.to_lowercase().contains("session");
        match answered {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), named))
                if error.id.is_none() =>
            {
                match asked {
                    _ if forgotten(&error.error.message) => Err(StreamableHttpError::SessionExpired),
                    // The error names no request, so it belongs to the request of this message.
                    Some(id) => {
                        let answer = ServerJsonRpcMessage::error(error.error, Some(id));
                        Ok(StreamableHttpPostResponse::Json(answer, named))
                    }
                    None => Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), named)),
                }
            }
            Err(StreamableHttpError::UnexpectedServerResponse(words))
                if words.starts_with("HTTP 400") && forgotten(&words) =>
            {
                Err(StreamableHttpError::SessionExpired)
            }
            // Here the new address cannot be read. A redirect to a readable address was followed, or gives another
            // error.
            Err(StreamableHttpError::UnexpectedServerResponse(words)) if words.starts_with("HTTP 30") => {
                let told = format!("it redirected to an address that cannot be read ({})", words.trim_end());
                Err(StreamableHttpError::UnexpectedServerResponse(told.into()))
            }
            other => other,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<()> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, EVENT_LIMIT).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.0.get_stream_with_max_sse_event_size(uri, session, last, token, headers, limit).await
    }
}

/// The id of the request, if the message is a request.
fn request_of(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        _ => None,
    }
}
