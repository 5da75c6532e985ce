//! Formatting of numbers and names for text and tables.

/// Formats a share in per cent.
pub fn percent(share: f64) -> String {
    // More digits near 0 % and 100 %, where they matter. Only 1.0 is shown as 100 %.
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        100.0 => "100 %".to_owned(),
        p if p.abs() < 1.0 => format!("{p:.2} %"),
        p if p > 99.5 && p < 100.0 => {
            let digits = format!("{:.2}", p.min(99.99));
            format!("{} %", digits.strip_suffix('0').unwrap_or(&digits))
        }
        p => format!("{p:.1} %"),
    }
}

/// Formats a share in per cent, with enough digits to show on which side of the target it is.
pub fn percent_near(share: f64, target: Option<f64>) -> String {
    let shown = percent(share);
    let Some(target) = target.filter(|&target| percent(target) == shown) else {
        return shown;
    };
    // Only 1.0 is shown as 100 %.
    let is_all = |shown: &str| share < 1.0 && shown.starts_with("100");
    let mut digits =
        (2..=12).map(|digits| [share, target].map(|value| format!("{:.digits$} %", value * 100.0)));
    digits
        .find_map(|[share, target]| (share != target && !is_all(&share)).then_some(share))
        .unwrap_or(shown)
}

/// Joins names as in a sentence: `a, b and c`.
pub fn list(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        last
    } else {
        format!("{} and {last}", names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_digits_near_0_and_100_percent() {
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(0.0012), "0.12 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.9993), "99.93 %");
        assert_eq!(percent(0.999), "99.9 %");
        assert_eq!(percent(0.997), "99.7 %");
        assert_eq!(percent(0.999_999), "99.99 %");
    }

    #[test]
    fn digits_show_the_side_of_the_target() {
        let near = |share, target| percent_near(share, Some(target));
        assert_eq!(near(0.9896, 0.99), "98.96 %");
        assert_eq!(near(0.9904, 0.99), "99.04 %");
        assert_eq!(near(0.989_999, 0.99), "98.9999 %");
        assert_eq!(near(0.99, 0.99), "99.0 %");
        assert_eq!(near(0.9896, 0.95), "99.0 %");
        assert_eq!(near(0.999_49, 0.9995), "99.949 %");
        assert_eq!(near(0.999_999, 0.9999), "99.9999 %");
        assert_eq!(near(0.9996, 1.0), "99.96 %");
        assert_eq!(near(0.999_999, 1.0), "99.99 %");
        assert_eq!(percent_near(0.9896, None), "99.0 %");
    }

    #[test]
    fn lists_end_in_and() {
        let listed = |names: &[&str]| list(names.iter().map(|&name| name.to_owned()));
        assert_eq!(listed(&[]), "");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
