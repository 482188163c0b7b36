//! Finds the place of a hunk in a file, and applies the hunk.

use std::fmt::Write;

use super::parse::{Hunk, HunkLine};

/// The ways to compare two lines. Each is looser than the one before.
const LOOKS: [fn(&str) -> String; 4] = [
    |line| line.trim_end_matches('\r').to_owned(),
    |line| line.trim_end().to_owned(),
    |line| line.trim().to_owned(),
    |line| line.trim().chars().map(plain).collect(),
];

/// The plain character for a typographic one.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The content after all hunks. The error names the hunk that does not fit.
pub(super) fn apply(content: &str, hunks: &[Hunk]) -> Result<String, String> {
    let ends = if content.contains("\r\n") { "\r" } else { "" };
    let open_end = !content.is_empty() && !content.ends_with('\n');
    let lines: Vec<&str> = match content {
        "" => Vec::new(),
        content => content.strip_suffix('\n').unwrap_or(content).split('\n').collect(),
    };
    let mut made: Vec<String> = Vec::with_capacity(lines.len());
    let mut done = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let place = HunkPlace::of(hunk, &lines, done)
            .map_err(|fault| format!("hunk {} (line {} of the patch): {fault}", number + 1, hunk.at))?;
        made.extend(lines.get(done..place.from).unwrap_or_default().iter().map(|line| (*line).to_owned()));
        done = place.from;
        for line in place.lines {
            match line {
                HunkLine::Keep(_) => {
                    made.extend(lines.get(done).map(|line| (*line).to_owned()));
                    done += 1;
                }
                HunkLine::Remove(_) => done += 1,
                HunkLine::Add(text) => made.push(format!("{text}{ends}")),
            }
        }
    }
    made.extend(lines.get(done..).unwrap_or_default().iter().map(|line| (*line).to_owned()));
    let mut content = made.join("\n");
    if !made.is_empty() && !open_end {
        content.push('\n');
    }
    Ok(content)
}

/// The place in the file where a hunk begins.
struct HunkPlace<'a> {
    from: usize,
    /// The lines of the hunk that count. An empty line at its end may be missing in the file.
    lines: &'a [HunkLine],
}

impl<'a> HunkPlace<'a> {
    fn of(hunk: &'a Hunk, lines: &[&str], done: usize) -> Result<Self, String> {
        let mut from = done;
        for anchor in &hunk.anchors {
            from = find_anchor(lines, anchor, from).map(|at| at + 1).ok_or_else(|| {
                let before = match find_anchor(lines, anchor, 0) {
                    Some(at) => format!("; it is line {}, {LATER}", at + 1),
                    None => String::new(),
                };
                format!("the line `{anchor}` after @@ was not found {}{before}", after(from))
            })?;
        }
        let olds: Vec<&str> = hunk
            .lines
            .iter()
            .filter_map(|line| match line {
                HunkLine::Keep(text) | HunkLine::Remove(text) => Some(text.as_str()),
                HunkLine::Add(_) => None,
            })
            .collect();
        if olds.is_empty() {
            let from = if hunk.anchors.is_empty() { lines.len() } else { from };
            return Ok(Self { from, lines: &hunk.lines });
        }
        if let Some(from) = find(lines, &olds, from, hunk.at_end) {
            return Ok(Self { from, lines: &hunk.lines });
        }
        if let (Some((HunkLine::Keep(last), shorter)), [olds @ .., _]) =
            (hunk.lines.split_last(), olds.as_slice())
            && last.is_empty()
            && !olds.is_empty()
            && let Some(from) = find(lines, olds, from, hunk.at_end)
        {
            return Ok(Self { from, lines: shorter });
        }
        Err(missing(lines, &olds, from))
    }
}

/// The hint for a hunk whose lines come before an earlier hunk.
const LATER: &str = "before the hunk above: put hunks in the order of the file";

fn after(from: usize) -> String {
    match from {
        0 => "in the file".to_owned(),
        line => format!("after line {line} of the file"),
    }
}

/// The line that equals an anchor, or else the first line that contains it.
fn find_anchor(lines: &[&str], anchor: &str, from: usize) -> Option<usize> {
    let part = || {
        let rest = lines.iter().skip(from);
        rest.take_while(|line| !line.contains(anchor.trim())).count() + from
    };
    find(lines, &[anchor], from, false).or_else(|| Some(part()).filter(|at| *at < lines.len()))
}

/// The position of these consecutive lines.
fn find(lines: &[&str], wanted: &[&str], from: usize, at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    LOOKS.iter().find_map(|look| {
        let wanted: Vec<String> = wanted.iter().map(|line| look(line)).collect();
        let fits = |at: usize| {
            let there = lines.get(at..at + wanted.len()).unwrap_or_default();
            there.iter().zip(&wanted).all(|(line, wanted)| look(line) == *wanted)
        };
        let end = (at_end && last >= from).then_some(last);
        end.into_iter().chain(from..=last).find(|at| fits(*at))
    })
}

/// The error for lines that were not found, with the closest place.
fn missing(lines: &[&str], wanted: &[&str], from: usize) -> String {
    let mut fault = format!("these lines were not found {}:\n", after(from));
    for line in wanted.iter().take(12) {
        // Writing to a string cannot fail.
        let _ = writeln!(fault, "    {line}");
    }
    if wanted.len() > 12 {
        let _ = writeln!(fault, "    [... {} more]", wanted.len() - 12);
    }
    if let Some(at) = find(lines, wanted, 0, false) {
        let _ = write!(fault, "  they are at line {}, {LATER}", at + 1);
        return fault;
    }
    let same = |at: usize| {
        wanted
            .iter()
            .zip(lines.iter().skip(at))
            .filter(|(wanted, line)| wanted.trim() == line.trim() && !line.trim().is_empty())
            .count()
    };
    // Of two equally close places, the first one counts.
    let closest = (0..lines.len()).map(|at| (same(at), at)).max_by_key(|(same, at)| (*same, usize::MAX - at));
    let Some((same @ 1.., at)) = closest else {
        fault.push_str("  none of them is in the file; read it again");
        return fault;
    };
    let _ =
        write!(fault, "  the closest is at line {} ({same} of {} lines are the same)", at + 1, wanted.len());
    let differing = (0..wanted.len()).find_map(|step| {
        let (wanted, line) = (wanted.get(step)?, lines.get(at + step).unwrap_or(&""));
        (wanted.trim() != line.trim()).then_some((at + step + 1, *wanted, *line))
    });
    if let Some((number, wanted, line)) = differing {
        let _ =
            write!(fault, "; line {number} of the file is\n    {line}\n  and the patch says\n    {wanted}");
    }
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(anchors: &[&str], lines: &[&str]) -> Hunk {
        let lines = lines.iter().map(|line| match line.split_at(1) {
            ("+", rest) => HunkLine::Add(rest.to_owned()),
            ("-", rest) => HunkLine::Remove(rest.to_owned()),
            (_, rest) => HunkLine::Keep(rest.to_owned()),
        });
        let anchors = anchors.iter().map(|anchor| (*anchor).to_owned()).collect();
        Hunk { at: 3, anchors, lines: lines.collect(), at_end: false }
    }

    #[test]
    fn hunks_follow_one_another_and_anchors_choose_among_equals() {
        let content = "a\nx\nb\nx\nc\nx\n";
        let hunks = [hunk(&["b"], &["-x", "+y"]), hunk(&[], &[" c", "-x"])];
        assert_eq!(apply(content, &hunks).unwrap(), "a\nx\nb\ny\nc\n");
        let fault = apply(content, &[hunk(&[], &["-c"]), hunk(&["a"], &["-x"])]).unwrap_err();
        assert!(fault.contains("hunk 2") && fault.contains("it is line 1, before"), "{fault}");
    }

    #[test]
    fn an_exact_place_is_taken_before_a_loose_one_and_lines_that_stay_stay() {
        assert_eq!(apply("  x\nx\n", &[hunk(&[], &["-x"])]).unwrap(), "  x\n");
        let content = "\tif a {\u{a0}\n\t\tsay(“hi”)\n\t}\n";
        let hunks = [hunk(&[], &[" if a {", "-say(\"hi\")", "+say()", " }"])];
        assert_eq!(apply(content, &hunks).unwrap(), "\tif a {\u{a0}\nsay()\n\t}\n");
    }

    #[test]
    fn line_ends_are_kept() {
        assert_eq!(apply("a\r\nb\r\n", &[hunk(&[], &[" a", "+x"])]).unwrap(), "a\r\nx\r\nb\r\n");
        assert_eq!(apply("a\nb", &[hunk(&[], &["-a", "+x"])]).unwrap(), "x\nb");
        assert_eq!(apply("", &[hunk(&[], &["+x"])]).unwrap(), "x\n");
        assert_eq!(apply("a\n", &[hunk(&[], &["-a"])]).unwrap(), "");
    }

    #[test]
    fn additions_go_after_their_anchor_or_to_the_end() {
        assert_eq!(apply("a\nb\n", &[hunk(&["a"], &["+x"])]).unwrap(), "a\nx\nb\n");
        // An anchor may be a part of a line, if no line equals it.
        assert_eq!(
            apply("fn ab()\nfn b()\nb\n", &[hunk(&["fn b("], &["+x"])]).unwrap(),
            "fn ab()\nfn b()\nx\nb\n"
        );
        assert_eq!(apply("a\nb\n", &[hunk(&[], &["+x"])]).unwrap(), "a\nb\nx\n");
    }

    #[test]
    fn the_end_of_the_file_is_preferred_when_it_is_named() {
        let end = Hunk { at_end: true, ..hunk(&[], &["-x"]) };
        assert_eq!(apply("x\na\nx\n", &[end]).unwrap(), "x\na\n");
    }

    #[test]
    fn an_empty_line_at_the_end_of_a_hunk_may_be_missing() {
        assert_eq!(apply("a\nb\n", &[hunk(&[], &["-a", "+x", " b", " "])]).unwrap(), "x\nb\n");
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_comes_closest() {
        let content = "fn one() {\n    two(1);\n    three();\n}\n";
        let fault =
            apply(content, &[hunk(&[], &[" fn one() {", "-    two(2);", "     three();"])]).unwrap_err();
        for part in [
            "hunk 1 (line 3 of the patch)",
            "closest is at line 1 (2 of 3 lines",
            "line 2 of the file is\n        two(1);",
            "the patch says\n        two(2);",
        ] {
            assert!(fault.contains(part), "{part}: {fault}");
        }
        let fault = apply(content, &[hunk(&[], &["-nowhere"])]).unwrap_err();
        assert!(fault.contains("none of them is in the file"), "{fault}");
    }

    proptest::proptest! {
        /// A patch made from the difference of two texts turns the first text into the second.
        #[test]
        fn a_difference_makes_the_one_of_the_other(
            before in proptest::collection::vec("[ab ]{0,3}", 0..12),
            after in proptest::collection::vec("[ab ]{0,3}", 0..12),
        ) {
            let text = |lines: &[String]| -> String { lines.iter().map(|line| format!("{line}\n")).collect() };
            let (before, after) = (text(&before), text(&after));
            let diff = similar::TextDiff::from_lines(before.as_str(), after.as_str());
            let lines = diff.iter_all_changes().map(|change| {
                let line = change.value().trim_end_matches('\n').to_owned();
                match change.tag() {
                    similar::ChangeTag::Equal => HunkLine::Keep(line),
                    similar::ChangeTag::Delete => HunkLine::Remove(line),
                    similar::ChangeTag::Insert => HunkLine::Add(line),
                }
            });
            let hunk = Hunk { at: 1, anchors: Vec::new(), lines: lines.collect(), at_end: false };
            proptest::prop_assert_eq!(apply(&before, &[hunk]), Ok(after));
        }
    }
}
