//! The measured figures, and their table.

use std::fmt;

use crate::server::Kind;

/// A figure that is measured once per round and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) scenario: &'static str,
    pub(crate) name: &'static str,
    /// How many digits after the point are printed.
    pub(crate) digits: usize,
}

/// All measured values, in the order of their measurement.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<(Measure, Kind, f64)>);

impl Figures {
    pub(crate) fn add(&mut self, measure: Measure, kind: Kind, value: f64) {
        self.0.push((measure, kind, value));
    }

    fn sorted(&self, measure: Measure, kind: Kind) -> Vec<f64> {
        let of = self.0.iter().filter(|(other, by, _)| *other == measure && *by == kind);
        let mut values: Vec<f64> = of.map(|(_, _, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| scenario | figure | longshore | reference | ratio |")?;
        writeln!(f, "|---|---|---:|---:|---:|")?;
        let mut told: Vec<Measure> = Vec::new();
        for (measure, _, _) in &self.0 {
            if told.contains(measure) {
                continue;
            }
            told.push(*measure);
            let ours = self.sorted(*measure, Kind::Longshore);
            let theirs = self.sorted(*measure, Kind::Reference);
            let Measure { scenario, name, digits } = *measure;
            let ratio = median(&ours) / median(&theirs);
            let (ours, theirs) = (cell(&ours, digits), cell(&theirs, digits));
            writeln!(f, "| {scenario} | {name} | {ours} | {theirs} | {ratio:.2} |")?;
        }
        write!(f, "\nmedian (lowest to highest round)")
    }
}

/// The median: the value in the middle or, of an even number of values, the mean of the two in the middle.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match (sorted.get(middle), sorted.len() % 2) {
        (Some(upper), 0) => (sorted[middle - 1] + upper) / 2.0,
        (Some(value), _) => *value,
        (None, _) => f64::NAN,
    }
}

/// The percentile: `part` of the values lie below it.
pub(crate) fn percentile(sorted: &[u64], part: f64) -> f64 {
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(f64::NAN, |value| *value as f64)
}

fn cell(sorted: &[f64], digits: usize) -> String {
    match sorted {
        [] => "-".to_owned(),
        [only] => number(*only, digits),
        [lowest, .., highest] => {
            let (lowest, highest) = (number(*lowest, digits), number(*highest, digits));
            format!("{} ({lowest} to {highest})", number(median(sorted), digits))
        }
    }
}

/// A number with a comma between thousands.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let groups: Vec<&str> = whole
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    format!("{}{rest}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(number(189_000.4, 0), "189,000");
        assert_eq!(number(12.345, 2), "12.35");
        assert_eq!(number(1_234.5, 1), "1,234.5");
    }

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 3.0]), 2.0);
        assert!(median(&[]).is_nan());
        let hundred: Vec<u64> = (0..100).collect();
        assert_eq!(percentile(&hundred, 0.5), 50.0);
        assert_eq!(percentile(&hundred, 0.99), 99.0);
        assert_eq!(percentile(&[7], 0.99), 7.0);
    }

    #[test]
    fn a_table_compares_the_medians() {
        let measure = Measure { scenario: "burst", name: "deltas/s", digits: 0 };
        let mut figures = Figures::default();
        for value in [10_000.0, 30_000.0, 20_000.0] {
            figures.add(measure, Kind::Longshore, value);
            figures.add(measure, Kind::Reference, value * 2.0);
        }
        let row = "| burst | deltas/s | 20,000 (10,000 to 30,000) | 40,000 (20,000 to 60,000) | 0.50 |";
        assert!(figures.to_string().contains(row), "{figures}");
    }
}
