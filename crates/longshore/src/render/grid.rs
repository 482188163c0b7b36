//! Cells in columns: aligned, wrapped within their column when the terminal is narrow, and turned into a list of
//! records when it is too narrow for columns at all.

use super::line::InkLine;
use super::style::{Style, ink};
use super::wrap::wrap;

/// To which side a column leans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Center,
    Right,
}

/// A table; its first row is its head.
#[derive(Debug)]
pub(super) struct Grid {
    sides: Vec<Side>,
    rows: Vec<Vec<InkLine>>,
}

/// Narrower than this a column cannot be read.
const NARROWEST: usize = 6;

impl Grid {
    pub(super) fn new(sides: Vec<Side>) -> Self {
        Self { sides, rows: Vec::new() }
    }

    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(super) fn cell(&mut self, cell: InkLine) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(&self, width: usize, style: &Style) -> Vec<InkLine> {
        match self.widths(width) {
            Some(widths) => self.columns(&widths, style),
            None => self.records(width, style),
        }
    }

    /// The width of every column, or none when they do not fit side by side.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let natural = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(InkLine::width).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..self.sides.len()).map(natural).collect();
        let room = width.saturating_sub(3 * widths.len().saturating_sub(1));
        // The widest column gives way first, so that short ones stay on one line.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max()?;
            if *widest <= NARROWEST {
                return None;
            }
            *widest -= 1;
        }
        Some(widths)
    }

    fn columns(&self, widths: &[usize], style: &Style) -> Vec<InkLine> {
        let signs = style.signs();
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let head = index == 0;
            let cell = |column: usize| {
                let cell = row.get(column).cloned().unwrap_or_default();
                wrap(&if head { cell.over(ink::BOLD) } else { cell }, widths[column])
            };
            let cells: Vec<Vec<InkLine>> = (0..widths.len()).map(cell).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for level in 0..height {
                let mut line = InkLine::default();
                for (column, cell) in cells.iter().enumerate() {
                    if column > 0 {
                        line.push(&format!(" {} ", signs.gutter), ink::DIM);
                    }
                    let text = cell.get(level).cloned().unwrap_or_default();
                    line.append(padded(text, widths[column], self.sides[column]));
                }
                lines.push(line);
            }
            if head {
                let rules: Vec<String> = widths.iter().map(|width| signs.rule.repeat(*width)).collect();
                let joint = format!("{0}{1}{0}", signs.rule, signs.cross);
                lines.push(InkLine::of(&rules.join(&joint), ink::DIM));
            }
        }
        lines
    }

    fn records(&self, width: usize, style: &Style) -> Vec<InkLine> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let bullet = format!("{} ", style.signs().bullet);
        let mut lines = Vec::new();
        for row in rows {
            for (column, cell) in row.iter().enumerate() {
                let mut line = InkLine::default();
                if let Some(name) = head.get(column).filter(|name| !name.is_empty()) {
                    line.append(name.clone().over(ink::BOLD));
                    line.push(": ", ink::BOLD);
                }
                line.append(cell.clone());
                for (level, text) in wrap(&line, width.saturating_sub(2)).into_iter().enumerate() {
                    let mut whole = InkLine::of(if column + level == 0 { &bullet } else { "  " }, ink::DIM);
                    whole.append(text);
                    lines.push(whole);
                }
            }
        }
        lines
    }
}

/// A line with spaces on the side that it does not lean to.
pub(super) fn padded(line: InkLine, width: usize, side: Side) -> InkLine {
    let gap = width.saturating_sub(line.width());
    let left = match side {
        Side::Left => 0,
        Side::Center => gap / 2,
        Side::Right => gap,
    };
    let mut whole = InkLine::of(&" ".repeat(left), ink::PLAIN);
    whole.append(line);
    whole.push(&" ".repeat(gap - left), ink::PLAIN);
    whole
}
