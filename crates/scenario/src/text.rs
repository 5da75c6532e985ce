//! Text files from their bytes.

use crate::diagnostic::Diagnostic;

/// The text of a file of these bytes, without a byte order mark; `file` is what the error calls it.
///
/// # Errors
/// If it is not UTF-8: the error points at the first byte that is not.
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

/// A cell of a table without the quotes around it, if there are any.
pub(crate) fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    let inner = cell
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or(cell, str::trim)
}
