//! One request to a server on loopback, on its own connection.
//!
//! Connections are not reused: on loopback a connection costs nothing, and a new one cannot be half dead.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use longshore_model::driver::{Method, Request, Response};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("no connection: {0}")]
    Connect(#[from] std::io::Error),
    #[error("cannot make the request: {0}")]
    Made(#[from] hyper::http::Error),
    #[error("the connection broke: {0}")]
    Broke(#[from] hyper::Error),
    #[error("cannot read the answer: {0}")]
    Body(String),
    #[error("no answer within {0} s")]
    Late(u64),
    #[error("the answer has the status {0}")]
    Status(u16),
}

/// The address of a server, and the credentials for it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) at: SocketAddr,
    pub(crate) authorization: String,
}

impl Peer {
    /// Sends a request, and reads the whole response, up to `longest` bytes.
    pub(crate) async fn ask(
        &self,
        request: &Request,
        longest: usize,
        within: Option<Duration>,
    ) -> Result<Response, Failure> {
        let answer = async {
            let response = self.send(request.method, &request.path, request.body.clone(), "application/json");
            let response = response.await?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), longest).collect().await;
            let bytes = body.map_err(|error| Failure::Body(error.to_string()))?.to_bytes();
            let body = String::from_utf8_lossy(&bytes).into();
            Ok(Response { status, body })
        };
        match within {
            Some(within) => {
                timeout(within, answer).await.unwrap_or_else(|_| Err(Failure::Late(within.as_secs())))
            }
            None => answer.await,
        }
    }

    /// Opens a stream of events.
    pub(crate) async fn follow(&self, path: &str, within: Duration) -> Result<Incoming, Failure> {
        let response = timeout(within, self.send(Method::Get, path, None, "text/event-stream"));
        let response = response.await.unwrap_or_else(|_| Err(Failure::Late(within.as_secs())))?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            other => Err(Failure::Status(other)),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        accept: &str,
    ) -> Result<hyper::Response<Incoming>, Failure> {
        let stream = TcpStream::connect(self.at).await?;
        stream.set_nodelay(true)?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // The task ends with the response, or when nobody waits for the response any more.
        tokio::spawn(connection);
        let mut request = hyper::Request::builder()
            .method(method.as_str())
            .uri(path)
            .header(HOST, self.at.to_string())
            .header(AUTHORIZATION, &self.authorization)
            .header(ACCEPT, accept)
            .header(CONNECTION, "close");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default())))?;
        Ok(sender.send_request(request).await?)
    }
}

/// The `Basic` credentials, in the form of browsers.
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

/// Encodes bytes as base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_said_in_base64() {
        assert_eq!(basic("opencode", "pw123"), "Basic b3BlbmNvZGU6cHcxMjM=");
        assert_eq!(basic("a", "b"), "Basic YTpi");
        assert_eq!(basic("aa", "bb"), "Basic YWE6YmI=");
        assert_eq!(basic("aa", "b"), "Basic YWE6Yg==");
    }
}
