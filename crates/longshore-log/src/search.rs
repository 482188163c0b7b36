//! Search: hits, and how a person's words become a query that no syntax can break.

use longshore_model::event::{Body, Event};
use longshore_model::id::{ItemId, Seq, SessionId};
use longshore_model::time::Timestamp;

/// Marks the beginning of a match in [`Hit::snippet`]: FIRST STRONG ISOLATE, which is invisible to programs
/// that do not know it.
pub const MATCH_BEGIN: char = '\u{2068}';
/// Marks the end of a match in [`Hit::snippet`]: POP DIRECTIONAL ISOLATE.
pub const MATCH_END: char = '\u{2069}';
/// The most hits of a search, whatever the caller asks for.
pub const MOST_HITS: usize = 200;

/// The most words of a query. The search ignores further words: nobody types more, and a query's cost stays
/// bounded.
const MOST_WORDS: usize = 32;
/// The most characters of a snippet.
pub const SNIPPET_CHARS: usize = 600;

/// The most tokens of a snippet.
pub const SNIPPET_TOKENS: usize = 24;

/// An event that contains the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The session of the event.
    pub session: SessionId,
    /// The event's place in the session.
    pub seq: Seq,
    /// The item of the event.
    pub item: Option<ItemId>,
    /// A piece of the event's text, with the matches between [`MATCH_BEGIN`] and [`MATCH_END`].
    pub snippet: String,
    /// When the event happened.
    pub at: Timestamp,
}

/// The words of a query. A word with punctuation inside (`foo_bar`, `src/main.rs`) matches its parts side by
/// side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWords(Vec<String>);

impl QueryWords {
    /// Splits the query at spaces. Words without a letter or digit are left out.
    pub fn of(query: &str) -> Self {
        let words = query.split(|c: char| c.is_whitespace() || c.is_control());
        let words = words.filter(|word| word.chars().any(char::is_alphanumeric));
        Self(words.take(MOST_WORDS).map(|word| word.chars().take(100).collect()).collect())
    }

    /// Whether it finds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The query in FTS5's syntax: each word as a quoted string, the last one as a prefix.
    pub fn to_fts5(&self) -> String {
        let quoted = self.0.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
        let mut query = quoted.collect::<Vec<_>>().join(" ");
        query.push('*');
        query
    }

    /// Finds all words in a text without an index. Returns a snippet if the text has them all.
    pub fn find_in(&self, text: &str) -> Option<String> {
        let tokens = tokens(text);
        let mut marked = vec![false; tokens.len()];
        for (number, word) in self.0.iter().enumerate() {
            let wanted: Vec<String> = self::tokens(word).into_iter().map(|token| token.folded).collect();
            let prefix = number + 1 == self.0.len();
            let starts: Vec<usize> = (0..tokens.len())
                .filter(|&start| tokens.get(start..).is_some_and(|rest| begins(rest, &wanted, prefix)))
                .collect();
            if starts.is_empty() {
                return None;
            }
            for start in starts {
                marked[start..start + wanted.len()].fill(true);
            }
        }
        Some(snippet(text, &tokens, &marked))
    }
}

/// The searchable text of an event; the SQL view `searchable` returns the same.
pub fn text_of(event: &Event) -> String {
    let text = event.text();
    let command = if let Body::ToolStarted(call) = &event.body { call.command.as_deref() } else { None };
    let command = command.filter(|command| *command != text);
    match command {
        Some(command) => format!("{text}\n{command}"),
        None => text.to_owned(),
    }
}

struct TextToken {
    start: usize,
    end: usize,
    folded: String,
}

fn tokens(text: &str) -> Vec<TextToken> {
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, c.is_alphanumeric()) {
            (None, true) => start = Some(at),
            (Some(begun), false) => {
                tokens.push(TextToken { start: begun, end: at, folded: text[begun..at].to_lowercase() });
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    tokens
}

fn begins(tokens: &[TextToken], wanted: &[String], prefix: bool) -> bool {
    let Some((last, whole)) = wanted.split_last() else { return false };
    tokens.len() >= wanted.len()
        && tokens.iter().zip(whole).all(|(token, wanted)| token.folded == *wanted)
        && tokens
            .get(whole.len())
            .is_some_and(|token| token.folded == *last || (prefix && token.folded.starts_with(last.as_str())))
}

/// The text from a little before the first match, with all matches marked.
fn snippet(text: &str, tokens: &[TextToken], marked: &[bool]) -> String {
    let first = marked.iter().position(|marked| *marked).unwrap_or(0).saturating_sub(SNIPPET_TOKENS / 4);
    let last = (first + SNIPPET_TOKENS).min(tokens.len());
    let mut snippet = String::from(if first > 0 { "…" } else { "" });
    let mut at = if first > 0 { tokens[first].start } else { 0 };
    for number in first..last {
        let token = &tokens[number];
        let inside = marked[number];
        let begins = inside && (number == 0 || !marked[number - 1]);
        let ends = inside && marked.get(number + 1) != Some(&true);
        snippet.push_str(&text[at..token.start]);
        snippet.extend(begins.then_some(MATCH_BEGIN));
        snippet.push_str(&text[token.start..token.end]);
        snippet.extend(ends.then_some(MATCH_END));
        at = token.end;
    }
    snippet.push_str(if last < tokens.len() { "…" } else { &text[at..] });
    bounded(snippet)
}

/// A snippet of bounded length that contains the first match: text without spaces is one token.
pub fn bounded(snippet: String) -> String {
    if snippet.len() <= SNIPPET_CHARS {
        return snippet;
    }
    let total = snippet.chars().count();
    let found = snippet.chars().position(|c| c == MATCH_BEGIN).unwrap_or(0);
    let from = found.saturating_sub(SNIPPET_CHARS / 4).min(total.saturating_sub(SNIPPET_CHARS));
    let mut kept: String = snippet.chars().skip(from).take(SNIPPET_CHARS).collect();
    // A mark that was opened is closed.
    let count = |text: &str, mark: char| text.chars().filter(|c| *c == mark).count();
    if count(&kept, MATCH_BEGIN) > count(&kept, MATCH_END) {
        kept.push(MATCH_END);
    }
    let before = if from > 0 { "…" } else { "" };
    let after = if from + SNIPPET_CHARS < total { "…" } else { "" };
    format!("{before}{kept}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_quoted_and_the_last_may_be_unfinished() {
        assert_eq!(QueryWords::of("fix the \"bug\" NEAR(a").to_fts5(), r#""fix" "the" """bug""" "NEAR(a"*"#);
        assert!(QueryWords::of(" \0 * ( ) \" -- ' ").is_empty());
        assert_eq!(QueryWords::of("a\0b").to_fts5(), r#""a" "b"*"#);
    }

    #[test]
    fn without_an_index_the_same_is_found() {
        let marks = |query: &str, text: &str| {
            let snippet = QueryWords::of(query).find_in(text)?;
            Some(snippet.replace(MATCH_BEGIN, "<").replace(MATCH_END, ">"))
        };
        assert_eq!(marks("anchor lif", "Lift the Anchor."), Some("<Lift> the <Anchor>.".into()));
        assert_eq!(marks("foo_bar", "call foo_bar()"), Some("call <foo>_<bar>()".replace(">_<", "_")));
        assert_eq!(marks("lift anchors", "Lift the anchor"), None);
        let long = format!("{} needle {}", "hay ".repeat(40), "hay ".repeat(40));
        let found = marks("needle", &long).unwrap();
        assert!(found.starts_with('…') && found.ends_with('…') && found.contains("<needle>"), "{found}");
    }

    #[test]
    fn a_text_without_spaces_makes_no_endless_snippet() {
        let solid = format!("{}{MATCH_BEGIN}x{MATCH_END}{}", "日本".repeat(100_000), "日本".repeat(100_000));
        let kept = bounded(solid);
        assert!(kept.chars().count() <= SNIPPET_CHARS + 3 && kept.contains(MATCH_BEGIN));
        assert!(kept.contains(MATCH_END) && kept.starts_with('…') && kept.ends_with('…'));
        assert_eq!(bounded("short".to_owned()), "short");
    }
}
