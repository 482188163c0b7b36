//! Reads one answer as its bytes arrive: events, or one body from services that do not stream.

use std::sync::Arc;

use super::chat;
use super::failure::{Failure, FailureKind};
use super::sse::{self, SseMessage};
use super::{Event, messages, plain_arguments, responses};
use crate::tool::ToolDefinition;
use longshore_model::service::ModelApi;

/// The mark that some services put before the answer.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The maximal size of an answer on the wire. Its thoughts and calls stay in memory until it ends.
const ANSWER_BYTES: usize = 64 << 20;

/// Reads one answer as it streams.
#[derive(Debug)]
pub struct Stream {
    form: Form,
    reader: AnswerReader,
    bytes: usize,
    over: bool,
}

/// The form of an answer. Its first bytes decide, because the headers can be wrong.
#[derive(Debug)]
enum Form {
    /// The first bytes, which do not decide yet.
    Unknown(Vec<u8>),
    Events(sse::SseDecoder),
    /// The body so far.
    Body(Vec<u8>),
}

#[derive(Debug)]
enum AnswerReader {
    Chat(Box<chat::ChatReader>),
    Responses(responses::ResponsesReader),
    Messages(messages::MessagesReader),
}

impl Stream {
    /// An empty stream for a request without tools.
    pub fn new(api: ModelApi) -> Self {
        Self::offering(api, &[].into())
    }

    /// An empty stream for a request with these tools.
    pub fn offering(api: ModelApi, tools: &Arc<[ToolDefinition]>) -> Self {
        let reader = match api {
            ModelApi::Chat => AnswerReader::Chat(Box::new(chat::ChatReader::new(Arc::clone(tools)))),
            ModelApi::Responses => AnswerReader::Responses(responses::ResponsesReader::default()),
            ModelApi::Messages => AnswerReader::Messages(messages::MessagesReader::default()),
        };
        Self { form: Form::Unknown(Vec::new()), reader, bytes: 0, over: false }
    }

    /// Whether the answer has ended, successfully or not.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Takes more bytes, cut anywhere, and emits the events in them.
    pub fn feed(&mut self, bytes: &[u8], mut tell: impl FnMut(Event<'_>)) {
        self.bytes += bytes.len();
        if self.bytes > ANSWER_BYTES {
            let why = format!("the model's service said more than {} MiB in one answer", ANSWER_BYTES >> 20);
            return told(Event::Failed(Failure::new(FailureKind::Garbled, why)), &mut self.over, &mut tell);
        }
        self.read(bytes, tell);
    }

    fn read(&mut self, bytes: &[u8], mut tell: impl FnMut(Event<'_>)) {
        let Self { form, reader, over, .. } = self;
        match form {
            Form::Unknown(head) => {
                head.extend_from_slice(bytes);
                let head = std::mem::take(head);
                match begins(&head) {
                    Begins::Unknown => *form = Form::Unknown(head),
                    Begins::Events(at) => {
                        *form = Form::Events(sse::SseDecoder::default());
                        self.read(head.get(at..).unwrap_or_default(), tell);
                    }
                    Begins::Body(at) => {
                        *form = Form::Body(Vec::new());
                        self.read(head.get(at..).unwrap_or_default(), tell);
                    }
                }
            }
            Form::Events(events) => {
                let fed = events.feed(bytes, |message| heard(reader, message, over, &mut tell));
                if let Err(failure) = fed {
                    told(Event::Failed(failure), over, &mut tell);
                }
            }
            Form::Body(body) => {
                body.extend_from_slice(bytes);
                if body.len() > sse::LONGEST {
                    *body = Vec::new();
                    let why = "the model's service sent an answer without end";
                    told(Event::Failed(Failure::new(FailureKind::Garbled, why)), over, &mut tell);
                }
            }
        }
    }

    /// The end of the bytes.
    pub fn end(&mut self, mut tell: impl FnMut(Event<'_>)) {
        let Self { form, reader, over, .. } = self;
        match form {
            Form::Unknown(_) => {}
            Form::Events(events) => events.end(|message| heard(reader, message, over, &mut tell)),
            Form::Body(body) if !*over => {
                let body = std::mem::take(body);
                reader.whole(&body, &mut |event| told(event, over, &mut tell));
            }
            Form::Body(_) => {}
        }
        if !*over {
            reader.end(&mut |event| told(event, over, &mut tell));
        }
        if !*over {
            told(Event::Failed(Failure::cut()), over, &mut tell);
        }
    }
}

enum Begins {
    Unknown,
    Events(usize),
    Body(usize),
}

/// The form and the first byte of an answer. Empty lines before it only keep the connection alive.
fn begins(head: &[u8]) -> Begins {
    if head.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(head) {
        return Begins::Unknown;
    }
    let marked = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let rest = head.get(marked..).unwrap_or_default();
    match rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
        None if rest.len() > sse::LONGEST => Begins::Events(head.len()),
        None => Begins::Unknown,
        // A list contains errors, as Google sends them.
        Some(at) if matches!(rest.get(at), Some(b'{' | b'[')) => Begins::Body(marked + at),
        Some(at) => Begins::Events(marked + at),
    }
}

fn heard(
    reader: &mut AnswerReader,
    message: SseMessage<'_>,
    over: &mut bool,
    tell: &mut impl FnMut(Event<'_>),
) {
    if *over {
    } else if message.is_error {
        told(Event::Failed(Failure::of_event(message.data)), over, tell);
    } else {
        reader.read(message.data, &mut |event| told(event, over, tell));
    }
}

fn told(event: Event<'_>, over: &mut bool, tell: &mut impl FnMut(Event<'_>)) {
    if *over {
        return;
    }
    *over = matches!(event, Event::Ended(_) | Event::Failed(_));
    tell(match event {
        Event::Call { id, name, arguments } => {
            Event::Call { id, name, arguments: plain_arguments(arguments) }
        }
        other => other,
    });
}

impl AnswerReader {
    fn read(&mut self, data: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        match self {
            AnswerReader::Chat(reader) => reader.read(data, tell),
            AnswerReader::Responses(reader) => reader.read(data, tell),
            AnswerReader::Messages(reader) => reader.read(data, tell),
        }
    }

    /// Reads an answer that is one body.
    fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) {
        match self {
            AnswerReader::Chat(reader) => reader.read(body, tell),
            AnswerReader::Responses(reader) => reader.whole(body, tell),
            AnswerReader::Messages(reader) => reader.whole(body, tell),
        }
    }

    /// Handles a stream that ended without its last event. Some services close the stream after a complete answer.
    fn end(&mut self, tell: &mut dyn FnMut(Event<'_>)) {
        match self {
            AnswerReader::Chat(reader) => reader.end(tell),
            AnswerReader::Responses(_) => {}
            AnswerReader::Messages(reader) => reader.end(tell),
        }
    }
}
