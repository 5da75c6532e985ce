//! Bandwidth shares of `duetime_d2tcp` without deadlines and `duetime_dctcp`, competing with each other.

use crate::wire::contest::bytes_of_two;
use crate::wire::{Marking, Wire, attach};
use crate::{format_estimate, mean};
use duetime_kernel::Options;

/// Start and end of the measurement, in bytes of both flows: 2.4 s at 100 Mbps.
const MEASURED: [u64; 2] = [5_000_000, 35_000_000];

/// Maximum distance of the difference's interval from zero.
const EQUAL: f64 = 0.03;

/// Runs competitions in pairs and prints the shares. DCTCP in place of D2TCP is the control. Returns true if the 95 %
/// interval of the difference contains zero and is within [`EQUAL`] of it, so that few or noisy runs do not pass.
pub fn measure(pairs: usize) -> bool {
    let _attachment = attach(&Options::default());
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    wire.mark(Marking::above(20));
    println!("100 Mbps, marks above 20 packets, {pairs} pairs of runs of 2.4 s");
    let run = |first: &str, position: usize| {
        let mut controls = ["duetime_dctcp"; 2];
        controls[position] = first;
        let bytes = bytes_of_two(&wire, controls, MEASURED, |_| {});
        bytes[position] as f64 / (bytes[0] + bytes[1]) as f64
    };
    let (mut mixed, mut baseline) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Alternate the position of the flow and the order of the two runs.
        let position = pair % 2;
        if pair / 2 % 2 == 0 {
            mixed.push(run("duetime_d2tcp", position));
            baseline.push(run("duetime_dctcp", position));
        } else {
            baseline.push(run("duetime_dctcp", position));
            mixed.push(run("duetime_d2tcp", position));
        }
    }
    let differences: Vec<f64> = mixed.iter().zip(&baseline).map(|(a, b)| a - b).collect();
    let difference = mean(&differences);
    println!("packets sent and marked: {:?}", wire.counts());
    println!(
        "share of D2TCP against DCTCP      {}",
        format_estimate(&mean(&mixed), 4)
    );
    println!(
        "share of DCTCP against DCTCP      {}",
        format_estimate(&mean(&baseline), 4)
    );
    println!(
        "difference                        {}",
        format_estimate(&difference, 4)
    );
    let (low, high) = (difference.low(), difference.high());
    let zero = low <= 0.0 && 0.0 <= high;
    let narrow = -EQUAL <= low && high <= EQUAL;
    let verdict = match (zero, narrow) {
        (true, true) => "equal",
        (true, false) => "NOT distinguishable, but more pairs are needed: the interval is too wide",
        (false, _) => "NOT equal",
    };
    println!("{verdict}");
    zero && narrow
}
