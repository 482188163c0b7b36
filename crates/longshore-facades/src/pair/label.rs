//! The names of devices, as people read them beside what was decided: nobody is to be taken for somebody else.

/// How many letters the name of a device may have; the others are cut off.
const LENGTH: usize = 80;

/// The name of a device: a line, not too long, of letters that can be told apart, and no name that stands for somebody else.
pub(super) fn named(label: Option<&str>) -> String {
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
        name => name.to_owned(),
    }
}

/// Whether a name reads like one of those that are no devices: letters that look like Latin ones count as these.
fn stands_for_somebody(name: &str) -> bool {
    let skeleton: String = name
        .chars()
        .flat_map(char::to_lowercase)
        .map(looks_like)
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let taken = ["owner", "theowner", "hub", "thehub", "longshore", "system", "admin", "root"];
    taken.contains(&skeleton.as_str())
}

/// The Latin letter that a letter or figure is easily taken for.
fn looks_like(c: char) -> char {
    match c {
        // Full width, and the letters of mathematics, in the order of the alphabet.
        '\u{ff21}'..='\u{ff3a}' => letter(c, 0xff21),
        '\u{ff41}'..='\u{ff5a}' => letter(c, 0xff41),
        '\u{1d400}'..='\u{1d6a3}' => char::from(b'a' + ((c as u32 - 0x1d400) % 26) as u8),
        '\u{24d0}'..='\u{24e9}' => letter(c, 0x24d0),
        'а' | 'α' | 'ɑ' | 'à' | 'á' | 'â' | 'ä' | 'å' => 'a',
        'ь' | 'в' | 'Ƅ' => 'b',
        'е' | 'ё' | 'ε' | 'є' | 'è' | 'é' | 'ê' | 'ë' => 'e',
        'һ' | 'н' | 'հ' | 'η' => 'h',
        'ո' | 'п' | 'ñ' | 'ń' | 'ŋ' => 'n',
        'о' | 'ο' | 'օ' | 'σ' | '0' | 'ö' | 'ó' | 'ò' | 'ô' | 'ø' | '\u{5e1}' | '\u{b66}' => 'o',
        'г' | 'ѓ' | 'ᴦ' | 'ŕ' | 'ř' => 'r',
        'ս' | 'υ' | 'ü' | 'ú' | 'ù' | 'û' | 'ц' => 'u',
        'ѡ' | 'ԝ' | 'ω' | 'ш' | 'ɯ' | 'ŵ' => 'w',
        'ѕ' => 's',
        'і' | 'ι' | '1' | 'í' | 'ì' => 'i',
        'т' | 'τ' => 't',
        'м' => 'm',
        'ԁ' => 'd',
        'ӏ' => 'l',
        'у' | 'γ' => 'y',
        other => other,
    }
}

fn letter(c: char, first: u32) -> char {
    char::from(b'a' + ((c as u32 - first) % 26) as u8)
}

/// How many of the scripts that are taken for each other a name has letters of.
fn scripts_of(name: &str) -> usize {
    let has = |is: fn(char) -> bool| usize::from(name.chars().any(is));
    has(|c| c.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&c))
        + has(|c| ('\u{370}'..='\u{3ff}').contains(&c))
        + has(|c| ('\u{400}'..='\u{52f}').contains(&c))
        + has(|c| ('\u{530}'..='\u{58f}').contains(&c))
        + has(|c| ('\u{1d400}'..='\u{1d7ff}').contains(&c) || ('\u{ff01}'..='\u{ff5e}').contains(&c))
}

/// Signs that show nothing, stand on the letter before, or turn the direction of writing.
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
}
