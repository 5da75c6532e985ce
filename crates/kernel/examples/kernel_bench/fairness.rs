//! What `duetime_d2tcp` without deadlines and `duetime_dctcp` take from each other.

use crate::wire::contest::bytes_of_two;
use crate::wire::{Marking, Wire, attach};
use crate::{mean, shown};
use duetime_kernel::Options;

/// Bytes of both flows, from which and until which is measured: 2.4 s at 100 Mbps.
const MEASURED: [u64; 2] = [5_000_000, 35_000_000];

/// How far from zero the interval of the difference may reach.
const EQUAL: f64 = 0.03;

/// Competes so many times, and prints the shares. DCTCP in the place of D2TCP is the control: true if the 95 % interval
/// of the difference to it contains zero and lies within [`EQUAL`] of it, so that few or noisy runs do not pass.
pub fn measure(pairs: usize) -> bool {
    let attachment = attach(&Options::default());
    let wire = Wire::new(Some("tbf rate 100mbit burst 3000 limit 1000000"));
    wire.mark(Marking::above(20));
    println!("100 Mbps, marks above 20 packets, {pairs} pairs of runs of 2.4 s");
    let run = |first: &str, place: usize| {
        let mut controls = ["duetime_dctcp"; 2];
        controls[place] = first;
        let bytes = bytes_of_two(&wire, &attachment, controls, MEASURED, |_| {});
        bytes[place] as f64 / (bytes[0] + bytes[1]) as f64
    };
    let (mut mixed, mut alike) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Who begins, and which of the two runs comes first, take turns.
        let place = pair % 2;
        if pair / 2 % 2 == 0 {
            mixed.push(run("duetime_d2tcp", place));
            alike.push(run("duetime_dctcp", place));
        } else {
            alike.push(run("duetime_dctcp", place));
            mixed.push(run("duetime_d2tcp", place));
        }
    }
    let differences: Vec<f64> = mixed.iter().zip(&alike).map(|(a, b)| a - b).collect();
    let difference = mean(&differences);
    println!("packets sent and marked: {:?}", wire.counts());
    println!(
        "share of D2TCP beside DCTCP       {}",
        shown(&mean(&mixed), 4)
    );
    println!(
        "share of DCTCP beside DCTCP       {}",
        shown(&mean(&alike), 4)
    );
    println!(
        "difference                        {}",
        shown(&difference, 4)
    );
    let (low, high) = (difference.low(), difference.high());
    let zero = low <= 0.0 && 0.0 <= high;
    let narrow = -EQUAL <= low && high <= EQUAL;
    let verdict = match (zero, narrow) {
        (true, true) => "equal",
        (true, false) => "NOT told apart, but more pairs are needed: the interval is too wide",
        (false, _) => "NOT equal",
    };
    println!("{verdict}");
    zero && narrow
}
