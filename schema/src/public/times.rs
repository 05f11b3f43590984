//! The one place that formats times: UTC, RFC 3339 with milliseconds and `Z` (CHOICES, *times*).

use crate::time::LogTime;
use time::{OffsetDateTime, format_description::BorrowedFormatItem, macros::format_description};

const RFC3339_MS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// An instant as every public JSON shows it: `2026-12-01T10:00:00.125Z`. Microseconds are cut, not rounded.
pub fn rfc3339_ms(at: LogTime) -> String {
    let nanos = i128::from(at.cut_to_ms().0) * 1_000;
    OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|time| time.format(RFC3339_MS).ok())
        .unwrap_or_else(|| format!("{}us", at.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_in_utc_with_milliseconds_that_are_cut() {
        assert_eq!(rfc3339_ms(LogTime(1_764_583_200_125_999)), "2025-12-01T10:00:00.125Z");
        assert_eq!(rfc3339_ms(LogTime(0)), "1970-01-01T00:00:00.000Z");
    }
}
