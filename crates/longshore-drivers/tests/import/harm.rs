//! Records that are cut anywhere, grow, or are broken: nothing is lost, nothing is there twice, nothing panics.

use std::io::Write;

use longshore_drivers::import::{Reading, RecordLine, RecordLines};
use longshore_model::event::{Body, RawFault};
use proptest::prelude::*;

use super::{hear, lines_of, read, reader_of, records};

/// All records, read once.
fn all() -> &'static [(String, Vec<RecordLine>)] {
    static ALL: std::sync::OnceLock<Vec<(String, Vec<RecordLine>)>> = std::sync::OnceLock::new();
    ALL.get_or_init(|| records().into_iter().map(|(name, file)| (name, lines_of(&file))).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// As a hub does it that was restarted now and then: each time somebody reads from the beginning, and only what
    /// comes after the place that was reached counts.
    #[test]
    fn read_in_pieces_is_read_at_once(which in any::<prop::sample::Index>(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let (name, lines) = which.get(all());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
        cuts.extend([0, lines.len()]);
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        for piece in cuts.windows(2) {
            let mut reader = reader_of(name);
            let mut told = Reading::default();
            hear(&mut *reader, &lines[..piece[0]], &mut told);
            told.drafts.clear();
            hear(&mut *reader, &lines[piece[0]..piece[1]], &mut told);
            pieces.extend(told.drafts);
        }
        prop_assert_eq!(pieces, read(name, lines));
    }

    #[test]
    fn broken_lines_are_kept_and_harm_nobody(
        which in any::<prop::sample::Index>(),
        harms in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[ -~]{0,8}"), 1..12),
        swap in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let (name, lines) = which.get(all());
        let mut lines = lines.clone();
        for (line, place, with) in &harms {
            let line = line.get(&lines).clone();
            let mut letters: Vec<char> = line.text.chars().collect();
            let at = place.index(letters.len() + 1);
            letters.splice(at..(at + 2).min(letters.len()), with.chars());
            let text: String = letters.into_iter().collect();
            let place = lines.iter().position(|other| *other == line).unwrap();
            lines[place] = RecordLine { text: text.into(), fault: None };
        }
        let (one, other) = (swap.0.index(lines.len()), swap.1.index(lines.len()));
        lines.swap(one, other);
        let drafts = read(name, &lines);
        let kept: Vec<&str> = drafts.iter().filter_map(|(_, draft)| draft.raw.as_deref()).collect();
        let were: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
        prop_assert_eq!(kept, were);
    }

    #[test]
    fn any_line_at_all_is_kept(text in any::<String>(), who in prop::sample::select(vec!["claude", "codex", "opencode"])) {
        let line = RecordLine { text: text.into(), fault: None };
        let drafts = read(who, std::slice::from_ref(&line));
        prop_assert_eq!(drafts.iter().filter(|(_, draft)| draft.raw.as_ref() == Some(&line.text)).count(), 1);
    }

    /// A file is written in pieces of any size, and read between.
    #[test]
    fn a_file_that_grows_gives_each_line_once(
        text in "([a-zé]{0,12}\r?\n){0,12}[a-z]{0,4}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut lines = RecordLines::of_file(file.path().to_owned());
        let mut read = Vec::new();
        for piece in cuts.windows(2) {
            file.as_file().write_all(&bytes[piece[0]..piece[1]]).unwrap();
            while let Some(line) = lines.next().unwrap() {
                prop_assert_eq!(line.fault, None);
                read.push(line.text.to_string());
            }
            let whole = bytes[..piece[1]].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            prop_assert_eq!(lines.place(), whole as u64, "a line without its end is not there yet");
        }
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let expected: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn a_line_that_is_no_text_or_too_long_is_kept_as_far_as_it_goes() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"{\"a\":\"\xff\xfe\"}\n").unwrap();
    let long = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        file.write_all(&long).unwrap();
    }
    file.write_all(b"\nlast\n").unwrap();
    let lines = lines_of(file.path());
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&*lines[0].text, lines[0].fault),
        ("{\"a\":\"\u{fffd}\u{fffd}\"}", Some(RawFault::InvalidUtf8))
    );
    assert_eq!((lines[1].text.len(), lines[1].fault), (1 << 20, Some(RawFault::Truncated)));
    assert_eq!((&*lines[2].text, lines[2].fault), ("last", None));
    for (_, draft) in read("codex", &lines) {
        assert!(matches!(draft.body, Body::Raw { fault: Some(_), .. }), "{:?}", draft.body);
    }
}
