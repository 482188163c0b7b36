//! The checksum of an event, which shows accidental damage. It is no protection against an attacker.

/// The checksum that the log writes now. It takes eight bytes per step, because every event pays for it. Each
/// step can be undone, so any changed byte changes the checksum; the rotation keeps two changed bits from
/// cancelling each other.
pub(super) fn of(json: &str) -> i64 {
    let (words, rest) = json.as_bytes().as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum = words
        .iter()
        .chain([&last])
        .fold(json.len() as u64, |sum, word| step(sum.rotate_left(5) ^ u64::from_le_bytes(*word)));
    i64::from_ne_bytes((sum ^ (sum >> 32)).to_ne_bytes())
}

fn step(sum: u64) -> u64 {
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether an event still has its checksum.
pub(super) fn holds(json: &str, written: i64) -> bool {
    written == of(json) || written == bytewise(json)
}

/// The checksum that older versions wrote: FNV-1a over 64 bits.
fn bytewise(json: &str) -> i64 {
    let sum = json.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    i64::from_ne_bytes(sum.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_byte_changes_changes_the_sum() {
        let json = r#"{"seq":1,"type":"message_delta","text":"a word, and another"}"#;
        assert!(holds(json, of(json)));
        for at in 0..json.len() {
            for bit in 0..7 {
                let mut harmed = json.as_bytes().to_vec();
                harmed[at] ^= 1 << bit;
                let harmed = String::from_utf8(harmed).unwrap();
                assert!(!holds(&harmed, of(json)), "{harmed}");
            }
            assert!(!holds(&json[..at], of(json)), "cut at {at}");
        }
        assert!(!holds(&format!("{json}\0"), of(json)));
    }

    #[test]
    fn the_same_bit_of_two_words_does_not_pass_unseen() {
        assert_ne!(of("aaaaaaaabbbbbbbbcccccccc"), of("aaaaaaa!bbbbbbb\"cccccccc"));
    }

    #[test]
    fn an_event_of_an_older_log_is_whole() {
        // FNV-1a of "a", as its authors publish it.
        assert!(holds("a", i64::from_ne_bytes(0xaf63_dc4c_8601_ec8c_u64.to_ne_bytes())));
        assert!(!holds("b", i64::from_ne_bytes(0xaf63_dc4c_8601_ec8c_u64.to_ne_bytes())));
    }
}
