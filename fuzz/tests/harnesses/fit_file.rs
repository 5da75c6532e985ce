//! Files from which a scenario is fitted: packets, spans or a table. The first byte selects the kind; the rest is the
//! file. A readable file gives numbers that form a valid scenario; any other is rejected with a message.

use duetime_core::Rate;
use duetime_fit::model::Model;
use duetime_fit::{Kind, Known, of_bytes};
use duetime_scenario::{NoFiles, load};

pub fn check(bytes: &[u8]) {
    let Some((which, file)) = bytes.split_first() else {
        return;
    };
    let kind = Kind::ALL[usize::from(*which) % Kind::ALL.len()];
    let seen = match of_bytes("file", file, kind, None, Rate::from_gbps(10)) {
        Ok(seen) => seen,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(seen.queries.is_sorted_by_key(|query| query.start_ns));
    let known = Known {
        budget: None,
        link: Some(Rate::from_gbps(10)),
        hosts: None,
        buffer: None,
        other_load: None,
        transports: Vec::new(),
    };
    if let Ok(model) = Model::of(&seen, &known) {
        assert!(model.arrivals.per_second > 0.0 && !model.layers.is_empty());
        let _ = load(&model.to_toml("name", "file"), "fitted", &[], &NoFiles);
    }
}
