//! What the checks of the workspace have in common: where it is, what cargo says of it, and what the house promises.
//!
//! The promises are read from the places where a reader finds them: the layers from the table in `ARCHITECTURE.md`,
//! the licences from `deny.toml`.

mod layers;
mod licence;
mod metadata;
mod source;

pub use layers::{Room, rooms};
pub use licence::{allowed_licences, is_allowed};
pub use metadata::{Package, packages};
pub use source::{Line, code_lines};

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("tests/house lies two folders below the root")
        .to_owned()
}
