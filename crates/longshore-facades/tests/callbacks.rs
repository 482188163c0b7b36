//! The door for programs that call back: who gets in, and what passes through it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use longshore_facades::callback::{ANOTHER_KIND, Callbacks, HELD, NO_SUCH_SESSION, ProgramLine};
use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::id::SessionId;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::rig::{Rig, TOKEN, soon};

/// The longest message in these tests.
const LONGEST: usize = 4 << 20;

/// Whoever holds the processes: here, the test.
#[derive(Default)]
struct ProcessHolder {
    tokens: Mutex<HashMap<SessionId, String>>,
    calls: Mutex<Vec<HolderEnd>>,
}

/// The other end of a line.
struct HolderEnd {
    heard: mpsc::Receiver<FromProgram>,
    tell: mpsc::Sender<ToProgram>,
    arrived: watch::Receiver<u64>,
}

impl Callbacks for ProcessHolder {
    fn expects(&self, agent: &str) -> bool {
        agent == "plain"
    }

    fn knows(&self, token: &str) -> bool {
        self.tokens.lock().unwrap().values().any(|known| known == token)
    }

    fn answer(&self, session: SessionId, token: &str) -> Option<ProgramLine> {
        self.tokens.lock().unwrap().get(&session).filter(|known| *known == token)?;
        let (said, heard) = mpsc::channel(1);
        let (tell, told) = mpsc::channel(1);
        let (tells, arrived) = watch::channel(0);
        self.calls.lock().unwrap().push(HolderEnd { heard, tell, arrived });
        Some(ProgramLine { said, told, arrived: tells, longest: LONGEST })
    }
}

impl HolderEnd {
    async fn hears(&mut self) -> Option<FromProgram> {
        soon("the program is heard", self.heard.recv()).await
    }

    async fn tells(&self, number: u64, text: &str) {
        let lines = ToProgram::Lines { number, text: text.to_owned() };
        soon("the program is told", self.tell.send(lines)).await.unwrap();
    }
}

fn lines(text: &str) -> Option<FromProgram> {
    Some(FromProgram::Lines { text: text.to_owned() })
}

struct CallbackRig {
    rig: Rig,
    holder: Arc<ProcessHolder>,
    /// A session whose program calls back, with the token `own`.
    session: SessionId,
}

impl CallbackRig {
    async fn new() -> Self {
        let holder = Arc::new(ProcessHolder::default());
        let served = Arc::clone(&holder);
        let mut rig = Rig::with(|app| app.with_callbacks(served)).await;
        let (session, _) = rig.open_with("plain").await;
        holder.tokens.lock().unwrap().insert(session, "own".to_owned());
        Self { rig, holder, session }
    }

    /// The program's end and ours.
    async fn called(&self) -> (ProgramEnd, HolderEnd) {
        let program = call(self.rig.at, &self.session.to_string(), Some("own")).await.unwrap();
        let call = self.holder.calls.lock().unwrap().pop().unwrap();
        (program, call)
    }

    async fn refused(&self, session: &str, token: Option<&str>) -> (u16, String) {
        match call(self.rig.at, session, token).await {
            Ok(mut program) => (program.closed().await.unwrap_or_default(), String::new()),
            Err(refusal) => refusal,
        }
    }
}

struct ProgramEnd(WebSocketStream<TcpStream>);

fn request(at: SocketAddr, session: &str, token: Option<&str>) -> Request<()> {
    let mut request = format!("ws://{at}/ws/cli/{session}").into_client_request().unwrap();
    if let Some(token) = token {
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    request
}

async fn call(at: SocketAddr, session: &str, token: Option<&str>) -> Result<ProgramEnd, (u16, String)> {
    call_with(at, request(at, session, token)).await
}

async fn call_with(at: SocketAddr, request: Request<()>) -> Result<ProgramEnd, (u16, String)> {
    let tcp = TcpStream::connect(at).await.unwrap();
    match soon("the door answers", tokio_tungstenite::client_async(request, tcp)).await {
        Ok((wire, _)) => Ok(ProgramEnd(wire)),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
            crate::docs::check(&problem);
            Err((response.status().as_u16(), problem["code"].as_str().unwrap_or_default().to_owned()))
        }
        Err(error) => panic!("no door: {error}"),
    }
}

impl ProgramEnd {
    async fn says(&mut self, text: impl Into<String>) {
        soon("the hub reads", self.0.send(Message::text(text.into()))).await.unwrap();
    }

    /// The next text; whatever else comes is answered as it should be.
    async fn hears(&mut self) -> String {
        soon("the program hears", async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Text(text))) => return text.as_str().to_owned(),
                    Some(Ok(_)) => {}
                    other => panic!("instead of a text: {other:?}"),
                }
            }
        })
        .await
    }

    /// With which code the hub ends the connection.
    async fn closed(&mut self) -> Option<u16> {
        soon("the hub ends the connection", async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        })
        .await
    }
}

#[tokio::test]
async fn whoever_has_no_token_of_ours_is_not_let_in() {
    let setup = CallbackRig::new().await;
    let nobody = "0190c0de-0000-7000-8000-000000000001";
    for session in [setup.session.to_string().as_str(), nobody, "x"] {
        assert_eq!(setup.refused(session, None).await, (401, "no_token".to_owned()), "{session}");
        assert_eq!(setup.refused(session, Some("guess")).await, (401, "wrong_token".to_owned()), "{session}");
    }
    let plain = setup.rig.call("GET", format!("/ws/cli/{}", setup.session)).send().await;
    assert_eq!(plain.problem(), (400, "invalid_request".to_owned()), "it speaks WebSocket");
}

/// Nobody listens to it, so that nothing of it is held.
#[tokio::test]
async fn who_gets_no_line_cannot_say_much() {
    let setup = CallbackRig::new().await;
    let (token, _) = setup.rig.device("read_only").await;
    let mut program = call(setup.rig.at, "no-session", Some(&token)).await.unwrap();
    // The head of a binary frame of 16 MiB, masked with nothing.
    let mut frame = vec![0x82, 0xff];
    frame.extend((16_u64 << 20).to_be_bytes());
    frame.resize(14 + (16 << 20), 0);
    let sent = soon("the hub ends it", program.0.get_mut().write_all(&frame)).await;
    assert!(sent.is_err(), "the hub has listened to all of it");
}

#[tokio::test]
async fn only_its_own_token_opens_a_line() {
    let mut setup = CallbackRig::new().await;
    let (other, _) = setup.rig.open_with("plain").await;
    setup.holder.tokens.lock().unwrap().insert(other, "others".to_owned());
    for token in [TOKEN, "others"] {
        let refused = setup.refused(&setup.session.to_string(), Some(token)).await;
        assert_eq!(refused, (401, "wrong_token".to_owned()), "{token}");
    }
    // Its process is gone, and its token with it.
    setup.holder.tokens.lock().unwrap().remove(&setup.session);
    let refused = setup.refused(&setup.session.to_string(), Some("own")).await;
    assert_eq!(refused, (401, "wrong_token".to_owned()));
}

#[tokio::test]
async fn a_session_that_there_is_not_is_4004_and_one_of_another_kind_4005() {
    let mut setup = CallbackRig::new().await;
    let (codex, _) = setup.rig.open_with("codex").await;
    for token in [TOKEN, "own"] {
        for session in ["0190c0de-0000-7000-8000-000000000001", "no-session"] {
            assert_eq!(setup.refused(session, Some(token)).await.0, NO_SUCH_SESSION, "{session}");
        }
        assert_eq!(setup.refused(&codex.to_string(), Some(token)).await.0, ANOTHER_KIND);
    }
    assert_eq!((NO_SUCH_SESSION, ANOTHER_KIND), (4004, 4005));
}

#[tokio::test]
async fn a_foreign_name_and_a_foreign_page_are_refused_even_with_the_token() {
    let setup = CallbackRig::new().await;
    for (header, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let mut request = request(setup.rig.at, &setup.session.to_string(), Some("own"));
        request.headers_mut().insert(header, value.parse().unwrap());
        let refused = call_with(setup.rig.at, request).await.err();
        assert_eq!(refused, Some((403, format!("foreign_{header}"))));
    }
}

#[tokio::test]
async fn messages_pass_as_they_are_and_what_has_arrived_is_known() {
    let setup = CallbackRig::new().await;
    let (mut program, mut call) = setup.called().await;
    call.tells(1, "{\"a\":1}\n{\"b\":2}\n").await;
    program.says("one\ntwo\n").await;
    program.0.send(Message::binary("bytes\n")).await.unwrap();
    assert_eq!(call.hears().await, lines("one\ntwo\n"));
    assert_eq!(call.hears().await, lines("bytes\n"));
    assert_eq!(*call.arrived.borrow(), 0, "it has read nothing yet");
    assert_eq!(program.hears().await, "{\"a\":1}\n{\"b\":2}\n");
    call.tells(2, "more\n").await;
    assert_eq!(program.hears().await, "more\n");
    let reads = tokio::spawn(async move { program.hears().await });
    soon("it is known", call.arrived.wait_for(|number| *number == 2)).await.unwrap();
    call.tells(3, "end\n").await;
    assert_eq!(reads.await.unwrap(), "end\n");
}

#[tokio::test]
async fn a_line_ends_with_the_code_that_is_asked_for_and_what_was_said_is_heard() {
    let setup = CallbackRig::new().await;
    let (mut program, mut call) = setup.called().await;
    program.says("before").await;
    call.tell.send(ToProgram::Close { code: 4001, reason: "stopped".to_owned() }).await.unwrap();
    assert_eq!(program.closed().await, Some(4001));
    assert_eq!((call.hears().await, call.hears().await), (lines("before"), None));
}

#[tokio::test]
async fn a_line_whose_place_was_taken_is_heard_to_its_end() {
    let setup = CallbackRig::new().await;
    let (mut program, mut call) = setup.called().await;
    for n in 0..100 {
        program.says(format!("{n}")).await;
    }
    let HolderEnd { tell, .. } = &mut call;
    drop(std::mem::replace(tell, mpsc::channel(1).0));
    assert_eq!(program.closed().await, Some(1000));
    for n in 0..100 {
        assert_eq!(call.hears().await, lines(&n.to_string()));
    }
    assert_eq!(call.hears().await, None);
    let (mut again, mut call) = setup.called().await;
    again.says("back").await;
    assert_eq!(call.hears().await, lines("back"));
}

#[tokio::test]
async fn a_program_that_says_more_than_is_taken_waits_and_loses_nothing() {
    let setup = CallbackRig::new().await;
    let (mut program, mut call) = setup.called().await;
    let size = 1 << 20;
    let count = 4 * HELD / size;
    let speaks = tokio::spawn(async move {
        for n in 0..count {
            program.says(format!("{n} {}", "x".repeat(size))).await;
        }
        program
    });
    for n in 0..count {
        let Some(FromProgram::Lines { text }) = call.hears().await else { panic!("it ended at {n}") };
        assert_eq!((text.split_once(' ').unwrap().0, text.len() > size), (n.to_string().as_str(), true));
    }
    speaks.await.unwrap();
}

#[tokio::test]
async fn a_message_may_be_as_long_as_the_longest_line_and_no_longer() {
    let setup = CallbackRig::new().await;
    let (mut program, mut call) = setup.called().await;
    let longest = format!("{}\n", "x".repeat(LONGEST));
    program.says(longest.clone()).await;
    assert!(call.hears().await == lines(&longest));
    // The hub may hang up before it has read all of it.
    let _ = program.0.send(Message::text("x".repeat(LONGEST + 2))).await;
    assert_eq!(call.hears().await, Some(FromProgram::TooLong));
    assert_eq!(call.hears().await, None);
}

#[tokio::test]
async fn a_program_that_nobody_holds_any_more_is_let_go() {
    let setup = CallbackRig::new().await;
    let (mut program, call) = setup.called().await;
    drop(call);
    let ended = program.closed().await;
    assert!(ended.is_none_or(|code| code == 1000), "{ended:?}");
}
