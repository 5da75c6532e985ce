//! Fixed-point numbers in millionths, and steps between them.

/// Fixed-point scale of a subject's values, so that their decimal texts are exact.
pub(super) const MICRO: u64 = 1_000_000;

/// Parses a step and converts it to millionths of `unit`.
pub(super) fn step_of(text: &str, unit: &str) -> Result<u64, String> {
    let (number, share) = match text.trim().strip_suffix('%') {
        // For deadlines, a percentage is a share.
        Some(number) if unit.is_empty() => (number, 100.0),
        Some(number) => (number, 1.0),
        None => (text.trim().strip_suffix(unit).unwrap_or(text.trim()), 1.0),
    };
    let example = match unit {
        "/s" => "50 /s",
        "ms" => "0.5 ms",
        "%" => "1%",
        _ => "1, or 0.01 for deadlines",
    };
    let wrong = || format!("--step {text}: expected a number above 0, such as {example}");
    if unit != "%" && !unit.is_empty() && text.contains('%') {
        return Err(wrong());
    }
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let micros = (number / share * MICRO as f64).round();
    if (1.0..=1e15).contains(&micros) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked just above"
        )]
        Ok(micros as u64)
    } else {
        Err(wrong())
    }
}

/// Returns the largest of 1, 2 or 5 times a power of ten that is at most `micros`, and at least one millionth.
pub(super) fn round_number(micros: u64) -> u64 {
    let power = 10_u64.pow(micros.max(1).ilog10());
    [5, 2]
        .into_iter()
        .map(|n| n * power)
        .find(|&n| n <= micros)
        .unwrap_or(power)
}

/// Formats millionths as the shortest decimal.
pub(super) fn decimal(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / MICRO, micros % MICRO);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimal(50_000), "0.05");
        assert_eq!(decimal(12_500_000), "12.5");
        assert_eq!(decimal(0), "0");
        assert_eq!(round_number(100_000_000), 100_000_000);
        assert_eq!(round_number(99_999_999), 50_000_000);
        assert_eq!(round_number(2_100_000), 2_000_000);
        assert_eq!(step_of("5%", ""), Ok(50_000));
        assert_eq!(step_of("0.5%", "%"), Ok(500_000));
        assert_eq!(step_of("0.25 ms", "ms"), Ok(250_000));
        assert!(step_of("5%", "ms").is_err());
    }
}
