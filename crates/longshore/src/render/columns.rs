//! Lists in columns: on a narrow terminal the least important columns go first, then the widest gives way.

use super::clean::clean;
use super::grid::{Side, padded};
use super::line::{InkLine, print};
use super::style::{Style, ink};

/// A column of a list.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) side: Side,
    /// 0 stays always; the highest goes first.
    pub(super) rank: u8,
    /// It may be cut down to this when the line is full.
    pub(super) least: usize,
}

impl Column {
    pub(super) const fn left(name: &'static str, rank: u8, least: usize) -> Self {
        Self { name, side: Side::Left, rank, least }
    }

    pub(super) const fn right(name: &'static str, rank: u8, least: usize) -> Self {
        Self { name, side: Side::Right, rank, least }
    }
}

/// A list with its head. Columns that are empty in every row are left out.
pub(super) fn table(columns: &[Column], rows: &[Vec<InkLine>], style: &Style) -> String {
    let natural =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(InkLine::width).max().unwrap_or(0);
    let mut shown: Vec<(usize, usize)> = (0..columns.len())
        .map(|at| (at, natural(at)))
        .filter(|(_, width)| *width > 0)
        .map(|(at, width)| (at, width.max(columns[at].name.len())))
        .collect();
    let total = |shown: &[(usize, usize)]| shown.iter().map(|(_, width)| width + 2).sum::<usize>();
    let least = |shown: &[(usize, usize)]| {
        shown.iter().map(|(at, width)| (*width).min(columns[*at].least) + 2).sum::<usize>()
    };
    while least(&shown) > style.columns() + 2 {
        let Some(last) = shown.iter().map(|(at, _)| columns[*at].rank).max().filter(|rank| *rank > 0) else {
            break;
        };
        shown.retain(|(at, _)| columns[*at].rank < last);
    }
    while total(&shown) > style.columns() + 2 {
        let spare = |(at, width): &(usize, usize)| width.saturating_sub(columns[*at].least);
        // When none has columns to spare, the widest one goes below its least.
        let Some((_, width)) = shown.iter_mut().max_by_key(|column| (spare(column), column.1)) else { break };
        *width -= 1;
    }
    let row = |cells: &dyn Fn(usize) -> InkLine| {
        let mut line = InkLine::default();
        for (index, (at, width)) in shown.iter().enumerate() {
            line.push(if index > 0 { "  " } else { "" }, ink::PLAIN);
            line.append(padded(cells(*at).cut(*width, style.signs().more), *width, columns[*at].side));
        }
        line
    };
    let mut lines = vec![row(&|at| InkLine::of(columns[at].name, ink::DIM))];
    lines.extend(rows.iter().map(|cells| row(&|at| cells.get(at).cloned().unwrap_or_default())));
    print(&lines, style)
}

/// A row for programs: cleaned cells with a tab between them.
pub(super) fn tsv<const N: usize>(cells: [String; N]) -> String {
    let cell = |cell: String| clean(&cell).replace(['\t', '\n'], " ").trim().to_owned();
    let mut row = cells.map(cell).join("\t");
    row.push('\n');
    row
}
