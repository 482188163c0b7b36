//! Tool calls, assembled per `index` from many chunks. A call is complete when the service reports why the answer
//! ended, or when the stream is over.
//!
//! The reader accepts these variants: arguments as a whole, or as an object; ids that are missing or repeated; several
//! calls that all have the index 0; a missing index; a name in pieces, or repeated with every piece.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::Event;
use crate::api::text::Text;
use crate::tool::ToolDefinition;

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    index: Option<usize>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
    /// The data that Gemini needs back with this call.
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Text<'a>>,
}

impl<'a> CallDelta<'a> {
    /// A piece of `function_call`, the only call that an answer could have in older versions of the API.
    pub(super) fn of_old(function: FunctionDelta<'a>) -> Self {
        Self { index: None, id: None, function: Some(function), extra_content: None }
    }
}

/// A call, complete or not.
#[derive(Debug)]
pub(super) struct ChatCall {
    index: Option<usize>,
    id: Option<String>,
    name: String,
    arguments: String,
    pub(super) extra: Option<Value>,
}

impl ChatCall {
    /// Emits the call. Several objects of arguments one after the other are several calls of the same tool.
    pub(super) fn tell(self, tell: &mut dyn FnMut(Event<'_>)) {
        let all: Result<Vec<Map<String, Value>>, _> =
            serde_json::Deserializer::from_str(&self.arguments).into_iter().collect();
        match all {
            Ok(all) if all.len() > 1 => {
                for arguments in all {
                    let arguments = Value::Object(arguments).to_string();
                    tell(Event::Call { id: None, name: self.name.clone(), arguments });
                }
            }
            Ok(_) | Err(_) => tell(Event::Call { id: self.id, name: self.name, arguments: self.arguments }),
        }
    }

    fn has_whole_arguments(&self) -> bool {
        serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }
}

/// The calls of an answer.
#[derive(Debug)]
pub(super) struct ChatCalls {
    tools: Arc<[ToolDefinition]>,
    calls: Vec<ChatCall>,
}

impl ChatCalls {
    pub(super) fn new(tools: Arc<[ToolDefinition]>) -> Self {
        Self { tools, calls: Vec::new() }
    }

    pub(super) fn take(&mut self) -> Vec<ChatCall> {
        std::mem::take(&mut self.calls)
    }

    pub(super) fn grow(&mut self, delta: CallDelta<'_>) {
        let CallDelta { index, id, function, extra_content } = delta;
        let id = id.filter(|id| !id.0.is_empty()).map(Text::into_owned);
        let FunctionDelta { name, arguments } = function.unwrap_or_default();
        let name = name.map(Text::into_owned).unwrap_or_default();
        let arguments = arguments.map(Text::into_owned).unwrap_or_default();
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        let at = at.filter(|at| {
            self.calls.get(*at).is_some_and(|call| !self.is_another(call, id.as_deref(), &name, &arguments))
        });
        match at.and_then(|at| self.calls.get_mut(at)) {
            Some(call) => {
                call.id = call.id.take().or(id);
                // Some services repeat the name with every piece. Others send the name in pieces.
                if call.name != name && call.arguments.is_empty() {
                    call.name.push_str(&name);
                }
                call.arguments.push_str(&arguments);
                call.extra = extra_content.or(call.extra.take());
            }
            None => self.calls.push(ChatCall { index, id, name, arguments, extra: extra_content }),
        }
    }

    /// Whether a piece with the index of a call begins another call.
    fn is_another(&self, call: &ChatCall, id: Option<&str>, name: &str, arguments: &str) -> bool {
        if name.is_empty() || call.name.is_empty() {
            return false;
        }
        match (call.id.as_deref(), id) {
            (Some(before), Some(now)) => before != now,
            // A second name after complete arguments is a second call, unless the piece only repeats the name.
            (_, _) if call.has_whole_arguments() => call.name != name || !arguments.is_empty(),
            (_, _) => {
                let is_tool = |name: &str| self.tools.iter().any(|tool| tool.name == name);
                call.name != name
                    && call.arguments.is_empty()
                    && is_tool(&call.name)
                    && is_tool(name)
                    && !is_tool(&format!("{}{name}", call.name))
            }
        }
    }
}
