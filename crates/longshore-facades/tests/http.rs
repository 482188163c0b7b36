//! An HTTP client of a few lines, so that tests see what is on the wire.

use std::fmt::Write;
use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::rig::soon;

/// A request that has not been sent yet.
pub(crate) struct Call {
    at: SocketAddr,
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Call {
    pub(crate) fn new(at: SocketAddr, method: &'static str, path: impl Into<String>) -> Self {
        let headers = vec![("host".to_owned(), at.to_string())];
        Self { at, method, path: path.into(), headers, body: Vec::new() }
    }

    /// Sets a header, in place of one of the same name.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.headers.retain(|(known, _)| known != name);
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let mut call = self.header("content-type", kind).header("content-length", body.len().to_string());
        call.body = body;
        call
    }

    /// The whole answer.
    pub(crate) async fn send(self) -> Reply {
        let what = format!("{} {}", self.method, self.path);
        let mut stream = self.stream().await;
        stream.reply.body = soon(&what, stream.rest()).await;
        stream.reply
    }

    /// The head of the answer, and its body as it comes.
    pub(crate) async fn stream(self) -> Stream {
        let what = format!("{} {}", self.method, self.path);
        soon(&what, self.begin()).await
    }

    async fn begin(self) -> Stream {
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        let mut tcp = TcpStream::connect(self.at).await.unwrap();
        tcp.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        tcp.write_all(&self.body).await.unwrap();
        Stream::read(tcp).await
    }
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// Status and code of a problem, which is one in every respect.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        crate::docs::check(&problem);
        (self.status, problem["code"].as_str().unwrap().to_owned())
    }

    /// The JSON of an answer that is none of a problem.
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        self.json()
    }
}

/// An answer whose body is read as it comes.
pub(crate) struct Stream {
    pub(crate) reply: Reply,
    reader: BufReader<TcpStream>,
    chunked: bool,
    length: Option<usize>,
    /// What has come and was not looked at.
    pending: Vec<u8>,
}

impl Stream {
    pub(crate) async fn read(tcp: TcpStream) -> Self {
        let mut reader = BufReader::new(tcp);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(reader.read_line(&mut line).await.unwrap() > 0, "the connection ended after {lines:?}");
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines[1..]
            .iter()
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let reply = Reply { status, headers, body: Vec::new() };
        let chunked = reply.header("transfer-encoding") == Some("chunked");
        let length = reply.header("content-length").map(|length| length.parse().unwrap());
        Self { reply, reader, chunked, length, pending: Vec::new() }
    }

    /// The next piece of the body; none at its end.
    async fn piece(&mut self) -> Option<Vec<u8>> {
        let mut piece = Vec::new();
        if self.chunked {
            let mut size = String::new();
            assert!(self.reader.read_line(&mut size).await.unwrap() > 0, "the body was cut short");
            piece.resize(usize::from_str_radix(size.trim(), 16).unwrap() + 2, 0);
            self.reader.read_exact(&mut piece).await.unwrap();
            piece.truncate(piece.len() - 2);
        } else if let Some(length) = self.length.take() {
            piece.resize(length, 0);
            self.reader.read_exact(&mut piece).await.unwrap();
        }
        (!piece.is_empty()).then_some(piece)
    }

    /// Everything so far, once these words are in it.
    pub(crate) async fn until(&mut self, words: &str) -> String {
        soon(words, async {
            loop {
                let text = String::from_utf8_lossy(&self.pending).into_owned();
                if text.contains(words) {
                    return text;
                }
                match self.piece().await {
                    Some(piece) => self.pending.extend(piece),
                    None => panic!("the body ended without `{words}`: {text}"),
                }
            }
        })
        .await
    }

    /// The whole answer.
    pub(crate) async fn whole(mut self) -> Reply {
        self.reply.body = soon("the rest of an answer", self.rest()).await;
        self.reply
    }

    async fn rest(&mut self) -> Vec<u8> {
        let mut body = std::mem::take(&mut self.pending);
        while let Some(piece) = self.piece().await {
            body.extend(piece);
        }
        body
    }

    /// The next server-sent event, its id and its data; none at the end. Comments are passed over.
    pub(crate) async fn event(&mut self) -> Option<(u64, Value)> {
        soon("a server-sent event", async {
            loop {
                let Some(end) = self.pending.windows(2).position(|end| end == b"\n\n") else {
                    let piece = self.piece().await?;
                    self.pending.extend(piece);
                    continue;
                };
                let block: Vec<u8> = self.pending.drain(..end + 2).collect();
                let block = String::from_utf8(block).unwrap();
                let field =
                    |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
                if let (Some(id), Some(data)) = (field("id: "), field("data: ")) {
                    return Some((id.parse().unwrap(), serde_json::from_str(&data).unwrap()));
                }
                assert!(block.starts_with(':'), "neither an event nor a comment: {block}");
            }
        })
        .await
    }

    /// Speaks to a connection that the hub has ended: the id of the last event that came before.
    pub(crate) async fn knock(&mut self) -> u64 {
        let _ = self.reader.get_mut().write_all(b"GET ").await;
        // Broken off or ended, what came is all there is.
        let _ = self.reader.read_to_end(&mut self.pending).await;
        let text = String::from_utf8_lossy(&self.pending);
        let mut ids = text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.next_back().map_or(0, |id| id.parse().unwrap())
    }
}
