//! `longshore token`: prints the owner's token, or replaces it.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::connect;
use super::exit::Fault;
use super::terminal::put_line;
use crate::client::{Refused, Unreachable};
use crate::config::Places;

/// Print the owner's token, or replace it.
#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    what: Option<TokenVerb>,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Replace the token: every connection ends and pairing codes become void; devices stay paired
    Rotate,
}

impl TokenArgs {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let places = Places::find()?;
        let token = match self.what {
            Some(TokenVerb::Rotate) => rotate(&places).await?,
            None => current(&places)?,
        };
        match as_json {
            true => put_line(json!({ "token": token }))?,
            false => put_line(&token)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn current(places: &Places) -> Result<String> {
    connect::token(places).map_err(|error| match error.downcast_ref::<Unreachable>() {
        Some(_) => {
            let what = format!("there is no token in {} yet", places.token().display());
            Fault::not_found(what, "`longshore up` makes the token at its first start").into()
        }
        None => error,
    })
}

/// The new token, which the hub also keeps in its file.
async fn rotate(places: &Places) -> Result<String> {
    let before = current(places)?;
    let mut client = connect::running().await?;
    let rotated: Result<Value> = client.call("rotateToken", json!({})).await;
    match rotated {
        Ok(rotated) => Ok(rotated["token"].as_str().unwrap_or_default().to_owned()),
        Err(error) if error.downcast_ref::<Refused>().is_some() => Err(error),
        // The end of this very connection may come before the answer; then the file tells.
        Err(error) => current(places).ok().filter(|after| *after != before).ok_or(error),
    }
}
