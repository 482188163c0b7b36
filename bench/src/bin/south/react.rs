//! The built-in agent: how fast it parses the streams of models, and how long one more round of its loop takes.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use longshore_drivers::react::settings::VARIABLE;
use longshore_model::service::ModelApi;
use longshore_models::api::{Event, Stream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::cpu::Cpu;

/// The size of a read from a socket.
const CHUNK: usize = 16 << 10;
/// The number of pieces of one answer.
const PIECES: usize = 20_000;
/// How many rounds of the loop are measured.
const ROUNDS: usize = 300;

/// How many megabytes of each API's stream are parsed per second.
pub(crate) fn read(seconds: f64) -> Result<Vec<(&'static str, f64)>> {
    let apis =
        [("chat", ModelApi::Chat), ("responses", ModelApi::Responses), ("messages", ModelApi::Messages)];
    apis.into_iter().map(|(name, api)| Ok((name, read_one(api, seconds)?))).collect()
}

fn read_one(api: ModelApi, seconds: f64) -> Result<f64> {
    let answer = answer(api);
    let (began, cpu, mut bytes) = (Instant::now(), Cpu::of_thread(), 0);
    while began.elapsed() < Duration::from_secs_f64(seconds) {
        let (mut stream, mut pieces, mut ended) = (Stream::new(api), 0, false);
        for chunk in answer.as_bytes().chunks(CHUNK) {
            stream.feed(chunk, |event| match event {
                Event::Text(_) => pieces += 1,
                Event::Ended(_) => ended = true,
                _ => {}
            });
        }
        ensure!(pieces == PIECES && ended, "{api:?}: {pieces} pieces were read");
        bytes += answer.len();
    }
    Ok(bytes as f64 / 1e6 / cpu.seconds())
}

/// An answer as services stream it: many small pieces, each with the usual fields around it.
fn answer(api: ModelApi) -> String {
    let mut text = String::new();
    let mut event = |event: &Value| {
        let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
        text.push_str(&format!("{name}data: {event}\n\n"));
    };
    let words = |at: usize| if at % 8 == 7 { "words,\n" } else { " a few words" };
    match api {
        ModelApi::Chat => {
            let chunk = |delta: Value, finish: Value| {
                json!({ "id": "chatcmpl-CZx81nUOIcDXhSCbkXP6qA3cYFYjR", "object": "chat.completion.chunk",
                    "created": 1_794_768_302, "model": "gpt-5.5-2026-08-07", "service_tier": "default",
                    "system_fingerprint": "fp_560af6e559", "choices": [{ "index": 0, "delta": delta,
                    "logprobs": null, "finish_reason": finish }], "usage": null, "obfuscation": "kX3h" })
            };
            (0..PIECES).for_each(|at| event(&chunk(json!({ "content": words(at) }), Value::Null)));
            event(&chunk(json!({}), json!("stop")));
            text.push_str("data: [DONE]\n\n");
        }
        ModelApi::Responses => {
            (0..PIECES).for_each(|at| {
                event(&json!({ "type": "response.output_text.delta", "sequence_number": at, "output_index": 1,
                    "item_id": "msg_68fa5b1c9d8c8190a5d1f8e1c6f6ff3b0a9a", "content_index": 0, "delta": words(at),
                    "logprobs": [], "obfuscation": "kX3hTq9aL" }));
            });
            event(&json!({ "type": "response.completed", "response": { "usage": { "input_tokens": 9 } } }));
        }
        ModelApi::Messages => {
            event(
                &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            );
            (0..PIECES).for_each(|at| {
                let delta = json!({ "type": "text_delta", "text": words(at) });
                event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
            });
            event(&json!({ "type": "content_block_stop", "index": 0 }));
            event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
            event(&json!({ "type": "message_stop" }));
        }
    }
    text
}

/// The time of each round, in milliseconds, sorted. A round lasts from the last byte of an answer with a tool call to
/// the last byte of the next request, which has the result. It includes the whole program, with its pipes, a real tool
/// and HTTP.
pub(crate) async fn rounds() -> Result<Vec<f64>> {
    let program = std::env::current_exe()?.with_file_name("longshore");
    ensure!(program.exists(), "{} is not there; `make bench` builds it", program.display());
    let folder = tempfile::tempdir()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/v1", listener.local_addr()?);
    let settings = json!({ "api": "chat", "base_url": base, "model": "m", "max_iterations": ROUNDS + 2 });
    let mut agent = Command::new(program)
        .arg("react")
        .env(VARIABLE, settings.to_string())
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (mut stdin, stdout) =
        (agent.stdin.take().context("no stdin")?, agent.stdout.take().context("no stdout")?);
    let id = |last: u32| format!("01990000-0000-7000-8000-{last:012}");
    let open = json!({ "open": { "session": id(1), "agent": "react", "cwd": folder.path(), "mode": "full",
        "model": null, "mcp_servers": [], "start": { "start": "new" } } });
    let prompt = json!({ "tell": "prompt", "with": { "turn": id(2), "prompt": id(3), "text": "go", "attachments": [] } });
    stdin.write_all(format!("{open}\n{prompt}\n").as_bytes()).await?;
    let said = tokio::spawn(async move {
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next_line().await? {
            if line.contains("\"turn_finished\"") {
                return Ok(line);
            }
        }
        bail!("the agent ended before its turn")
    });
    let mut gaps = serve(&listener).await?;
    let end = tokio::time::timeout(Duration::from_secs(10), said).await???;
    ensure!(end.contains("\"completed\""), "the turn ended otherwise: {end}");
    gaps.sort_by(f64::total_cmp);
    Ok(gaps)
}

async fn serve(listener: &TcpListener) -> Result<Vec<f64>> {
    let (mut socket, _) = tokio::time::timeout(Duration::from_secs(10), listener.accept()).await??;
    socket.set_nodelay(true)?;
    let chunk = |delta: Value, finish: &str| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\ndata: [DONE]\n\n", json!({ "choices": [choice] }))
    };
    let mut gaps = Vec::with_capacity(ROUNDS);
    request(&mut socket).await?;
    for round in 0..ROUNDS {
        let function = json!({ "name": "list_dir", "arguments": "{}" });
        let call = json!({ "index": 0, "id": format!("call_{round}"), "function": function });
        respond(&mut socket, &chunk(json!({ "tool_calls": [call] }), "tool_calls")).await?;
        let began = Instant::now();
        request(&mut socket).await?;
        gaps.push(began.elapsed().as_secs_f64() * 1e3);
    }
    respond(&mut socket, &chunk(json!({ "content": "Done." }), "stop")).await?;
    Ok(gaps)
}

async fn respond(socket: &mut TcpStream, body: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Ok(socket.write_all(format!("{head}{body}").as_bytes()).await?)
}

/// Reads one whole request.
async fn request(socket: &mut TcpStream) -> Result<()> {
    let mut all = Vec::new();
    loop {
        let mut chunk = [0; 64 << 10];
        let count = tokio::time::timeout(Duration::from_secs(10), socket.read(&mut chunk)).await??;
        ensure!(count > 0, "the agent hung up");
        all.extend_from_slice(&chunk[..count]);
        let Some(end) = all.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.context("a request without a length")?.trim().parse()?;
        if all.len() >= end + 4 + length {
            return Ok(());
        }
    }
}
