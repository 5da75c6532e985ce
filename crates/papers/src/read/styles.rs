//! Reader of `papers/schemes.toml`: colours, markers and dash patterns of the schemes that are not transports.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use duetime_figures::{Look, Palette};
use duetime_scenario::Diagnostic;
use duetime_study::palette;

use super::{Reader, Result};
use crate::file::{Text, place};
use crate::origin::Origin;

/// Returns the styles of the transports and of the schemes in `papers/schemes.toml`, if that file exists.
pub(super) fn styles(origin: Origin, papers: &Path) -> Result<Palette> {
    let mut palette = palette();
    let path = papers.join("schemes.toml");
    let name = path.display().to_string();
    let text = match origin.read(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(palette),
        Err(why) => return Err(Diagnostic::of_file(&name, format!("cannot be read: {why}"))),
    };
    let reader = Reader { name, text: &text };
    let written: BTreeMap<String, Text> = reader.toml()?;
    // In file order, so that the error is about the later of two conflicting styles.
    let mut written: Vec<(String, Text)> = written.into_iter().collect();
    written.sort_by_key(|(_, look)| place(look).start);
    for (scheme, look) in &written {
        let parsed: std::result::Result<Look, String> = look.get_ref().parse();
        let parsed = parsed.map_err(|why| reader.wrong(place(look), why))?;
        palette.add(scheme, parsed).map_err(|other| {
            let why = if other == *scheme {
                format!("`{scheme}` already has a style")
            } else {
                format!("`{scheme}` has the same colour and dash pattern as `{other}`")
            };
            reader.wrong(place(look), why)
        })?;
    }
    Ok(palette)
}
