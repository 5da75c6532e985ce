//! The one binary, `duetime`.
fn main() {}
