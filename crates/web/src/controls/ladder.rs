//! Formats of the controls' values, and the values of their sliders.

use duetime_scenario::{parse_packets, parse_rate, parse_size, parse_time};

/// Format of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Integer with this maximum.
    Count(u64),
    Bytes,
    /// `uniform A..B`, shown as its mean. Both ends change in proportion.
    Uniform(u64, u64),
    Time,
    PerSecond,
    /// Share of a link.
    Load,
    BitsPerSecond,
    Packets,
}

/// Returns the values of a slider in ascending order, including the current one. `is_memory` selects sizes of switch
/// buffers instead of messages.
pub fn ladder(current: &str, form: &Form, is_memory: bool) -> Vec<String> {
    const STEPS: [f64; 7] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0];
    let decades = |from: i32, to: i32| {
        let decade = move |power: i32| STEPS.map(|step| round_to(step * 10f64.powi(power)));
        (from..=to).flat_map(decade)
    };
    // Pairs of a number for sorting and a text.
    let mut values: Vec<(f64, String)> = match *form {
        Form::Count(maximum) => {
            let whole =
                decades(0, 3).filter(|value| value.fract() == 0.0 && *value <= maximum as f64);
            whole
                .chain([maximum as f64])
                .map(|value| (value, value.to_string()))
                .collect()
        }
        Form::Bytes | Form::Uniform(..) => {
            let (from, to) = if is_memory { (4, 7) } else { (3, 6) };
            decades(from, to)
                .map(|value| (value, shown_bytes(value)))
                .collect()
        }
        Form::Time => decades(-1, 2).map(|ms| (ms, format!("{ms} ms"))).collect(),
        Form::PerSecond => decades(1, 5)
            .map(|value| (value, format!("{value} /s")))
            .collect(),
        Form::Load => (1..=19)
            .map(|value| f64::from(value) / 20.0)
            .chain([0.01, 0.02, 0.03])
            .map(|value| (value, value.to_string()))
            .collect(),
        Form::BitsPerSecond => [1, 2, 5, 10, 25, 40, 50, 100]
            .map(|gbps| (f64::from(gbps) * 1e9, format!("{gbps} Gbps")))
            .to_vec(),
        Form::Packets => decades(1, 3)
            .map(|value| (value, format!("{value} packets")))
            .collect(),
    };
    let size = size_of(current, form);
    values.retain(|(value, _)| Some(*value) != size);
    if let Some(size) = size {
        values.push((size, current.to_owned()));
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values.dedup_by(|a, b| a.1 == b.1);
    values.into_iter().map(|(_, text)| text).collect()
}

/// Rounds to three decimals, since negative powers of ten are not exact.
fn round_to(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Parses a value in the unit of its slider.
fn size_of(value: &str, form: &Form) -> Option<f64> {
    match form {
        Form::Count(_) | Form::Load => value.parse().ok(),
        Form::Bytes | Form::Uniform(..) => Some(parse_size(value).ok()?.0 as f64),
        Form::Time => Some(parse_time(value).ok()?.as_ps() as f64 / 1e9),
        Form::PerSecond => value.strip_suffix("/s")?.trim().parse().ok(),
        Form::BitsPerSecond => Some(parse_rate(value).ok()?.as_bps() as f64),
        Form::Packets => Some(f64::from(parse_packets(value).ok()?)),
    }
}

/// Formats a size.
pub fn shown_bytes(bytes: f64) -> String {
    match bytes.round() {
        bytes if bytes >= 1e6 => format!("{} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{} KB", bytes / 1e3),
        bytes => format!("{bytes} B"),
    }
}
