//! One block of markdown as lines.

// What is matched here is not ours: it has variants for extensions that are not enabled.
#![allow(clippy::wildcard_enum_match_arm)]

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code;
use super::grid::{Grid, Side};
use super::line::InkLine;
use super::style::{Ink, Style, ink};
use super::wrap::wrap;

/// A block as lines of at most `width` columns. Never empty for a source that has text: what markdown swallows,
/// such as the definition of a link, is shown as it was written.
pub(super) fn lines(source: &str, width: usize, style: &Style) -> Vec<InkLine> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut walker = Walker::new(width, style);
    for event in Parser::new_ext(source, options) {
        walker.event(event);
    }
    walker.flush();
    if walker.lines.iter().all(InkLine::is_empty) {
        return source.lines().flat_map(|line| wrap(&InkLine::of(line, ink::PLAIN), width)).collect();
    }
    walker.lines
}

/// What stands left of the lines of a list item or a quote.
#[derive(Default)]
struct Margin {
    first: Option<InkLine>,
    rest: InkLine,
}

/// Deeper than this nothing is set in any further: there would be no room left for words.
const DEEPEST: usize = 12;

struct Walker<'a> {
    style: &'a Style,
    width: usize,
    lines: Vec<InkLine>,
    margins: Vec<Margin>,
    inline: InkLine,
    inks: Vec<Ink>,
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    grid: Option<Grid>,
    link: Option<(String, String)>,
    /// Nothing stands yet in the innermost container, so that no gap is needed.
    fresh: bool,
}

impl<'a> Walker<'a> {
    fn new(width: usize, style: &'a Style) -> Self {
        Self {
            style,
            width,
            lines: Vec::new(),
            margins: Vec::new(),
            inline: InkLine::default(),
            inks: vec![ink::PLAIN],
            lists: Vec::new(),
            code: None,
            grid: None,
            link: None,
            fresh: true,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) if self.style.color => {
                self.push(&text, |ink| ink.fg_color(ink::CODE.get_fg_color()))
            }
            Event::Code(text) => self.push(&format!("`{text}`"), |ink| ink),
            Event::InlineHtml(html) | Event::Html(html) if is_break(&html) => self.line_break(),
            Event::InlineHtml(html) => self.text(&html),
            // Each event is a line of its own here, newline included.
            Event::Html(html) => {
                self.text(html.trim_end());
                self.flush();
            }
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                let rule = self.style.signs().rule.repeat(self.room().min(40));
                self.emit(vec![InkLine::of(&rule, ink::DIM)]);
            }
            // The box stands in the place of the bullet.
            Event::TaskListMarker(done) => {
                let signs = self.style.signs();
                let first = InkLine::of(if done { signs.checked } else { signs.unchecked }, ink::DIM)
                    .with(" ", ink::PLAIN);
                let rest = InkLine::of(&" ".repeat(first.width()), ink::PLAIN);
                if let Some(margin) = self.margins.last_mut().filter(|margin| margin.first.is_some()) {
                    *margin = Margin { first: Some(first), rest };
                }
            }
            // Of extensions that are not enabled.
            other => self.text(&format!("{other:?}")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                self.inks.push(if level == HeadingLevel::H1 { ink::TITLE } else { ink::BOLD });
                if !self.style.color {
                    self.push(&format!("{} ", "#".repeat(level as usize)), |ink| ink);
                }
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap();
                let bar = InkLine::of(&format!("{} ", self.style.signs().quote), ink::DIM);
                self.set_in(Margin { first: None, rest: bar });
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language.to_owned(), String::new()));
            }
            Tag::List(start) => {
                self.flush();
                self.lists.push(start);
            }
            Tag::Item => self.start_item(),
            Tag::Table(sides) => {
                self.flush();
                self.gap();
                self.grid = Some(Grid::new(sides.into_iter().map(side).collect()));
            }
            Tag::TableHead | Tag::TableRow => self.with_grid(Grid::row),
            Tag::Emphasis => self.inks.push(self.ink().italic()),
            Tag::Strong => self.inks.push(self.ink().bold()),
            Tag::Strikethrough => self.inks.push(self.ink().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.inks.push(self.ink().fg_color(ink::LINK.get_fg_color()).underline());
                self.link = Some((dest_url.into_string(), String::new()));
            }
            Tag::Image { dest_url, .. } => {
                self.push("image: ", |_| ink::DIM);
                self.link = Some((dest_url.into_string(), String::new()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.inks.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                // An item without text still shows its marker.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    self.emit(vec![InkLine::default()]);
                }
                self.margins.pop();
                self.fresh = false;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.with_grid(|grid| grid.cell(cell));
            }
            TagEnd::Table => {
                if let Some(grid) = self.grid.take() {
                    self.emit(grid.lines(self.room(), self.style));
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.inks.pop();
            }
            TagEnd::Link => {
                self.inks.pop();
                self.end_link();
            }
            TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn start_item(&mut self) {
        self.flush();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => format!("{} ", self.style.signs().bullet),
        };
        let first = InkLine::of(&marker, ink::DIM);
        let rest = InkLine::of(&" ".repeat(first.width()), ink::PLAIN);
        self.set_in(Margin { first: Some(first), rest });
    }

    fn set_in(&mut self, margin: Margin) {
        self.margins.push(if self.margins.len() < DEEPEST { margin } else { Margin::default() });
        self.fresh = true;
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else { return };
        if self.lists.is_empty() {
            self.gap();
        }
        let mut lines: Vec<InkLine> = code::label(&language, self.style).into_iter().collect();
        for line in text.lines() {
            lines.extend(code::lines(line, &language, self.room(), self.style));
        }
        self.emit(lines);
    }

    /// An address that the text does not already say stands behind it.
    fn end_link(&mut self) {
        if let Some((address, text)) = self.link.take()
            && !address.is_empty()
            && address != text
            && address.strip_prefix("mailto:") != Some(&text)
        {
            self.push(&format!(" ({address})"), |_| ink::DIM);
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        if let Some((_, said)) = &mut self.link {
            said.push_str(text);
        }
        // An entity can stand for a newline.
        self.push(text, |ink| ink);
    }

    fn push(&mut self, text: &str, ink: impl FnOnce(Ink) -> Ink) {
        let ink = ink(self.ink());
        self.inline.push(text, ink);
    }

    fn ink(&self) -> Ink {
        self.inks.last().copied().unwrap_or(ink::PLAIN)
    }

    fn line_break(&mut self) {
        if self.grid.is_some() { self.push(" ", |ink| ink) } else { self.flush() }
    }

    fn with_grid(&mut self, change: impl FnOnce(&mut Grid)) {
        if let Some(grid) = &mut self.grid {
            change(grid);
        }
    }

    fn room(&self) -> usize {
        let margins: usize = self.margins.iter().take(DEEPEST).map(|margin| margin.rest.width()).sum();
        self.width.saturating_sub(margins).max(8)
    }

    fn gap(&mut self) {
        if !self.fresh && self.margins.iter().take(DEEPEST).all(|margin| margin.first.is_none()) {
            self.emit(vec![InkLine::default()]);
        }
    }

    fn flush(&mut self) {
        if !self.inline.is_empty() {
            let paragraph = std::mem::take(&mut self.inline);
            self.emit(wrap(&paragraph, self.room()));
        }
    }

    fn emit(&mut self, lines: Vec<InkLine>) {
        for line in lines {
            let mut whole = InkLine::default();
            for margin in self.margins.iter_mut().take(DEEPEST) {
                whole.append(margin.first.take().unwrap_or_else(|| margin.rest.clone()));
            }
            whole.append(line);
            self.lines.push(whole);
            self.fresh = false;
        }
    }
}

fn side(alignment: Alignment) -> Side {
    match alignment {
        Alignment::Right => Side::Right,
        Alignment::Center => Side::Center,
        Alignment::Left | Alignment::None => Side::Left,
    }
}

fn is_break(html: &str) -> bool {
    matches!(html.trim(), "<br>" | "<br/>" | "<br />")
}
