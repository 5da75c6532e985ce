//! What the checks of the workspace have in common: where it is, what cargo says of it, and the table of layers in
//! `ARCHITECTURE.md`.

#![forbid(unsafe_code)]

mod layers;
mod metadata;

pub use layers::{Layered, layered};
pub use metadata::{Package, packages};

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tests/house lies two folders below the root")
        .to_owned()
}
