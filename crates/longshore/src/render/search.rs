//! What a search found.

use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;

use super::clean::clean;
use super::human::{age, short_id};
use super::lifecycle;
use super::line::{Line, print};
use super::style::{Style, ink};
use super::wrap::{behind, wrap};

/// A place where the words were found.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// In which session.
    pub session: SessionId,
    /// At which event.
    pub seq: Seq,
    /// The title of the session.
    pub title: &'a str,
    /// When that event was.
    pub at: Timestamp,
    /// The words, with what stands around them.
    pub snippet: &'a str,
}

/// Hits, grouped by session in the order in which they came; what was looked for stands out.
pub fn search_hits(hits: &[Hit<'_>], query: &str, now: Timestamp, style: &Style) -> String {
    if hits.is_empty() {
        return print(&lifecycle::remark(&format!("nothing found for \"{query}\""), style), style);
    }
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut lines = Vec::new();
    let mut group = None;
    for hit in hits {
        if group != Some(hit.session) {
            if group.is_some() {
                lines.push(Line::default());
            }
            group = Some(hit.session);
            let mut head = Line::of(&short_id(hit.session), ink::CODE).with("  ", ink::PLAIN);
            head.push(&clean(hit.title), ink::BOLD);
            head.push(&format!("  {}", age(now.millis_since(hit.at))), ink::DIM);
            lines.push(head.cut(style.columns(), style.signs().more));
        }
        let first = Line::of(&format!("{:>6}  ", hit.seq.to_string()), ink::DIM);
        let rest = Line::of("        ", ink::PLAIN);
        let snippet = marked(&clean(hit.snippet).split_whitespace().collect::<Vec<_>>().join(" "), &words);
        lines.extend(behind(wrap(&snippet, style.columns().saturating_sub(8)), &first, &rest));
    }
    print(&lines, style)
}

/// The text with the words that were looked for in bold.
fn marked(text: &str, words: &[String]) -> Line {
    let mut line = Line::default();
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let found = words.iter().any(|wanted| word.to_lowercase().starts_with(wanted.as_str()));
        line.push(word, if found { ink::ASK } else { ink::PLAIN });
        line.push(piece.get(word.len()..).unwrap_or_default(), ink::PLAIN);
    }
    line
}
