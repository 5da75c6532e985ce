//! Decoding of text files.

use crate::diagnostic::Diagnostic;

/// Decodes the bytes of a file as UTF-8, without the byte order mark. Errors call it `file`.
///
/// # Errors
/// If the bytes are not UTF-8. The error points at the first wrong byte.
pub fn decode(bytes: Vec<u8>, file: &str) -> Result<String, Diagnostic> {
    let allowed = "text in UTF-8";
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "not UTF-8: it starts with the byte order mark of UTF-16";
        return Err(Diagnostic::at(file, "", 0..0, message).allowed(allowed));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        let lossy = String::from_utf8_lossy(error.as_bytes());
        let message = format!("not UTF-8: byte 0x{byte:02x}");
        let wrong = Diagnostic::at(file, &lossy, at..at + 1, message).allowed(allowed);
        wrong.help("save the file as UTF-8")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    })
}

/// Returns a cell of a table without quotes around it.
pub(crate) fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or(cell, str::trim)
}
