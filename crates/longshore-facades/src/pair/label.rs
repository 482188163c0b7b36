//! The names of devices. Decisions show these names, so no device may look like somebody else.

use std::ops::RangeInclusive;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// The most letters of a device's name; the rest is cut off.
const LENGTH: usize = 80;

/// The name of a device: one line of bounded length, in letters that people can tell apart, and not a name
/// that stands for somebody else.
pub(crate) fn named(label: Option<&str>) -> String {
    let clean: String = label
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c })
        .filter(|c| !is_invisible(*c))
        .take(LENGTH)
        .collect();
    let clean = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match clean.as_str() {
        "" => "a device".to_owned(),
        taken if stands_for_somebody(taken) => format!("a device called {taken}"),
        // One script can be read for another: what has letters of several says that it is no plain word.
        mixed if scripts_of(mixed) > 1 => format!("a device called {mixed}"),
        odd if odd.chars().any(is_odd) => format!("a device called {odd}"),
        name => name.to_owned(),
    }
}

/// The name, or the name with a number if another device has it already: nobody could tell which of them
/// decided.
pub(crate) fn told_apart(name: String, taken: &[&str]) -> String {
    let lower = |text: &str| text.to_lowercase();
    let is_free = |name: &String| !taken.iter().any(|other| lower(other) == lower(name));
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// Whether a name reads like a name that is no device. Letters that look like Latin ones count as Latin, with
/// or without marks, small, raised or in circles.
fn stands_for_somebody(name: &str) -> bool {
    let skeleton: String = DecomposingNormalizerBorrowed::new_nfkd()
        .normalize(name)
        .chars()
        .flat_map(char::to_lowercase)
        .map(looks_like)
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let taken = ["owner", "theowner", "hub", "thehub", "longshore", "system", "admin", "root"];
    taken.contains(&skeleton.as_str())
}

/// The Latin letter that this letter or digit looks like.
fn looks_like(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' => 'a',
        'ь' | 'в' | 'ƅ' => 'b',
        'е' | 'ε' | 'є' => 'e',
        'һ' | 'н' | 'հ' | 'η' => 'h',
        'ո' | 'п' | 'ŋ' => 'n',
        'о' | 'ο' | 'օ' | 'σ' | '0' | 'ø' | 'ɵ' | '\u{5e1}' | '\u{b66}' => 'o',
        'г' | 'ᴦ' => 'r',
        'ս' | 'υ' | 'ц' => 'u',
        'ѡ' | 'ԝ' | 'ω' | 'ш' | 'ɯ' => 'w',
        'ѕ' => 's',
        'і' | 'ι' | 'ı' | '1' => 'i',
        'т' | 'τ' => 't',
        'м' => 'm',
        'ԁ' | 'đ' => 'd',
        'ӏ' | 'ł' => 'l',
        'у' | 'γ' => 'y',
        other => other,
    }
}

/// The letters in which people write names. Other letters look like these, or like nothing that most people
/// could tell apart.
const PLAIN: [RangeInclusive<char>; 23] = [
    'A'..='\u{24f}',
    '\u{370}'..='\u{5ff}',
    '\u{600}'..='\u{6ff}',
    '\u{750}'..='\u{77f}',
    '\u{900}'..='\u{eff}',
    '\u{1000}'..='\u{109f}',
    '\u{10d0}'..='\u{137f}',
    '\u{1780}'..='\u{17ff}',
    '\u{1e00}'..='\u{1fff}',
    '\u{3005}'..='\u{3007}',
    '\u{3040}'..='\u{318f}',
    '\u{31a0}'..='\u{31bf}',
    '\u{31f0}'..='\u{31ff}',
    '\u{3400}'..='\u{4dbf}',
    '\u{4e00}'..='\u{9fff}',
    '\u{a960}'..='\u{a97f}',
    '\u{ac00}'..='\u{d7ff}',
    '\u{f900}'..='\u{faff}',
    '\u{fb1d}'..='\u{fdff}',
    '\u{fe70}'..='\u{fefc}',
    '\u{ff66}'..='\u{ff9f}',
    '\u{20000}'..='\u{2fa1f}',
    '\u{30000}'..='\u{3ffff}',
];

/// Whether nobody writes a name with this letter: phonetic, in a box, of a script that few people can read.
fn is_odd(c: char) -> bool {
    let boxed = ('\u{1f100}'..='\u{1f1ff}').contains(&c);
    boxed || (c.is_alphabetic() && !PLAIN.iter().any(|plain| plain.contains(&c)))
}

/// How many of the scripts that people confuse a name uses.
fn scripts_of(name: &str) -> usize {
    let has = |is: fn(char) -> bool| usize::from(name.chars().any(is));
    has(|c| c.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&c))
        + has(|c| ('\u{370}'..='\u{3ff}').contains(&c))
        + has(|c| ('\u{400}'..='\u{52f}').contains(&c))
        + has(|c| ('\u{530}'..='\u{58f}').contains(&c))
}

/// Whether a character is invisible, stands on the previous letter, or changes the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{300}'..='\u{36f}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_so_that_nobody_is_taken_in() {
        assert_eq!(named(Some("  My phone\n")), "My phone");
        assert_eq!(named(Some("Телефон Ады")), "Телефон Ады");
        assert_eq!(named(Some("Björns Gerät 2")), "Björns Gerät 2");
        for plain in
            ["Čeněk's 📱", "手机 2", "아이폰", "הטלפון שלי", "هاتفي", "मेरा फ़ोन", "თამარი", "Điện thoại"]
        {
            assert_eq!(named(Some(plain)), plain);
        }
        assert_eq!(named(Some(" Owner ")), "a device called Owner");
        assert_eq!(named(Some("ow\u{200b}ner")), "a device called owner");
        assert_eq!(named(Some("\u{202e}\t ")), "a device");
        assert_eq!(named(Some("\u{2800}\u{3164}\u{ad}")), "a device");
        assert_eq!(named(None), "a device");
        assert_eq!(named(Some(&"x".repeat(500))).len(), LENGTH);
    }

    #[test]
    fn nobody_is_called_what_can_be_read_for_the_owner() {
        let pretenders = [
            "оwner",
            "0wner",
            "own\u{435}r",
            "ｏｗｎｅｒ",
            "𝐨𝐰𝐧𝐞𝐫",
            "o w n e r",
            "ow-ner",
            "HÜB",
            "о\u{301}wner",
            "the owner",
            "оѡпег",
            "ⓞⓦⓝⓔⓡ",
            "ōwner",
            "ọwner",
            "ownęr",
            "ᴏᴡɴᴇʀ",
            "ᵒʷⁿᵉʳ",
            "🅾🆆🅽🅴🆁",
            "🇴🇼🇳🇪🇷",
            "ᎤᏔᏁᏒ",
            "øwner",
        ];
        for pretender in pretenders {
            assert!(
                named(Some(pretender)).starts_with("a device called "),
                "{pretender}: {}",
                named(Some(pretender))
            );
        }
        assert!(named(Some("раyраl")).starts_with("a device called "), "letters of two scripts");
    }

    #[test]
    fn two_devices_are_never_called_the_same() {
        let taken = ["My phone", "my phone (2)", "Watch"];
        assert_eq!(told_apart("my phone".to_owned(), &taken), "my phone (3)");
        assert_eq!(told_apart("Tablet".to_owned(), &taken), "Tablet");
    }
}
