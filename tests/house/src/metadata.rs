//! Packages of the workspace, from `cargo metadata`.

use serde_json::Value;
use std::process::Command;

/// Package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Folder of the manifest.
    pub folder: String,
    /// Names of the dependencies, without those of tests and examples.
    pub uses: Vec<String>,
}

/// Returns every package of the workspace.
pub fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(crate::root())
        .output()
        .expect("cargo can be run");
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
