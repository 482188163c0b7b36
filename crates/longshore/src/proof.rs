//! Asks a hub to prove that it knows our token, before the token is sent, on the connection that would carry
//! it.

use std::time::Duration;

use anyhow::Result;
use longshore_facades::auth::Challenge;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::dial::Wire;

/// How long whoever listens there may take.
const WITHIN: Duration = Duration::from_secs(15);
/// How long the answer may be.
const LONGEST: usize = 64 << 10;

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It knows the token.
    Given,
    /// The hub says that it does not know the token.
    AnotherHub,
    /// The answer is no proof: the program is no hub, or a hub that proves nothing.
    None,
    /// The hub claims to know the token, and does not.
    Wrong,
}

/// Asks whoever is at the other end of a connection, which can be used on afterwards.
pub(crate) async fn ask(wire: &mut Box<dyn Wire>, host: &str, challenge: &Challenge) -> Result<Proof> {
    let request =
        format!("GET {} HTTP/1.1\r\nhost: {host}\r\naccept: application/json\r\n\r\n", challenge.path());
    let asked = async {
        wire.write_all(request.as_bytes()).await?;
        wire.flush().await?;
        Reply::read(wire).await
    };
    // Somebody listens; whoever does not answer has not proven anything either.
    let reply = tokio::time::timeout(WITHIN, asked).await.unwrap_or(Ok(None))?;
    Ok(reply.map_or(Proof::None, |reply| reply.proof(challenge)))
}

/// An answer, of which only a little is needed.
struct Reply {
    status: u16,
    body: Vec<u8>,
}

impl Reply {
    /// None of what is no answer of a hub.
    async fn read(wire: &mut Box<dyn Wire>) -> std::io::Result<Option<Self>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            // Byte by byte: what comes after the answer is somebody else's to read.
            let mut byte = [0];
            if head.len() >= LONGEST || wire.read(&mut byte).await? == 0 {
                return Ok(None);
            }
            head.push(byte[0]);
        }
        let Ok(head) = String::from_utf8(head) else { return Ok(None) };
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok());
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        };
        let length = lines.find_map(field).filter(|length| *length <= LONGEST);
        let (Some(status), Some(length)) = (status, length) else { return Ok(None) };
        let mut body = vec![0; length];
        wire.read_exact(&mut body).await?;
        Ok(Some(Self { status, body }))
    }

    fn proof(&self, challenge: &Challenge) -> Proof {
        #[derive(Deserialize)]
        struct Answer {
            proof: Option<String>,
            code: Option<String>,
        }
        let answer = serde_json::from_slice(&self.body).unwrap_or(Answer { proof: None, code: None });
        match (self.status, answer) {
            (200, Answer { proof: Some(proof), .. }) if challenge.is_met(&proof) => Proof::Given,
            (200, Answer { proof: Some(_), .. }) => Proof::Wrong,
            (404, Answer { code: Some(code), .. }) if code == "unknown_key" => Proof::AnotherHub,
            _ => Proof::None,
        }
    }
}
