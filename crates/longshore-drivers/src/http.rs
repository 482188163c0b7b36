//! The HTTP client of all that speaks to services with somebody's keys: models, the gateway, MCP servers.

use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder, Url};
use thiserror::Error;

/// How often a service may send a request on.
const HOPS: usize = 5;

/// A service has sent a request where its keys must not go.
#[derive(Debug, Error)]
#[error(
    "it sends to {0}, and keys go to no other host than the one in the settings; if that is the right address, set it there"
)]
struct SentElsewhere(String);

/// A client that carries its headers, keys among them, to the host that was named, and follows a service to no other.
pub fn client(connect_within: Duration) -> ClientBuilder {
    // Fails only when somebody was first, which is as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(connect_within)
        .user_agent(concat!("longshore/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::custom(follow))
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let named = attempt.previous().first();
    match named.is_some_and(|named| is_same_service(named, attempt.url())) {
        true if attempt.previous().len() <= HOPS => attempt.follow(),
        true => attempt.stop(),
        false => {
            let url = attempt.url();
            let elsewhere = SentElsewhere(url.origin().ascii_serialization() + url.path());
            attempt.error(elsewhere)
        }
    }
}

/// Whether both are one service: the same origin, or the same host that wants to be spoken with in secret.
fn is_same_service(named: &Url, next: &Url) -> bool {
    let secured = (named.scheme(), next.scheme()) == ("http", "https")
        && (named.port(), next.port()) == (None, None)
        && named.host() == next.host();
    named.origin() == next.origin() || secured
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_service_that_sends_elsewhere_is_not_followed_and_named() {
        let (service, elsewhere) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (named, stolen) = (service.local_addr().unwrap(), elsewhere.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = service.accept().unwrap();
            let mut heard = [0; 4096];
            let _ = stream.read(&mut heard).unwrap();
            let moved = format!(
                "HTTP/1.1 307 Moved\r\nlocation: http://{stolen}/steal?x=1\r\ncontent-length: 0\r\n\r\n"
            );
            stream.write_all(moved.as_bytes()).unwrap();
        });
        let client = client(Duration::from_secs(20)).build().unwrap();
        let asked = client.post(format!("http://{named}/v1/messages")).header("x-api-key", "secret");
        let error = asked.body("{}").send().await.unwrap_err();
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.starts_with(&format!("it sends to http://{stolen}/steal, and keys go")), "{why}");
        elsewhere.set_nonblocking(true).unwrap();
        assert!(elsewhere.accept().is_err(), "nobody called there");
    }

    #[test]
    fn keys_go_to_the_host_that_was_named_alone() {
        let same = |named: &str, next: &str| is_same_service(&named.parse().unwrap(), &next.parse().unwrap());
        assert!(same("https://a.example/v1/messages", "https://a.example/v2/messages"));
        assert!(same("http://a.example/v1", "https://a.example/v1"));
        assert!(!same("https://a.example/v1", "http://a.example/v1"));
        assert!(!same("https://a.example/v1", "https://b.example/v1"));
        assert!(!same("https://a.example/v1", "https://a.example.b.example/v1"));
        assert!(!same("http://127.0.0.1:1000/", "http://127.0.0.1:1001/"));
        assert!(!same("http://127.0.0.1:1000/", "https://127.0.0.1/"));
    }
}
