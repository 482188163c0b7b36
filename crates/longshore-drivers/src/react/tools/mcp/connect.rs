//! The two ways to a server: its pipes, and streamable HTTP.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::{ChildStdin, ChildStdout};

use super::client::Client as Http;
use super::handler::Handler;

type Client = RunningService<RoleClient, Handler>;

/// How long a connection to a server may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);

pub(super) async fn pipes(handler: Handler, pipes: (ChildStdout, ChildStdin)) -> Result<Client, String> {
    serve_client(handler, pipes).await.map_err(|error| plain(&error))
}

pub(super) async fn http(
    handler: Handler,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<Client, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| format!("`{name}` is no name of a header"))?;
        let mut value: HeaderValue =
            value.parse().map_err(|_| format!("the header `{name}` has a value that cannot be sent"))?;
        // Kept out of logs.
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    config.allow_stateless = true;
    // Somebody may have chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().connect_timeout(CONNECT_WITHIN).build();
    let client = client.map_err(|error| error.to_string())?;
    let transport = StreamableHttpClientTransport::with_client(Http(client), config);
    serve_client(handler, transport).await.map_err(|error| plain(&error))
}

/// Why a server cannot be spoken with, in words that are not those of a library.
pub(super) fn plain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return plain(error.error.as_ref());
    }
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    match innermost.to_string() {
        words if words.contains("::") => "it does not answer as an MCP server does".to_owned(),
        words => match words.strip_prefix("Client error: error sending request for url") {
            Some(place) => format!("it cannot be reached{place}"),
            None => words,
        },
    }
}
