//! `longshore token`: the owner's token.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::exit::Fault;
use super::reach;
use super::terminal::put_line;
use crate::client::Unreachable;
use crate::config::Places;

pub(super) fn run(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    let token = reach::token(&places).map_err(|error| match error.downcast_ref::<Unreachable>() {
        Some(_) => {
            let what = format!("there is no token in {} yet", places.token().display());
            Fault::not_found(what, "the first start makes it: `longshore up`").into()
        }
        None => error,
    })?;
    match as_json {
        true => put_line(json!({ "token": token }))?,
        false => put_line(&token)?,
    }
    Ok(ExitCode::SUCCESS)
}
