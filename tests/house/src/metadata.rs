//! What `cargo metadata` says of the workspace.

use serde_json::Value;
use std::process::Command;

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The folder of its manifest.
    pub folder: String,
    /// Names of what it depends on, tests and examples left aside.
    pub uses: Vec<String>,
}

/// Every package of the workspace.
pub fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    list(&metadata["packages"]).iter().map(package).collect()
}

fn package(value: &Value) -> Package {
    let uses = list(&value["dependencies"])
        .iter()
        .filter(|dependency| dependency["kind"] != "dev")
        .map(|dependency| text(&dependency["name"]).expect("a dependency has a name"))
        .collect();
    let manifest = text(&value["manifest_path"]).expect("a package has a manifest");
    Package {
        name: text(&value["name"]).expect("a package has a name"),
        folder: manifest
            .trim_end_matches("Cargo.toml")
            .trim_end_matches(['/', '\\'])
            .to_owned(),
        uses,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
