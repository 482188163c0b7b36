//! The text of a prompt: from an argument, from a pipe, or typed until Ctrl-D.

use std::io::IsTerminal;

use anyhow::{Context, Result};

use super::exit::Fault;
use super::terminal::note;

/// The words of an argument; without one, or with `-`, those of stdin. `example` says how it could look.
pub(super) fn said(argument: Option<&str>, example: &str) -> Result<String> {
    let text = match argument {
        Some("-") | None => {
            if std::io::stdin().is_terminal() {
                note("type the prompt; Ctrl-D ends it");
            }
            let text = std::io::read_to_string(std::io::stdin()).context("cannot read the prompt")?;
            text.trim_end_matches('\n').to_owned()
        }
        Some(text) => text.to_owned(),
    };
    match text.trim().is_empty() {
        true => Err(Fault::usage("the prompt is empty", format!("give a prompt, as in: {example}")).into()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_prompt() {
        assert_eq!(said(Some("fix it"), "").unwrap(), "fix it");
        let error = said(Some(" \n"), "longshore run codex \"fix the tests\"").unwrap_err();
        assert!(error.to_string().contains("empty"), "{error}");
    }
}
