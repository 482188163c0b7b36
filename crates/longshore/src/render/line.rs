//! Lines of coloured text, the only thing that reaches the terminal.
//!
//! A [`Span`] cannot hold a control character, so the output has none except newlines and our own SGR
//! sequences, whatever an agent prints.

use std::fmt::Write;

use super::style::{Ink, Style, ink};
use super::wrap::{clusters, width_of};
use longshore_model::describe::is_commanding;

/// A piece of a line, in one ink.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    text: String,
    ink: Ink,
}

impl Span {
    pub(super) fn new(text: &str, ink: Ink) -> Self {
        let text = if text.chars().any(is_commanding) {
            // Nobody should come here with a line break or a tab; if they do, words still stay apart.
            let printable = |c: char| match c {
                '\n' | '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
                c => (!is_commanding(c)).then_some(c),
            };
            text.chars().filter_map(printable).collect()
        } else {
            text.to_owned()
        };
        Self { text, ink }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn ink(&self) -> Ink {
        self.ink
    }
}

/// One line of the terminal, or a paragraph that has not been wrapped yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct InkLine {
    spans: Vec<Span>,
}

impl InkLine {
    /// A line of one ink.
    pub(super) fn of(text: &str, ink: Ink) -> Self {
        InkLine::default().with(text, ink)
    }

    /// With more at its end.
    #[must_use]
    pub(super) fn with(mut self, text: &str, ink: Ink) -> Self {
        self.push(text, ink);
        self
    }

    /// Adds to its end.
    pub(super) fn push(&mut self, text: &str, ink: Ink) {
        if text.is_empty() {
            return;
        }
        let span = Span::new(text, ink);
        match self.spans.last_mut() {
            Some(last) if last.ink == ink => last.text.push_str(&span.text),
            _ => self.spans.push(span),
        }
    }

    /// Adds another line to its end.
    pub(super) fn append(&mut self, other: InkLine) {
        for span in other.spans {
            self.push(&span.text, span.ink);
        }
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    /// How many columns it takes.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|span| width_of(&span.text)).sum()
    }

    /// The line in at most `width` columns; `more` stands for what was cut off.
    #[must_use]
    pub(super) fn cut(self, width: usize, more: &str) -> InkLine {
        if self.width() <= width {
            return self;
        }
        let room = width.saturating_sub(width_of(more));
        let (mut kept, mut used) = (InkLine::default(), 0);
        'spans: for span in &self.spans {
            for (cluster, columns) in clusters(&span.text) {
                if used + columns > room {
                    break 'spans;
                }
                kept.push(cluster, span.ink);
                used += columns;
            }
        }
        kept.push(more, ink::DIM);
        kept
    }

    /// The line with every ink laid over `base`, so that a whole block can be dimmed.
    #[must_use]
    pub(super) fn over(mut self, base: Ink) -> InkLine {
        for span in &mut self.spans {
            span.ink = span.ink.effects(span.ink.get_effects() | base.get_effects());
            if span.ink.get_fg_color().is_none() {
                span.ink = span.ink.fg_color(base.get_fg_color());
            }
        }
        self
    }

    fn print(&self, style: &Style, out: &mut String) {
        // Spaces at the end show nothing and stick to what is copied.
        let text_end = self.spans.iter().rposition(|span| !span.text.trim_end().is_empty());
        let spans = self.spans.get(..text_end.map_or(0, |last| last + 1)).unwrap_or_default();
        for (index, span) in spans.iter().enumerate() {
            let text = if Some(index) == text_end { span.text.trim_end() } else { &span.text };
            if style.color && span.ink != ink::PLAIN {
                let _ = write!(out, "{}{text}{}", span.ink.render(), span.ink.render_reset());
            } else {
                out.push_str(text);
            }
        }
        out.push('\n');
    }
}

/// Lines as the terminal gets them, each with its newline.
pub(super) fn print(lines: &[InkLine], style: &Style) -> String {
    let mut out = String::new();
    for line in lines {
        line.print(style, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_no_command() {
        assert_eq!(Span::new("a\u{1b}[2Jb\nc\u{202e}", ink::PLAIN).text(), "a[2Jb c");
    }

    #[test]
    fn ink_is_printed_only_where_there_is_colour() {
        let line = InkLine::of("ok", ink::GOOD).with(" then", ink::PLAIN).with("  ", ink::DIM);
        assert_eq!(print(std::slice::from_ref(&line), &Style::default()), "ok then\n");
        let colored = Style { color: true, ..Style::default() };
        assert_eq!(print(&[line], &colored), "\u{1b}[32mok\u{1b}[0m then\n");
    }

    #[test]
    fn a_cut_never_halves_a_wide_character() {
        let line = InkLine::of("漢字漢字", ink::PLAIN);
        assert_eq!(line.clone().cut(8, "…"), line);
        assert_eq!(line.clone().cut(6, "…").width(), 5);
        assert_eq!(line.cut(4, "…").spans()[0].text(), "漢");
    }
}
