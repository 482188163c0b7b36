//! The HTTP client for all services that get keys: models, the gateway's upstream, MCP servers.

use std::error::Error as StdError;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder, Response, Url};
use thiserror::Error;

/// How many redirects of a service the client follows.
const HOPS: usize = 5;
/// How many characters of an unreadable address an error quotes.
const TOLD: usize = 200;

/// A setting that is no valid address of a service.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0} is no address of a service; it looks like http://127.0.0.1:11434/v1")]
pub struct NoAddress(String);

/// Checks the address of a service, to which paths are appended: a web address without a query.
pub fn service_address(told: &str) -> Result<String, NoAddress> {
    let is_service = |url: &Url| matches!(url.scheme(), "http" | "https") && url.query().is_none();
    match Url::parse(told).is_ok_and(|url| is_service(&url)) {
        true => Ok(told.trim().trim_end_matches('/').to_owned()),
        false => Err(NoAddress(told.to_owned())),
    }
}

/// The error for an answer that is a web page, with the name of the setting. A server with such an answer is no model
/// service, so a further try does not help.
pub fn web_page(answer: &Response, setting: &str) -> Option<String> {
    let kind = answer.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let is_page = kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/html"));
    is_page.then(|| {
        let (address, status) = (shown(answer.url()), answer.status().as_u16());
        let answered = if status == 200 { "answered".to_owned() } else { format!("answered {status}") };
        format!(
            "the service at {address} {answered} with a web page (content-type text/html), not with an answer of a \
             model; check {setting}."
        )
    })
}

/// A redirect that the client did not follow. A further try does not help.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Redirected {
    /// The new address must not get keys.
    #[error("the service at {from} redirected to {to}, which is {what}. Longshore does not send keys there")]
    Elsewhere {
        /// The requested address.
        from: String,
        /// The new address.
        to: String,
        /// The difference between them.
        what: &'static str,
    },
    /// The client would have to drop the request's body to follow the redirect.
    #[error(
        "the service at {from} redirected ({status}) to {to}. Longshore follows 307 and 308 only: the others drop what is sent"
    )]
    Dropping {
        /// The requested address.
        from: String,
        /// The status of the answer.
        status: u16,
        /// The new address.
        to: String,
    },
    /// The redirects do not end.
    #[error("the service at {from} redirected more than {HOPS} times, at last to {to}")]
    TooOften {
        /// The requested address.
        from: String,
        /// The last address.
        to: String,
    },
    /// The redirect has no readable address.
    #[error("the service at {from} redirected ({status}) to an address that cannot be read: {location}")]
    Nowhere {
        /// The requested address.
        from: String,
        /// The status of the answer.
        status: u16,
        /// The text in place of an address.
        location: String,
    },
}

impl Redirected {
    /// The redirect that caused an error of a request.
    pub fn of_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Self> {
        match error.downcast_ref() {
            Some(redirected) => Some(redirected),
            None => Self::of_error(error.source()?),
        }
    }

    /// The redirect in an answer. The client has followed readable redirects, or returned them as errors.
    pub fn of_answer(answer: &Response) -> Option<Self> {
        let status = answer.status().as_u16();
        matches!(status, 301 | 302 | 303 | 307 | 308).then(|| {
            let location =
                answer.headers().get(LOCATION).map(|said| String::from_utf8_lossy(said.as_bytes()));
            let location = location.map(|said| said.chars().filter(|c| !c.is_control()).take(TOLD).collect());
            let location = location.unwrap_or_else(|| "it has no Location".to_owned());
            Self::Nowhere { from: shown(answer.url()), status, location }
        })
    }

    /// The error with the next step, for the name of the setting and the requested path.
    pub fn told(&self, setting: &str, path: &str) -> String {
        match self {
            Self::Elsewhere { to, .. } | Self::Dropping { to, .. } => {
                let base = to.strip_suffix(path).unwrap_or(to);
                format!("{self}; if that is the right address, put {base} into {setting}.")
            }
            Self::TooOften { .. } | Self::Nowhere { .. } => format!("{self}; check {setting}."),
        }
    }
}

/// A client that sends its headers, including keys, only to the service of the request. It follows redirects only to
/// the same service.
pub fn client(connect_within: Duration) -> ClientBuilder {
    // This fails only if another part of the program has installed a provider, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(connect_within)
        .user_agent(concat!("longshore/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::custom(follow))
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let next = attempt.url();
    // The first previous address is the requested one, which always exists.
    let Some(named) = attempt.previous().first() else { return attempt.stop() };
    let (from, to) = (shown(named), shown(next));
    if !is_same_service(named, next) {
        let elsewhere = Redirected::Elsewhere { from, to, what: difference(named, next) };
        return attempt.error(elsewhere);
    }
    // The other statuses turn a POST into a GET.
    let status = attempt.status().as_u16();
    if !matches!(status, 307 | 308) {
        return attempt.error(Redirected::Dropping { from, status, to });
    }
    match attempt.previous().len() <= HOPS {
        true => attempt.follow(),
        false => attempt.error(Redirected::TooOften { from, to }),
    }
}

/// An address without its secret parts.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // These fail for an address that can have neither user nor password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// The difference between the requested service and another one.
fn difference(named: &Url, next: &Url) -> &'static str {
    match (named.scheme(), next.scheme()) {
        _ if named.host() != next.host() => "another host",
        ("https", "http") => "the same host without encryption",
        ("http", "https") if named.port_or_known_default() == next.port_or_known_default() => {
            "another scheme on the same port"
        }
        (_, "http" | "https") => "another port of that host",
        _ => "no address of the web",
    }
}

/// Whether both addresses belong to one service: they have the same origin, or the second is the encrypted form of the
/// first.
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

    /// A service that redirects every request to this location, or to none.
    fn redirecting(listener: TcpListener, location: Option<String>) {
        answering(listener, 307, location);
    }

    fn answering(listener: TcpListener, status: u16, location: Option<String>) {
        std::thread::spawn(move || {
            let location = location.map(|place| format!("location: {place}\r\n")).unwrap_or_default();
            let moved = format!(
                "HTTP/1.1 {status} Moved\r\n{location}connection: close\r\ncontent-length: 0\r\n\r\n"
            );
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(moved.as_bytes()).unwrap();
            }
        });
    }

    async fn asked(url: &str) -> Result<Response, reqwest::Error> {
        let client = client(Duration::from_secs(20)).build().unwrap();
        client.post(url).header("x-api-key", "secret").body("{}").send().await
    }

    #[tokio::test]
    async fn a_service_that_sends_elsewhere_is_not_followed_and_named() {
        let (service, elsewhere) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (named, stolen) = (service.local_addr().unwrap(), elsewhere.local_addr().unwrap());
        redirecting(service, Some(format!("http://{stolen}/v2/messages?x=1")));
        let error = asked(&format!("http://{named}/v1/messages")).await.unwrap_err();
        assert_eq!(
            Redirected::of_error(&error).unwrap().told("base_url", "/messages"),
            format!(
                "the service at http://{named}/v1/messages redirected to http://{stolen}/v2/messages, which is another \
                 port of that host. Longshore does not send keys there; if that is the right address, put \
                 http://{stolen}/v2 into base_url."
            )
        );
        elsewhere.set_nonblocking(true).unwrap();
        assert!(elsewhere.accept().is_err(), "nobody called there");
    }

    #[tokio::test]
    async fn redirects_without_an_end_or_an_address_say_so() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", service.local_addr().unwrap());
        redirecting(service, Some("/v1".to_owned()));
        let error = asked(&url).await.unwrap_err();
        assert_eq!(
            Redirected::of_error(&error).unwrap().told("base_url", ""),
            format!("the service at {url} redirected more than 5 times, at last to {url}; check base_url.")
        );
        for (location, told) in
            [(Some("http://a b:x/".to_owned()), "http://a b:x/"), (None, "it has no Location")]
        {
            let service = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/v1", service.local_addr().unwrap());
            redirecting(service, location);
            let answer = asked(&url).await.unwrap();
            assert_eq!(
                Redirected::of_answer(&answer).unwrap().to_string(),
                format!("the service at {url} redirected (307) to an address that cannot be read: {told}")
            );
        }
    }

    #[tokio::test]
    async fn a_redirect_that_would_drop_the_request_is_not_followed() {
        for status in [301, 302, 303] {
            let service = TcpListener::bind("127.0.0.1:0").unwrap();
            let root = format!("http://{}", service.local_addr().unwrap());
            answering(service, status, Some("/v2/messages".to_owned()));
            let error = asked(&format!("{root}/v1/messages")).await.unwrap_err();
            assert_eq!(
                Redirected::of_error(&error).unwrap().told("base_url", "/messages"),
                format!(
                    "the service at {root}/v1/messages redirected ({status}) to {root}/v2/messages. Longshore follows \
                     307 and 308 only: the others drop what is sent; if that is the right address, put {root}/v2 into \
                     base_url."
                )
            );
        }
    }

    #[test]
    fn an_address_of_a_service_is_one_of_the_web() {
        assert_eq!(service_address("http://127.0.0.1:11434/v1/").unwrap(), "http://127.0.0.1:11434/v1");
        for told in
            ["127.0.0.1:11434/v1", "localhost:11434/v1", "ftp://a.example", "http://", "http://a.example?x=1"]
        {
            let error = service_address(told).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("{told} is no address of a service; it looks like http://127.0.0.1:11434/v1")
            );
        }
    }

    #[test]
    fn it_is_said_how_another_service_differs() {
        let how = |named: &str, next: &str| difference(&named.parse().unwrap(), &next.parse().unwrap());
        assert_eq!(how("https://a.example/v1", "https://b.example/v1"), "another host");
        assert_eq!(how("https://a.example/v1", "http://a.example/v1"), "the same host without encryption");
        assert_eq!(how("http://a.example:1/v1", "https://a.example:2/v1"), "another port of that host");
        assert_eq!(how("http://a.example:1/v1", "https://a.example:1/v1"), "another scheme on the same port");
        assert_eq!(how("http://a.example/v1", "ftp://a.example/v1"), "no address of the web");
        assert_eq!(shown(&"http://me:secret@a.example/v1?key=1#x".parse().unwrap()), "http://a.example/v1");
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
