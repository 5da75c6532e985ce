//! CUBIC on a connection: reduction after a loss, and delivery under random loss.

use crate::common::{Fate, Pair, plain};
use duetime_core::Span;
use duetime_core::random::mix;
use duetime_proto::tcp::Config;
use duetime_proto::window::{CongestionControl, Cubic};
use proptest::prelude::*;

fn cubic(options: Cubic) -> Config {
    Config {
        congestion_control: CongestionControl::Cubic(options),
        ..plain()
    }
}

#[test]
fn loss_reduces_ssthresh_by_beta() {
    // Slow start sends 2, 4, 8, 16, 32 segments: packet 40 is in the last round.
    let mut pair = Pair::new(cubic(Cubic::default())).losing(|packet| packet == 40);
    pair.send(200_000);
    pair.run();
    let (ssthresh, counters) = (pair.sender.ssthresh_bytes(), pair.sender.counters());
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
    assert!(pair.bytes == 200_000 && ssthresh % 700 == 0, "{ssthresh}");
}

#[test]
fn does_not_use_marks() {
    let mut pair = Pair::new(cubic(Cubic::default())).data_fate(|_, _, _| Fate::Mark);
    pair.send(100_000);
    pair.run();
    assert_eq!(pair.sender.ssthresh_bytes(), u64::MAX);
}

proptest! {
    #[test]
    fn delivers_everything_under_loss(
        bytes in 1_u64..300_000,
        alpha_one in any::<bool>(),
        tick in (0_u64..20).prop_map(Span::from_ms),
        (seed, loss) in (any::<u64>(), 0_u64..25),
    ) {
        let options = Cubic { hystart: false, tick, alpha_one };
        let mut pair = Pair::new(cubic(options)).losing(move |packet| mix(seed, packet as u64) % 100 < loss);
        pair.send(bytes);
        pair.sender.close();
        pair.run();
        prop_assert!(pair.sender.is_closed());
        prop_assert_eq!(pair.bytes, bytes);
        prop_assert!(pair.sender.window_bytes() >= 1_000);
    }
}
