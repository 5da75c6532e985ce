//! Shared parts of the workspace checks: the root folder, the packages from `cargo metadata`, and the table of layers
//! in `ARCHITECTURE.md`.

#![forbid(unsafe_code)]

mod layers;
mod metadata;

pub use layers::{LayerRow, layer_table};
pub use metadata::{Package, packages};

use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tests/house is two folders below the root")
        .to_owned()
}
