//! An agent for tests that is a server: it tells where it listens in a line, answers requests and holds streams of
//! events.
//!
//! | request | does |
//! |---|---|
//! | `GET /events` | a stream, which begins with `hello` |
//! | `POST /say` | says the body on every stream |
//! | `POST /cut` | ends every stream |
//! | `POST /refuse` | ends every stream, and opens none from now on |
//! | `POST /wait`, `POST /go` | waits until the other has come once |
//! | `GET /never` | is never answered |
//! | `GET /big` | 3 MiB |
//! | `POST /die` | ends with 3, at once |
//! | anything else | is answered with method, path and body |
//!
//! With `FAKE_FOLDER` it answers with the files of that folder: `GET /a/b?c=d` with `-a-b-c-d`, and if there is none with
//! `-a-b`, and if there is none either with 404. What it was asked stands in `asked`, after `started` for each start.
//!
//! With `mute` as its argument it does not tell where it listens.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct Server {
    streams: Mutex<Vec<TcpStream>>,
    refuses: Mutex<bool>,
    /// Whether nobody has to wait any more.
    open: Mutex<bool>,
    go: Condvar,
}

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    if std::env::args().nth(1).as_deref() != Some("mute") {
        println!("fake server listening on http://{}", listener.local_addr().unwrap());
    }
    let server = Arc::new(Server::default());
    note("started");
    for stream in listener.incoming() {
        let (server, stream) = (Arc::clone(&server), stream.unwrap());
        std::thread::spawn(move || server.serve(stream));
    }
}

impl Server {
    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let of = |line: &String| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            };
            lines.iter().find_map(of)
        };
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        if !header("authorization").is_some_and(|value| value.starts_with("Basic ")) {
            return answer(&mut stream, 401, "who?");
        }
        let request = lines[0].trim_end_matches(" HTTP/1.1");
        match request {
            "GET /events" | "GET /global/event" => self.hold(stream),
            asked if std::env::var_os("FAKE_FOLDER").is_some() => {
                note(asked);
                match found(asked) {
                    Some(body) => answer(&mut stream, 200, &body),
                    None => answer(&mut stream, 404, r#"{"data":{"message":"not found"}}"#),
                }
            }
            "POST /say" => {
                for stream in self.streams.lock().unwrap().iter_mut() {
                    let _ = write!(stream, "{:x}\r\ndata: {body}\n\n\r\n", body.len() + 8);
                }
                answer(&mut stream, 200, "said");
            }
            "POST /cut" | "POST /refuse" => {
                *self.refuses.lock().unwrap() |= request == "POST /refuse";
                for stream in self.streams.lock().unwrap().drain(..) {
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                }
                answer(&mut stream, 200, "cut");
            }
            "POST /wait" => {
                let open = self.open.lock().unwrap();
                drop(self.go.wait_while(open, |open| !*open).unwrap());
                answer(&mut stream, 200, "waited");
            }
            "POST /go" => {
                *self.open.lock().unwrap() = true;
                self.go.notify_all();
                answer(&mut stream, 200, "gone");
            }
            "GET /never" => drop(stream.read(&mut [0])),
            "GET /big" => answer(&mut stream, 200, &"x".repeat(3 * 1024 * 1024)),
            "POST /die" => std::process::exit(3),
            other => answer(&mut stream, 200, &format!("{other} {body}")),
        }
    }

    fn hold(&self, mut stream: TcpStream) {
        if *self.refuses.lock().unwrap() {
            return answer(&mut stream, 503, "no more");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let hello = "10\r\n: life\n\ndata: he\r\n5\r\nllo\n\n\r\n";
        // Held while it is greeted, so that nothing is said in between.
        let mut streams = self.streams.lock().unwrap();
        if write!(stream, "{head}{hello}").is_ok() {
            streams.push(stream);
        }
    }
}

/// The file that answers a request.
fn found(asked: &str) -> Option<String> {
    let folder = std::path::PathBuf::from(std::env::var_os("FAKE_FOLDER")?);
    let path = asked.split(' ').nth(1)?;
    let named = |path: &str| {
        let name = path.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
        std::fs::read_to_string(folder.join(name)).ok()
    };
    named(path).or_else(|| named(path.split('?').next()?))
}

/// Writes down what happened, in one piece.
fn note(what: &str) {
    if let Some(folder) = std::env::var_os("FAKE_FOLDER") {
        let file = std::path::PathBuf::from(folder).join("asked");
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        file.unwrap().write_all(format!("{what}\n").as_bytes()).unwrap();
    }
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    // Whoever asked may be gone.
    let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}
