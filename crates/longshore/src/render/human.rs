//! Numbers for people: durations, ages, counts, money, short ids.

use longshore_model::id::SessionId;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;
const YEAR: u64 = 365 * DAY;

/// How long something took: `80ms`, `3.4s`, `2m 05s`, `1h 02m`, `3d 4h`.
pub fn duration(millis: u64) -> String {
    match millis {
        0..100 => format!("{millis}ms"),
        100..59_950 => format!("{:.1}s", millis as f64 / SECOND as f64),
        59_950..HOUR => {
            let seconds = (millis + SECOND / 2) / SECOND;
            format!("{}m {:02}s", seconds / 60, seconds % 60)
        }
        HOUR..DAY => format!("{}h {:02}m", millis / HOUR, millis % HOUR / MINUTE),
        DAY.. => format!("{}d {}h", millis / DAY, millis % DAY / HOUR),
    }
}

/// How long something has been running, to the second, so that it does not flicker: `7s`, `2m 05s`.
pub fn elapsed(millis: u64) -> String {
    match millis {
        0..MINUTE => format!("{}s", millis / SECOND),
        MINUTE..HOUR => format!("{}m {:02}s", millis / MINUTE, millis % MINUTE / SECOND),
        HOUR.. => duration(millis),
    }
}

/// How long ago something was, in words: `just now`, `5m ago`.
pub fn ago(millis: u64) -> String {
    match age(millis) {
        now if now == "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}

/// How long ago something was, in one unit: `now`, `12s`, `5m`, `3h`, `2d`, `6w`, `1y`.
pub fn age(millis: u64) -> String {
    let (unit, name) = match millis {
        0..5_000 => return "now".to_owned(),
        5_000..MINUTE => (SECOND, 's'),
        MINUTE..HOUR => (MINUTE, 'm'),
        HOUR..DAY => (HOUR, 'h'),
        DAY..WEEK => (DAY, 'd'),
        WEEK..YEAR => (WEEK, 'w'),
        YEAR.. => (YEAR, 'y'),
    };
    format!("{}{name}", millis / unit)
}

/// A count in at most four characters: `999`, `1.2k`, `45k`, `3.1M`.
pub fn count(number: u64) -> String {
    let (unit, name) = match number {
        0..1_000 => return number.to_string(),
        1_000..999_500 => (1_000.0, 'k'),
        999_500..999_500_000 => (1_000_000.0, 'M'),
        999_500_000.. => (1_000_000_000.0, 'G'),
    };
    let scaled = number as f64 / unit;
    if scaled < 9.95 { format!("{scaled:.1}{name}") } else { format!("{scaled:.0}{name}") }
}

/// Dollars: `$0.03`, `$12.40`; what is less than a cent but something is `<$0.01`.
pub fn cost(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.01 { "<$0.01".to_owned() } else { format!("${dollars:.2}") }
}

/// A number with its noun: `1 line`, `2 lines`.
pub fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The last eight digits of a session's id.
///
/// The last and not the first: the first ones are the clock, and sessions opened in the same minute share them.
/// A verb that takes a short id looks for the session whose id ends with it.
pub fn short_id(session: SessionId) -> String {
    let id = session.0.as_simple().to_string();
    id.get(id.len().saturating_sub(8)..).unwrap_or(&id).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (millis, expected) in [
            (0, "0ms"),
            (80, "80ms"),
            (3_449, "3.4s"),
            (59_949, "59.9s"),
            (59_999, "1m 00s"),
            (125_000, "2m 05s"),
            (3_720_000, "1h 02m"),
            (3 * DAY + 4 * HOUR, "3d 4h"),
        ] {
            assert_eq!(duration(millis), expected);
        }
        assert_eq!([elapsed(7_900), elapsed(61_000), elapsed(2 * HOUR)], ["7s", "1m 01s", "2h 00m"]);
    }

    #[test]
    fn ages() {
        let ages = [0, 12_000, 5 * MINUTE, 3 * HOUR, 2 * DAY, 6 * WEEK, 2 * YEAR].map(age);
        assert_eq!(ages, ["now", "12s", "5m", "3h", "2d", "6w", "2y"]);
    }

    #[test]
    fn counts_and_money() {
        let counts = [0, 999, 1_000, 1_249, 9_949, 9_950, 45_300, 999_499, 999_500, 3_140_000].map(count);
        assert_eq!(counts, ["0", "999", "1.0k", "1.2k", "9.9k", "10k", "45k", "999k", "1.0M", "3.1M"]);
        assert_eq!([0.0, 0.004, 0.031, 12.4].map(cost), ["$0.00", "<$0.01", "$0.03", "$12.40"]);
        assert_eq!([plural(1, "line"), plural(2, "line")], ["1 line", "2 lines"]);
    }

    #[test]
    fn a_short_id_is_the_end_of_the_id() {
        let session: SessionId = "01931f5e-7a2b-7c3d-8e4f-a1b2c3d4e5f6".parse().unwrap();
        assert_eq!(short_id(session), "c3d4e5f6");
    }
}
