//! Reads `papers/schemes.toml`: how schemes look, beside the transports.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use duetime_figures::{Look, Palette};
use duetime_scenario::Diagnostic;
use duetime_study::palette;

use super::{Reader, Result};
use crate::file::{Text, place};
use crate::origin::Origin;

/// The looks of the transports and of the schemes listed below `papers`. No list: those of the transports alone.
pub(super) fn looks(origin: Origin, papers: &Path) -> Result<Palette> {
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
    // In the order of the file, so that the later of two that clash is named.
    let mut written: Vec<(String, Text)> = written.into_iter().collect();
    written.sort_by_key(|(_, look)| place(look).start);
    for (scheme, look) in &written {
        let parsed: std::result::Result<Look, String> = look.get_ref().parse();
        let parsed = parsed.map_err(|why| reader.wrong(place(look), why))?;
        palette.add(scheme, parsed).map_err(|other| {
            let why = if other == *scheme {
                format!("`{scheme}` has a look already")
            } else {
                format!("`{scheme}` has the same colour and dash pattern as `{other}`")
            };
            reader.wrong(place(look), why)
        })?;
    }
    Ok(palette)
}
