//! Tokens and cost in a list.

use std::collections::BTreeMap;

use longshore_model::usage::DayUsage;

use super::clean::clean;
use super::columns::{Column, table, tsv};
use super::human::{cost, count};
use super::line::InkLine;
use super::rows::remark;
use super::style::{Ink, Style, ink};

const COLUMNS: [Column; 6] = [
    Column::left("WHAT", 0, 10),
    Column::right("TURNS", 1, 5),
    Column::right("INPUT", 0, 5),
    Column::right("CACHED", 2, 6),
    Column::right("OUTPUT", 0, 6),
    Column::right("COST", 0, 5),
];

/// Added up by `named`, in the order of the names.
fn sums(days: &[DayUsage], named: impl Fn(&DayUsage) -> String) -> BTreeMap<String, DayUsage> {
    let mut sums: BTreeMap<String, DayUsage> = BTreeMap::new();
    for day in days {
        match sums.entry(named(day)) {
            std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(day.clone())),
            std::collections::btree_map::Entry::Occupied(mut sum) => add(sum.get_mut(), day),
        }
    }
    sums
}

fn add(sum: &mut DayUsage, day: &DayUsage) {
    sum.input += day.input;
    sum.output += day.output;
    sum.cached += day.cached;
    sum.turns += day.turns;
    sum.cost += day.cost;
}

/// For a person, with the sum of all at the end.
pub fn usage_table(days: &[DayUsage], named: impl Fn(&DayUsage) -> String, style: &Style) -> String {
    let sums = sums(days, named);
    let row = |name: &str, ink: Ink, sum: &DayUsage| {
        let plain = |text: String| InkLine::of(&text, ink);
        vec![
            InkLine::of(if name.is_empty() { "(none)" } else { name }, ink),
            plain(sum.turns.to_string()),
            plain(count(sum.input)),
            plain(count(sum.cached)),
            plain(count(sum.output)),
            plain(if sum.cost > 0.0 { cost(sum.cost) } else { String::new() }),
        ]
    };
    let mut rows: Vec<Vec<InkLine>> =
        sums.iter().map(|(name, sum)| row(&clean(name), ink::PLAIN, sum)).collect();
    let mut all = sums.values().cloned();
    let Some(mut total) = all.next() else { return remark("nothing was used in these days", style) };
    all.for_each(|sum| add(&mut total, &sum));
    rows.push(row("total", ink::BOLD, &total));
    table(&COLUMNS, &rows, style)
}

/// For programs: name, turns, input, cached, output, cost in dollars; a tab between them.
pub fn usage_tsv(days: &[DayUsage], named: impl Fn(&DayUsage) -> String) -> String {
    let row = |(name, sum): (&String, &DayUsage)| {
        tsv([
            name.clone(),
            sum.turns.to_string(),
            sum.input.to_string(),
            sum.cached.to_string(),
            sum.output.to_string(),
            // No cost is known.
            if sum.cost > 0.0 { format!("{:.4}", sum.cost) } else { String::new() },
        ])
    };
    sums(days, named).iter().map(row).collect()
}
