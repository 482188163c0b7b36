//! Text in pieces: how a model's text is cut into deltas, and how fast the deltas are sent.

use std::time::Duration;

/// A text in pieces, with the pause after each piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    pieces: Vec<String>,
    delay: Duration,
}

/// A rule for cutting a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutting {
    /// Into this many pieces of about the same length. A shorter text has fewer pieces.
    Count(usize),
    /// After every white space character.
    Words,
    /// After every line.
    Lines,
}

impl Chunks {
    /// A text cut by a rule.
    pub fn cut(text: &str, cutting: Cutting, delay: Duration) -> Self {
        let pieces = match cutting {
            Cutting::Count(count) => even_pieces(text, count),
            Cutting::Words => text.split_inclusive(char::is_whitespace).collect(),
            Cutting::Lines => text.split_inclusive('\n').collect(),
        };
        Chunks::exact(pieces.into_iter().map(str::to_owned).collect(), delay)
    }

    /// A text in the author's own pieces.
    pub fn exact(pieces: Vec<String>, delay: Duration) -> Self {
        Chunks { pieces, delay }
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.pieces.concat()
    }

    /// The pieces in order. Joined, they are the text.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// The pause after each piece.
    pub fn delay(&self) -> Duration {
        self.delay
    }
}

/// Cuts between characters.
fn even_pieces(text: &str, count: usize) -> Vec<&str> {
    let size = text.chars().count().div_ceil(count.max(1)).max(1);
    let starts = text.char_indices().step_by(size).map(|(at, _)| at);
    let ends = text.char_indices().step_by(size).skip(1).map(|(at, _)| at);
    starts.zip(ends.chain([text.len()])).map(|(from, to)| &text[from..to]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, cutting: Cutting) -> Vec<String> {
        let chunks = Chunks::cut(text, cutting, Duration::ZERO);
        assert_eq!(chunks.text(), text, "pieces put together are the text");
        chunks.pieces().to_vec()
    }

    #[test]
    fn a_count_cuts_evenly_and_never_within_a_character() {
        assert_eq!(cut("abcdefg", Cutting::Count(3)), ["abc", "def", "g"]);
        assert_eq!(cut("äöü€", Cutting::Count(2)), ["äö", "ü€"]);
        assert_eq!(cut("ab", Cutting::Count(9)), ["a", "b"]);
        assert_eq!(cut("whole", Cutting::Count(1)), ["whole"]);
        assert!(cut("", Cutting::Count(4)).is_empty());
    }

    #[test]
    fn words_and_lines_keep_their_white_space() {
        assert_eq!(cut("one two\nthree", Cutting::Words), ["one ", "two\n", "three"]);
        assert_eq!(cut("one two\nthree\n", Cutting::Lines), ["one two\n", "three\n"]);
    }
}
