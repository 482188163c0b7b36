//! Wraps lines to a width, counted in columns and not in characters.

use unicode_width::UnicodeWidthStr;

use super::line::{InkLine, Span};
use super::style::Ink;

/// How many columns a text takes.
pub(super) fn width_of(text: &str) -> usize {
    text.width()
}

/// The characters of a text as the eye counts them, each with its columns: an accent stays with its letter, a
/// family of emoji together, a flag whole.
pub(super) fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        let (_, first) = chars.next()?;
        let mut previous = first;
        let mut flag_halves = usize::from(is_flag_half(first));
        let mut end = rest.len();
        for (at, c) in chars {
            let joins = previous == '\u{200d}'
                || is_joined(c)
                || (is_flag_half(c) && is_flag_half(previous) && flag_halves % 2 == 1);
            if !joins || first == '\t' {
                end = at;
                break;
            }
            flag_halves += usize::from(is_flag_half(c));
            previous = c;
        }
        let (cluster, after) = rest.split_at(end);
        rest = after;
        Some((cluster, cluster.width()))
    })
}

fn is_flag_half(c: char) -> bool {
    ('\u{1f1e6}'..='\u{1f1ff}').contains(&c)
}

fn is_joined(c: char) -> bool {
    let skin_tone = ('\u{1f3fb}'..='\u{1f3ff}').contains(&c);
    skin_tone || (!c.is_control() && unicode_width::UnicodeWidthChar::width(c) == Some(0))
}

/// Scripts without spaces between words: a line may break after any of their characters.
fn breaks_anywhere(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(|c| {
        matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
            | '\u{ff01}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
    })
}

/// Punctuation that no line begins with.
fn closes(cluster: &str) -> bool {
    matches!(cluster, "、" | "。" | "，" | "．" | "！" | "？" | "）" | "」" | "』" | "】" | "：" | "；")
}

/// A word that may change its ink on the way, and the spaces before it.
#[derive(Default)]
struct Word {
    before: Vec<Span>,
    pieces: Vec<Span>,
}

impl Word {
    fn width(&self) -> usize {
        self.pieces.iter().map(|piece| width_of(piece.text())).sum()
    }

    fn space(&self) -> usize {
        self.before.iter().map(|space| width_of(space.text())).sum()
    }
}

/// A paragraph as lines of at most `width` columns, broken between words where that is possible.
pub(super) fn wrap(paragraph: &InkLine, width: usize) -> Vec<InkLine> {
    if paragraph.width() <= width {
        return vec![paragraph.clone()];
    }
    let width = width.max(2);
    let mut lines = Vec::new();
    let (mut line, mut used) = (InkLine::default(), 0);
    for word in words(paragraph) {
        let (space, columns) = (word.space(), word.width());
        if used > 0 && used + space + columns > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else {
            word.before.iter().for_each(|gap| line.push(gap.text(), gap.ink()));
            used += space;
        }
        for piece in &word.pieces {
            for (cluster, columns) in clusters(piece.text()) {
                if used > 0 && used + columns > width {
                    lines.push(std::mem::take(&mut line));
                    used = 0;
                }
                line.push(cluster, piece.ink());
                used += columns;
            }
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// A line broken where it is full, spaces kept: for code, where they mean something. Breaks between words if there
/// is a space not far from the edge.
pub(super) fn chop(line: &InkLine, width: usize) -> Vec<InkLine> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let width = width.max(2);
    let inked = |span: &Span| {
        let ink = span.ink();
        clusters(span.text()).map(|(cluster, columns)| (cluster.to_owned(), columns, ink)).collect::<Vec<_>>()
    };
    let cells: Vec<(String, usize, Ink)> = line.spans().iter().flat_map(inked).collect();
    let mut lines = Vec::new();
    let mut rest = cells.as_slice();
    while !rest.is_empty() {
        let (mut end, mut used, mut after_space) = (0, 0, None);
        for (cluster, columns, _) in rest {
            if end > 0 && used + columns > width {
                break;
            }
            (end, used) = (end + 1, used + columns);
            if cluster == " " && used > width - width / 4 {
                after_space = Some(end);
            }
        }
        if end < rest.len() {
            end = after_space.unwrap_or(end);
        }
        let (row, left) = rest.split_at(end);
        lines.push(row.iter().fold(InkLine::default(), |line, (cluster, _, ink)| line.with(cluster, *ink)));
        rest = left;
    }
    lines
}

/// Parts side by side, as many in a line as fit, never broken between if they fit at all.
pub(super) fn flow(parts: Vec<InkLine>, between: &InkLine, width: usize) -> Vec<InkLine> {
    let mut lines: Vec<InkLine> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.width() + between.width() + part.width() <= width => {
                line.append(between.clone());
                line.append(part);
            }
            _ => lines.extend(wrap(&part, width)),
        }
    }
    lines
}

/// Lines behind a margin: `first` before the first one, `rest` before the others.
pub(super) fn behind(lines: Vec<InkLine>, first: &InkLine, rest: &InkLine) -> Vec<InkLine> {
    let margin = |(index, line): (usize, InkLine)| {
        let mut whole = if index == 0 { first.clone() } else { rest.clone() };
        whole.append(line);
        whole
    };
    lines.into_iter().enumerate().map(margin).collect()
}

/// A text of several lines, each wrapped, all of it behind a margin.
pub(super) fn text_behind(
    text: &str,
    ink: Ink,
    width: usize,
    first: &InkLine,
    rest: &InkLine,
) -> Vec<InkLine> {
    let room = width.saturating_sub(first.width().max(rest.width()));
    let lines =
        text.trim_end().lines().flat_map(|line| wrap(&InkLine::of(&super::clean::untab(line, 4), ink), room));
    behind(lines.collect(), first, rest)
}

fn words(paragraph: &InkLine) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = Word::default();
    let mut may_break = false;
    for span in paragraph.spans() {
        for (cluster, _) in clusters(span.text()) {
            let piece = Span::new(cluster, span.ink());
            if cluster == " " {
                if !word.pieces.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                word.before.push(piece);
                may_break = false;
                continue;
            }
            let wide = breaks_anywhere(cluster);
            if !word.pieces.is_empty() && (may_break || wide) && !closes(cluster) {
                words.push(std::mem::take(&mut word));
            }
            word.pieces.push(piece);
            may_break = wide;
        }
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::line::print;
    use crate::render::style::{Style, ink};

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let lines = wrap(&InkLine::of(text, ink::PLAIN), width);
        print(&lines, &Style::default()).lines().map(str::to_owned).collect()
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrapped("  indented text here", 12), ["  indented", "text here"]);
        assert_eq!(wrapped("", 10), [""]);
    }

    #[test]
    fn a_word_that_fits_nowhere_is_broken() {
        assert_eq!(wrapped("see https://example.org/long", 10), ["see", "https://ex", "ample.org/", "long"]);
    }

    #[test]
    fn wide_characters_stay_whole() {
        assert_eq!(wrapped("漢字かな交じり文。", 7), ["漢字か", "な交じ", "り文。"]);
        assert_eq!(wrapped("aé👩‍👩‍👧🇩🇪", 4), ["aé👩‍👩‍👧", "🇩🇪"]);
        let chopped = chop(&InkLine::of("漢字x", ink::PLAIN), 3);
        assert_eq!(chopped.iter().map(InkLine::width).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn code_keeps_its_spaces() {
        let chopped = chop(&InkLine::of("    let long = first + second;", ink::PLAIN), 16);
        assert_eq!(chopped, ["    let long = ", "first + second;"].map(|text| InkLine::of(text, ink::PLAIN)));
        let unbroken = chop(&InkLine::of("aaaa bbbbbbbbbbbbbbbbbbbb", ink::PLAIN), 16);
        assert_eq!(unbroken, ["aaaa bbbbbbbbbbb", "bbbbbbbbb"].map(|text| InkLine::of(text, ink::PLAIN)));
    }

    #[test]
    fn a_word_keeps_its_inks_and_its_wholeness() {
        let line = InkLine::of("one ", ink::PLAIN).with("two", ink::BOLD).with(",three", ink::PLAIN);
        let lines = wrap(&line, 9);
        assert_eq!(
            lines,
            [InkLine::of("one", ink::PLAIN), InkLine::of("two", ink::BOLD).with(",three", ink::PLAIN)]
        );
    }
}
