//! Explanations of simulated flows and queries: causes, exact sums, and no gaps.

#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers in tests are small"
)]

#[path = "../../../sim/tests/integration/bare/mod.rs"]
mod bare;
#[path = "../../../sim/tests/integration/common/mod.rs"]
#[expect(dead_code, reason = "shared with the simulator's tests")]
mod common;

mod causes;
mod due;
mod queries;
mod reception;
mod traces;
