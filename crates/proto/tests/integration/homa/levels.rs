//! Priority levels and cutoffs, worked by hand (Homa §3.4).

use super::{PAYLOAD, RATE, config, plan};
use duetime_core::{Rate, Span};
use duetime_proto::homa::{Config, Cutoffs, Network as Link, Plan};

/// Ten packets, which are `RTTbytes`, have a payload of 14,400 B. Of 100 messages, 90 have 1,600 B and 10 have 144,000 B:
/// 144,000 of 1,584,000 B in messages of the first size and 144,000 B of the others are unscheduled, 288,000 B in all.
/// This is 18.2 % of the bytes, or 1.45 of 8 levels, so one level is unscheduled.
#[test]
fn share_of_the_bytes_sets_the_levels() {
    let plan = plan(&config(), &[(1_600, 90), (144_000, 10)]);
    assert_eq!((plan.window, plan.unscheduled), (10, 10));
    assert_eq!((plan.first_scheduled, plan.scheduled_levels), (1, 7));
    assert_eq!(plan.overcommitment, 7);
    assert_eq!(plan.cutoffs.sizes(), []);
}

/// All bytes of messages up to `RTTbytes` are unscheduled, so seven levels are, and one remains.
#[test]
fn short_messages_use_all_levels_but_one() {
    let sizes: Vec<(u64, u64)> = (1..=14).map(|kilobytes| (kilobytes * 1_000, 1)).collect();
    let plan = plan(&config(), &sizes);
    assert_eq!((plan.first_scheduled, plan.scheduled_levels), (7, 1));
    assert_eq!(plan.overcommitment, 1);
    // 105 KB in all, 15 KB per level: the sums are 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105 KB.
    assert_eq!(
        plan.cutoffs.sizes(),
        [5_000, 8_000, 9_000, 11_000, 12_000, 13_000]
    );
    assert_eq!(
        [1, 5_000, 5_001, 8_000, 13_000, 13_001, u64::MAX].map(|size| plan.unscheduled_class(size)),
        [0, 0, 1, 1, 5, 6, 6]
    );
}

/// Sizes above `RTTbytes` count with 14,400 B. With three levels of equal bytes: 14 messages of 1,000 B have 14 kB, six of
/// 2,000 B have 12 kB, and one of 1 MB has 14.4 kB, in all 40.4 kB. A third, 13.5 kB, is reached at 1,000 B, and two
/// thirds, 26.9 kB, at 1 MB.
#[test]
fn cutoffs_divide_unscheduled_bytes_equally() {
    let config = Config {
        unscheduled_levels: Some(3),
        ..config()
    };
    let plan = plan(&config, &[(1_000, 14), (2_000, 6), (1_000_000, 1)]);
    assert_eq!(plan.cutoffs.sizes(), [1_000, 1_000_000]);
    assert_eq!((plan.first_scheduled, plan.overcommitment), (3, 5));
}

#[test]
fn cutoffs_of_the_user_override_the_sizes() {
    let config = Config {
        cutoffs: Some(Cutoffs::new(&[2_800, 200])),
        overcommitment: Some(2),
        ..config()
    };
    assert_eq!(config.min_classes(), 4);
    let plan = plan(&config, &[(1_000, 1)]);
    assert_eq!(plan.cutoffs.sizes(), [200, 2_800]);
    assert_eq!((plan.first_scheduled, plan.overcommitment), (3, 2));
    assert_eq!(
        [200, 201, 2_801].map(|size| plan.unscheduled_class(size)),
        [0, 1, 2]
    );
}

/// The lowest levels are used first. More messages than levels share the lowest one.
#[test]
fn scheduled_levels_are_used_from_the_lowest() {
    let config = Config {
        unscheduled_levels: Some(4),
        overcommitment: Some(6),
        ..config()
    };
    let plan = plan(&config, &[]);
    let classes = |active| -> Vec<u8> {
        (0..active)
            .map(|place| plan.scheduled_class(place, active))
            .collect()
    };
    assert_eq!(classes(1), [7]);
    assert_eq!(classes(2), [6, 7]);
    assert_eq!(classes(4), [4, 5, 6, 7]);
    assert_eq!(classes(6), [4, 5, 6, 7, 7, 7]);
}

/// Homa with one priority (`HomaP1`).
#[test]
fn a_single_class_serves_all_packets() {
    let link = Link {
        rate: RATE,
        round_trip: Span::from_us(100),
        framing_bytes: 0,
        classes: 1,
    };
    let plan = Plan::new(&config(), &link, &[(1_000, 1)]);
    assert_eq!(
        (plan.scheduled_class(0, 1), plan.unscheduled_class(PAYLOAD)),
        (0, 0)
    );
    assert_eq!((plan.lowest_class(), plan.overcommitment), (0, 1));
}

/// 100 us and five packets of 12 us at 1 Gbps are 20,000 B, which is 14 packets. Requests follow after 50 of these times.
#[test]
fn bandwidth_delay_product_is_the_default() {
    let plan = plan(&Config::default(), &[]);
    assert_eq!((plan.window, plan.unscheduled), (14, 14));
    assert_eq!(plan.resend_interval, Span::from_ms(8));
    // 16 us at 10 Gbps would be 0.8 ms.
    let link = Link {
        rate: Rate::from_gbps(10),
        round_trip: Span::from_us(10),
        framing_bytes: 0,
        classes: 8,
    };
    let plan = Plan::new(&Config::default(), &link, &[]);
    assert_eq!(plan.resend_interval, Span::from_ms(1));
}
