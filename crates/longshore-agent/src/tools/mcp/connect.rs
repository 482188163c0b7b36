//! The two transports of an MCP server: its pipes, and streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{Peer, RoleClient};
use tokio::process::{ChildStdin, ChildStdout};

use super::client::McpHttpClient;
use super::handler::Handler;
use longshore_models::http::Redirected;

type McpService = RunningService<RoleClient, Handler>;

/// How long a connection to a server may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);
/// How many tools a server may list, and on how many pages. The model gets all of them with every request.
const TOOLS: usize = 2_000;
const PAGES: usize = 500;

pub(super) async fn pipes(handler: Handler, pipes: (ChildStdout, ChildStdin)) -> Result<McpService, String> {
    serve_client(handler, pipes).await.map_err(|error| plain(&error))
}

pub(super) async fn http(
    handler: Handler,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<McpService, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name of a header"))?;
        let mut value: HeaderValue =
            value.parse().map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
        // Sensitive values do not appear in logs.
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    config.allow_stateless = true;
    let client = longshore_models::http::client(CONNECT_WITHIN).build().map_err(|error| error.to_string())?;
    let transport = StreamableHttpClientTransport::with_client(McpHttpClient(client), config);
    serve_client(handler, transport).await.map_err(|error| plain(&error))
}

/// The tools that a server lists, page by page.
pub(super) async fn tools(peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES {
        let asked = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let page = peer.list_tools(asked).await.map_err(|error| plain(&error))?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
        if tools.len() > TOOLS {
            break;
        }
    }
    Err(format!("its list of tools has no end after {} of them", tools.len()))
}

/// The reason why a connection to a server failed, in plain words instead of a library's words.
pub(super) fn plain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return plain(error.error.as_ref());
    }
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    // The library does not report the client's error as the source of its own error.
    if let Some(StreamableHttpError::Client(error)) =
        innermost.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        && let Some(redirected) = Redirected::of_error(error)
    {
        return redirected.told("its url", "");
    }
    match innermost.to_string() {
        words if words.contains("::") => "it does not answer as an MCP server does".to_owned(),
        words => match words.strip_prefix("Client error: error sending request for url") {
            Some(place) => format!("it cannot be reached{place}"),
            None => words,
        },
    }
}
