//! When a service accepts the next try, from a header or from the text of its refusal.

use std::time::Duration;

/// The phrases before the time.
const BEFORE: [&str; 4] = ["try again in ", "retry in ", "try again after ", "retry after "];

/// Reads the header `Retry-After`: seconds, or a date. `now` is the current time in seconds since 1970.
pub fn retry_after(header: &str, now: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let seconds = moment(header)?.saturating_sub(now);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// The time in a sentence such as `Please try again in 1.2s.`
pub(super) fn in_words(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    let rest = BEFORE.iter().find_map(|before| message.split_once(before))?.1;
    span(rest)
}

/// A time such as `20ms`, `1.2s`, `6m0s` or `30 seconds`, at the beginning of a text.
pub(super) fn span(text: &str) -> Option<Duration> {
    let (mut all, mut rest, mut found) = (0.0, text, false);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest.get(..digits)?.parse::<f64>() else { break };
        let after = rest.get(digits..)?.trim_start_matches(' ');
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = match after.get(..letters)? {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        all += number * unit;
        found = true;
        rest = after.get(letters..)?;
    }
    found.then(|| Duration::try_from_secs_f64(all).ok()).flatten()
}

/// Seconds since 1970 of `Wed, 21 Oct 2015 07:28:00 GMT`.
fn moment(date: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = date.split_once(", ")?.1.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = i64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()? + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // The days since 1970. Years count from March, so the leap day is the last day of a year.
    let years = if month <= 2 { year - 1 } else { year };
    let era = years.div_euclid(400);
    let year_of_era = years.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_to_ask_again_is_understood_in_both_its_forms() {
        assert_eq!(retry_after("2", 0), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(" 0.25", 0), Some(Duration::from_millis(250)));
        assert_eq!(moment("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480));
        assert_eq!(moment("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
        assert_eq!(
            retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1_445_412_470),
            Some(Duration::from_secs(10))
        );
        assert_eq!(retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1_545_412_470), Some(Duration::ZERO));
        assert_eq!(retry_after("soon", 0), None);
        assert_eq!(retry_after("-1", 0), None);
    }

    #[test]
    fn a_time_is_found_in_the_words_of_services() {
        let found = |message: &str| in_words(message).map(|time| time.as_millis());
        assert_eq!(found("Rate limit reached for gpt-5. Please try again in 1.2s. Visit"), Some(1_200));
        assert_eq!(found("Limit 30000, Requested 999. Please try again in 20ms."), Some(20));
        assert_eq!(found("Please try again in 6m0.5s"), Some(360_500));
        assert_eq!(found("Quota exceeded. Please retry in 23.5s."), Some(23_500));
        assert_eq!(found("Please retry after 5 seconds."), Some(5_000));
        assert_eq!(found("try again in 1h2m"), Some(3_720_000));
        for silent in
            ["try again in a while", "try again in 7", "try again in .s", "slow down", "try again in 1e999s"]
        {
            assert_eq!(found(silent), None, "{silent}");
        }
    }
}
