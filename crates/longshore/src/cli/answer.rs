//! `longshore answer`: answer a question of an agent.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::approval::AnswerAction;
use longshore_model::info::OpenQuestion;
use serde_json::{Map, Value, json};

use super::connect;
use super::exit::Fault;
use super::inbox::waiting;
use super::terminal::{ask_for, is_interactive, note, put_line, style};
use crate::client::Client;
use crate::render::{Show, field_prompt, parse_answer, question_prompt};

/// Answer a question of an agent.
#[derive(Debug, Args)]
#[command(
    after_help = "An answer is a choice, its number, or your own words if the question accepts them. Without answers, the verb asks you for them."
)]
pub(super) struct AnswerArgs {
    /// The question or its session: an id or a part of it; `-` means the latest session. Not needed if only one question waits
    question: Option<String>,
    /// The answers: one per field, in the order of the fields
    answers: Vec<String>,
    /// Decline to answer
    #[arg(long, conflicts_with = "answers")]
    decline: bool,
}

impl AnswerArgs {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let questions = waiting(&mut client).await?.questions;
        let named = connect::named(&mut client, self.question.as_deref()).await?;
        let open = found(&mut client, &questions, named.as_deref()).await?;
        let request = &open.request;
        let mut answers = Map::new();
        let action = if self.decline { AnswerAction::Decline } else { AnswerAction::Accept };
        if !self.decline && self.answers.is_empty() && is_interactive() {
            note(question_prompt(request, open.text.as_deref(), &style(Show::Hidden)));
            answers = asked(open)?;
        } else if !self.decline {
            if self.answers.len() > request.fields.len() {
                let what =
                    format!("you gave {} answers for {} fields", self.answers.len(), request.fields.len());
                return Err(Fault::usage(what, "give one answer per field, each in quotes").into());
            }
            let mut given = self.answers.iter();
            for field in &request.fields {
                let input = given.next().map_or("", String::as_str);
                let answer = parse_answer(field, input).map_err(|bad| {
                    Fault::usage(
                        format!("{}{bad}", field_prompt(field)),
                        "`longshore inbox` shows the question",
                    )
                })?;
                answers.extend(answer.map(|answer| (field.id.clone(), answer)));
            }
        }
        let params = json!({ "question": request.question, "answers": answers, "action": action });
        let answer: Value = client.call("answer", params).await?;
        match (as_json, self.decline) {
            (true, _) => put_line(&answer)?,
            (false, true) => put_line("declined")?,
            (false, false) => put_line("answered")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The question that a person means, by its own id or by its session's.
async fn found<'a>(
    client: &mut Client,
    questions: &'a [OpenQuestion],
    named: Option<&str>,
) -> Result<&'a OpenQuestion> {
    let fits = |open: &&OpenQuestion| match named {
        None => true,
        Some(name) => {
            open.request.question.to_string().contains(name) || open.session.to_string().contains(name)
        }
    };
    let found: Vec<&OpenQuestion> = questions.iter().filter(fits).collect();
    match found[..] {
        [one] => Ok(one),
        [] => {
            let what = match named {
                Some(name) if connect::session(client, Some(name)).await.is_ok() => {
                    "no question waits in this session".to_owned()
                }
                Some(name) if !questions.is_empty() => format!("no question `{name}` waits"),
                Some(_) | None => "no question waits".to_owned(),
            };
            Err(Fault::not_found(what, "`longshore inbox` lists everything that needs you").into())
        }
        _ => {
            let ids: Vec<String> = found.iter().map(|open| open.request.question.to_string()).collect();
            let hint = format!("name one question by its id: {}", ids.join(", "));
            Err(Fault::usage(format!("{} questions wait", found.len()), hint).into())
        }
    }
}

/// Asks the person who sits here, field by field.
fn asked(open: &OpenQuestion) -> Result<Map<String, Value>> {
    let mut answers = Map::new();
    for field in &open.request.fields {
        loop {
            ask_for(field_prompt(field));
            let mut input = String::new();
            if std::io::stdin().read_line(&mut input)? == 0 {
                return Err(Fault::usage(
                    "there was no answer",
                    "answer the question, or decline it with `--decline`",
                )
                .into());
            }
            match parse_answer(field, &input) {
                Ok(answer) => {
                    answers.extend(answer.map(|answer| (field.id.clone(), answer)));
                    break;
                }
                Err(bad) => note(bad),
            }
        }
    }
    Ok(answers)
}
