//! What is attached, and that nothing is left.

use crate::machine::{Machine, controls, leftovers};
use duetime_kernel::{Attachment, Error, Options, Parameters};
use std::time::{Duration, Instant};

#[test]
fn attaching_offers_both_controls_and_detaching_leaves_nothing() {
    let Some(_machine) = Machine::take("attach") else {
        return;
    };
    let before = leftovers();
    assert!(before.is_empty(), "left by another: {before:?}");
    let attachment = Attachment::attach(&Options::default()).expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    assert!(leftovers().iter().any(|it| it.starts_with("program")));
    let again = Attachment::attach(&Options::default()).err();
    assert!(matches!(again, Some(Error::Attached { .. })), "{again:?}");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    nothing_is_left();
}

#[test]
fn without_links_as_before_linux_6_4_it_attaches_and_leaves_nothing() {
    let Some(_machine) = Machine::take("without links") else {
        return;
    };
    let attachment = Attachment::attach(&Options {
        without_links: true,
        ..Options::default()
    })
    .expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    nothing_is_left();
}

#[test]
fn a_parameter_out_of_range_attaches_nothing() {
    let Some(_machine) = Machine::take("parameters") else {
        return;
    };
    let parameters = Parameters {
        d_max: 0.1,
        ..Parameters::default()
    };
    let refused = Attachment::attach(&Options {
        parameters,
        ..Options::default()
    });
    assert!(matches!(refused.err(), Some(Error::Parameter { .. })));
    nothing_is_left();
}

/// The kernel frees programs and maps a moment after the last one that uses them.
pub fn nothing_is_left() {
    let start = Instant::now();
    while !leftovers().is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{:?}",
            leftovers()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
