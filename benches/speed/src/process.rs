//! Running one measurement as a process, and reading what it prints.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts that a child printed; casts from floats saturate"
)]

use std::path::PathBuf;
use std::process::Command;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// What a measured process says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) packet_hops: u64,
    /// The share of the packet-hops that the busiest thread did; 1 for the floor, which has one.
    pub(crate) busiest_share: f64,
    pub(crate) ns_per_hop: f64,
    pub(crate) resident_mb: f64,
    pub(crate) finished_us: f64,
    /// Flows run and not finished; 0 for the floor, which has no records.
    pub(crate) flows: u64,
    pub(crate) unfinished: u64,
    pub(crate) digest: u128,
}

impl Program {
    /// The simulator on a scenario under a transport.
    pub(crate) fn simulator(
        scenario: &str,
        transport: &str,
        more: &[&str],
    ) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        let arguments = ["child", scenario, transport]
            .iter()
            .chain(more)
            .map(|&text| text.to_owned())
            .collect();
        Ok(Self { path, arguments })
    }

    /// The floor, which is built beside this program.
    pub(crate) fn floor(work: &str, nic: &str) -> Result<Self, String> {
        let path = std::env::current_exe()
            .map_err(|error| error.to_string())?
            .with_file_name("duetime-floor");
        Ok(Self {
            path,
            arguments: vec![work.to_owned(), nic.to_owned()],
        })
    }

    /// Runs it and reads its line.
    pub(crate) fn run(&self) -> Result<Cost, String> {
        let output = Command::new(&self.path)
            .args(&self.arguments)
            .output()
            .map_err(|error| format!("{}: {error}", self.path.display()))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!(
                "{} {}: {reason}",
                self.path.display(),
                self.arguments.join(" ")
            ));
        }
        let number = |key: &str| field(&said, key).and_then(|text| text.parse::<f64>().ok());
        let needed = |key: &str| number(key).ok_or_else(|| format!("no {key} in: {said}"));
        Ok(Cost {
            packet_hops: needed("packet_hops")? as u64,
            busiest_share: number("busiest_share").unwrap_or(1.0),
            ns_per_hop: needed("ns_per_packet_hop")?,
            resident_mb: needed("resident_kib")? * 1024.0 / 1e6,
            finished_us: needed("finished_us")?,
            flows: number("flows").unwrap_or(0.0) as u64,
            unfinished: number("unfinished").unwrap_or(0.0) as u64,
            digest: field(&said, "digest")
                .and_then(|text| u128::from_str_radix(text, 16).ok())
                .unwrap_or(0),
        })
    }
}

/// The value of `key=value` in a line of such pairs.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace()
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

/// The middle of `values`, which are not empty.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_by_their_whole_key() {
        assert_eq!(
            field("ns_per_packet_hop=1.5 packet_hops=3", "packet_hops"),
            Some("3")
        );
        assert_eq!(field("ns=1", "n"), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }
}
