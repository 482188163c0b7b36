//! Questions of an agent, and answers parsed from a line of input.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use serde_json::Value;

use super::ask::Boxed;
use super::clean::clean;
use super::grid::{Side, padded};
use super::line::{InkLine, print};
use super::style::{Style, ink};
use super::wrap::{behind, width_of, wrap};

/// Why an input is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// The field must be filled in.
    #[error("an answer is needed")]
    Needed,
    /// The field takes numbers.
    #[error("`{0}` is no number")]
    NotANumber(String),
    /// The field takes whole numbers.
    #[error("`{0}` is no whole number")]
    NotWhole(String),
    /// The field takes yes and no.
    #[error("answer y or n")]
    NotYesOrNo,
    /// The field takes its choices only.
    #[error("`{0}` is not one of the choices; answer with a number from 1 to {1}")]
    NotAChoice(String, usize),
}

/// A question as a box: every field with its numbered choices.
pub fn question_prompt(request: &QuestionRequest, text: Option<&str>, style: &Style) -> String {
    print(&question_lines(request, text, style), style)
}

/// What stands before the input of one field: `Colour (1-3, or your own words): `.
pub fn field_prompt(field: &Field) -> String {
    let hint = hint(field);
    let name = if field.label.trim().is_empty() { &field.id } else { &field.label };
    let name = InkLine::of(clean(name).trim(), ink::PLAIN);
    let name: String = name.spans().iter().map(|span| span.text()).collect();
    if hint.is_empty() { format!("{name}: ") } else { format!("{name} ({hint}): ") }
}

/// An input as the answer to a field: a number stands for its choice. None leaves the field out.
pub fn parse_answer(field: &Field, input: &str) -> Result<Option<Value>, BadAnswer> {
    let input = input.trim();
    if input.is_empty() {
        return if field.optional { Ok(None) } else { Err(BadAnswer::Needed) };
    }
    let number = || input.parse::<f64>().ok().filter(|number| number.is_finite());
    let answer = match field.kind {
        FieldKind::Text if field.choices.is_empty() => Value::from(input),
        FieldKind::Number => Value::from(number().ok_or_else(|| BadAnswer::NotANumber(input.to_owned()))?),
        FieldKind::Integer => {
            Value::from(input.parse::<i64>().map_err(|_| BadAnswer::NotWhole(input.to_owned()))?)
        }
        FieldKind::Boolean => match input.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" | "1" => Value::Bool(true),
            "n" | "no" | "false" | "0" => Value::Bool(false),
            _ => return Err(BadAnswer::NotYesOrNo),
        },
        FieldKind::One | FieldKind::Text => Value::from(chosen(field, input)?),
        // A label may have a comma in it.
        FieldKind::Many => match chosen_exactly(&field.choices, input) {
            Some(label) => Value::from(vec![label]),
            None => {
                let parts = input.split(',').map(str::trim).filter(|part| !part.is_empty());
                let labels = parts.map(|part| chosen(field, part)).collect::<Result<Vec<_>, _>>()?;
                if labels.is_empty() {
                    return Err(BadAnswer::Needed);
                }
                Value::from(labels)
            }
        },
    };
    Ok(Some(answer))
}

pub(super) fn question_lines(request: &QuestionRequest, text: Option<&str>, style: &Style) -> Vec<InkLine> {
    let title = match &request.source {
        Some(source) => format!("{} asks", clean(source)),
        None => "A question".to_owned(),
    };
    let mut boxed = Boxed::new(&title, style);
    let text = text.map(|text| clean(text).trim().to_owned()).filter(|text| !text.is_empty());
    let repeats = |text: &String| request.fields.iter().any(|field| clean(&field.text).trim() == text);
    if let Some(text) = text.filter(|text| !repeats(text)) {
        boxed.text(&text, ink::BOLD, "", "");
    }
    for field in &request.fields {
        if !boxed.lines.is_empty() {
            boxed.lines.push(InkLine::default());
        }
        let said = if field.text.trim().is_empty() { &field.label } else { &field.text };
        boxed.text(&clean(said), ink::BOLD, "", "");
        let room = boxed.room();
        boxed.lines.extend(choices(field, room));
        let hint = hint(field);
        if !hint.is_empty() {
            boxed.text(&hint, ink::DIM, "  ", "  ");
        }
    }
    boxed.finish()
}

/// Who answered what; secrets stay secret.
pub(super) fn answered(
    answer: &QuestionAnswer,
    asked: Option<&QuestionRequest>,
    style: &Style,
) -> Vec<InkLine> {
    let signs = style.signs();
    let by = format!(" by {}", clean(&answer.by));
    let (sign, ink, words) = match answer.action {
        AnswerAction::Accept => (signs.done, ink::GOOD, "answered"),
        AnswerAction::Decline => (signs.declined, ink::WARN, "declined"),
        AnswerAction::Cancel => (signs.stopped, ink::WARN, "dismissed"),
    };
    let mut line = InkLine::of(words, ink).with(&by, ink::DIM);
    for (id, value) in &answer.answers {
        // Without the question nobody knows what is secret.
        let field = asked.and_then(|asked| asked.fields.iter().find(|field| field.id == *id));
        let Some(field) = field.filter(|field| !field.secret) else { continue };
        let name = if field.label.trim().is_empty() { &field.id } else { &field.label };
        line.push(&format!(" {} {}: ", signs.dot, clean(name)), ink::DIM);
        line.push(&clean(&plain(value)), ink::PLAIN);
    }
    let first = InkLine::of(sign, ink).with(" ", ink::PLAIN);
    behind(wrap(&line, style.columns().saturating_sub(2)), &first, &InkLine::of("  ", ink::PLAIN))
}

fn plain(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        text.to_owned()
    } else if let Some(values) = value.as_array() {
        values.iter().map(plain).collect::<Vec<_>>().join(", ")
    } else {
        value.to_string()
    }
}

fn choices(field: &Field, room: usize) -> Vec<InkLine> {
    let widest = field.choices.iter().map(|choice| width_of(&clean(&choice.label))).max().unwrap_or(0);
    let column = widest.min(room / 3);
    let digits = field.choices.len().to_string().len();
    let mut lines = Vec::new();
    for (index, choice) in field.choices.iter().enumerate() {
        let number = InkLine::of(&format!("  {:>digits$} ", index + 1), ink::ASK);
        let label = InkLine::of(&clean(&choice.label), ink::PLAIN);
        let description = InkLine::of(&clean(&choice.description), ink::DIM);
        let under = |columns: usize| InkLine::of(&" ".repeat(columns), ink::PLAIN);
        if !description.is_empty() && label.width() <= column {
            let indent = number.width() + column + 2;
            let mut first = number;
            first.append(padded(label, column + 2, Side::Left));
            lines.extend(behind(wrap(&description, room.saturating_sub(indent)), &first, &under(indent)));
        } else {
            let indent = number.width();
            let fit = |line: &InkLine| wrap(line, room.saturating_sub(indent));
            lines.extend(behind(fit(&label), &number, &under(indent)));
            if !description.is_empty() {
                lines.extend(behind(fit(&description), &under(indent), &under(indent)));
            }
        }
    }
    lines
}

fn hint(field: &Field) -> String {
    let count = field.choices.len();
    let mut hints: Vec<String> = Vec::new();
    match field.kind {
        FieldKind::Text | FieldKind::One if count > 1 => hints.push(format!("1-{count}")),
        FieldKind::Many if count > 1 => hints.push(format!("some of 1-{count}, like 1,2")),
        FieldKind::Number => hints.push("a number".to_owned()),
        FieldKind::Integer => hints.push("a whole number".to_owned()),
        FieldKind::Boolean => hints.push("y or n".to_owned()),
        FieldKind::Text | FieldKind::One | FieldKind::Many => {}
    }
    if field.open && count > 0 {
        hints.push("or your own words".to_owned());
    }
    if field.secret {
        hints.push("not shown".to_owned());
    }
    if field.optional {
        hints.push("empty leaves it out".to_owned());
    }
    hints.join(", ")
}

fn chosen(field: &Field, input: &str) -> Result<String, BadAnswer> {
    let own_words = field.open || field.kind == FieldKind::Text;
    match chosen_exactly(&field.choices, input) {
        Some(label) => Ok(label.to_owned()),
        None if own_words => Ok(input.to_owned()),
        None => Err(BadAnswer::NotAChoice(input.to_owned(), field.choices.len())),
    }
}

/// By its words, or by its number.
fn chosen_exactly<'a>(choices: &'a [Choice], input: &str) -> Option<&'a str> {
    let by_label = choices.iter().find(|choice| choice.label.to_lowercase() == input.to_lowercase());
    let by_number = || choices.get(input.parse::<usize>().ok()?.checked_sub(1)?);
    by_label.or_else(by_number).map(|choice| choice.label.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(kind: FieldKind, labels: &[&str]) -> Field {
        let choice = |label: &&str| Choice { label: (*label).to_owned(), description: format!("as {label}") };
        Field {
            id: "color".to_owned(),
            label: "Colour".to_owned(),
            text: "Which colour?".to_owned(),
            kind,
            choices: labels.iter().map(choice).collect(),
            open: false,
            secret: false,
            optional: false,
        }
    }

    fn request(fields: Vec<Field>) -> QuestionRequest {
        let question = "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6".parse().unwrap();
        QuestionRequest { question, source: None, fields }
    }

    #[test]
    fn choices_are_numbered() {
        let mut colour = field(FieldKind::One, &["Blue", "Deep red"]);
        colour.open = true;
        let text = question_prompt(&request(vec![colour.clone()]), Some("Which colour?"), &Style::default());
        assert_eq!(
            text,
            "\
╭─ A question
│ Which colour?
│   1 Blue      as Blue
│   2 Deep red  as Deep red
│   1-2, or your own words
╰─
"
        );
        assert_eq!(field_prompt(&colour), "Colour (1-2, or your own words): ");
    }

    #[test]
    fn numbers_and_labels_choose() {
        let one = field(FieldKind::One, &["Blue", "Red"]);
        assert_eq!(parse_answer(&one, " 2 "), Ok(Some(json!("Red"))));
        assert_eq!(parse_answer(&one, "blue"), Ok(Some(json!("Blue"))));
        assert_eq!(parse_answer(&one, "3"), Err(BadAnswer::NotAChoice("3".to_owned(), 2)));
        assert_eq!(parse_answer(&one, "0"), Err(BadAnswer::NotAChoice("0".to_owned(), 2)));
        assert_eq!(parse_answer(&one, ""), Err(BadAnswer::Needed));
        let open = Field { open: true, optional: true, ..one };
        assert_eq!(parse_answer(&open, "teal"), Ok(Some(json!("teal"))));
        assert_eq!(parse_answer(&open, " "), Ok(None));
        let many = field(FieldKind::Many, &["a", "b, c"]);
        assert_eq!(parse_answer(&many, "1,2"), Ok(Some(json!(["a", "b, c"]))));
        assert_eq!(parse_answer(&many, "b, c"), Ok(Some(json!(["b, c"]))));
        assert_eq!(parse_answer(&many, ","), Err(BadAnswer::Needed));
    }

    #[test]
    fn kinds_are_read_as_what_they_are() {
        assert_eq!(parse_answer(&field(FieldKind::Text, &[]), "hi"), Ok(Some(json!("hi"))));
        assert_eq!(parse_answer(&field(FieldKind::Number, &[]), "1.5"), Ok(Some(json!(1.5))));
        assert_eq!(parse_answer(&field(FieldKind::Integer, &[]), "7"), Ok(Some(json!(7))));
        assert_eq!(parse_answer(&field(FieldKind::Boolean, &[]), "Y"), Ok(Some(json!(true))));
        assert_eq!(
            parse_answer(&field(FieldKind::Number, &[]), "NaN"),
            Err(BadAnswer::NotANumber("NaN".to_owned()))
        );
        assert_eq!(
            parse_answer(&field(FieldKind::Integer, &[]), "1.5"),
            Err(BadAnswer::NotWhole("1.5".to_owned()))
        );
        assert_eq!(parse_answer(&field(FieldKind::Boolean, &[]), "maybe"), Err(BadAnswer::NotYesOrNo));
    }

    #[test]
    fn an_answer_keeps_its_secrets() {
        let secret = Field { id: "pin".to_owned(), secret: true, ..field(FieldKind::Text, &[]) };
        let asked = request(vec![field(FieldKind::One, &["Blue"]), secret]);
        let answers = [("color".to_owned(), json!("Blue")), ("pin".to_owned(), json!("1234"))];
        let answer = QuestionAnswer {
            action: AnswerAction::Accept,
            answers: answers.into_iter().collect(),
            by: "owner".to_owned(),
        };
        let style = Style::default();
        assert_eq!(
            print(&answered(&answer, Some(&asked), &style), &style),
            "✓ answered by owner · Colour: Blue\n"
        );
    }
}
