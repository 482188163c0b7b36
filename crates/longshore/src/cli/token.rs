//! `longshore token`: the owner's token.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::reach;
use crate::config::Places;

pub(super) fn run(as_json: bool) -> Result<ExitCode> {
    let token = reach::token(&Places::find()?)?;
    match as_json {
        true => println!("{}", json!({ "token": token })),
        false => println!("{token}"),
    }
    Ok(ExitCode::SUCCESS)
}
