//! The hits of a search.

use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;

use super::clean::clean;
use super::human::{age, short_id};
use super::lifecycle;
use super::line::{InkLine, print};
use super::style::{Style, ink};
use super::wrap::{behind, wrap};

/// How many characters of a hit are shown: some languages have no words to count.
const SHOWN: usize = 300;

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
    // A session stands where its best hit is, with all its hits.
    let mut groups: Vec<Vec<&Hit<'_>>> = Vec::new();
    for hit in hits {
        match groups.iter_mut().find(|group| group[0].session == hit.session) {
            Some(group) => group.push(hit),
            None => groups.push(vec![hit]),
        }
    }
    for (at, hit) in groups.iter().flat_map(|group| group.iter().enumerate()) {
        if at == 0 {
            if !lines.is_empty() {
                lines.push(InkLine::default());
            }
            let mut head = InkLine::of(&short_id(hit.session), ink::CODE).with("  ", ink::PLAIN);
            head.push(&clean(hit.title), ink::BOLD);
            head.push(&format!("  {}", age(now.millis_since(hit.at))), ink::DIM);
            lines.push(head.cut(style.columns(), style.signs().more));
        }
        let first = InkLine::of(&format!("{:>6}  ", hit.seq.to_string()), ink::DIM);
        let rest = InkLine::of("        ", ink::PLAIN);
        let snippet = clean(hit.snippet).split_whitespace().collect::<Vec<_>>().join(" ");
        let snippet = marked(&around(&snippet, &words), &words);
        lines.extend(behind(wrap(&snippet, style.columns().saturating_sub(8)), &first, &rest));
    }
    print(&lines, style)
}

/// At most so many characters of a text, from a little before the first word that was looked for.
fn around(text: &str, words: &[String]) -> String {
    let lower = text.to_lowercase();
    // Case may change how long a text is; then it is shown from its beginning.
    let found =
        words.iter().filter_map(|word| lower.find(word.as_str())).min().filter(|_| lower.len() == text.len());
    let before = text.get(..found.unwrap_or(0)).map_or(0, |before| before.chars().count());
    let from = if text.chars().count() > SHOWN { before.saturating_sub(SHOWN / 4) } else { 0 };
    let mut shown: String = text.chars().skip(from).take(SHOWN).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().count() > from + SHOWN {
        shown.push('…');
    }
    shown
}

/// The text with the words that were looked for in bold.
fn marked(text: &str, words: &[String]) -> InkLine {
    let mut line = InkLine::default();
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let found = words.iter().any(|wanted| word.to_lowercase().starts_with(wanted.as_str()));
        line.push(word, if found { ink::ASK } else { ink::PLAIN });
        line.push(piece.get(word.len()..).unwrap_or_default(), ink::PLAIN);
    }
    line
}
