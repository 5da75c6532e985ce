//! Names of scenarios, transports and workloads.

/// Description of a valid name, for messages.
pub(crate) const NAMES: &str =
    "1 to 64 letters, digits, `-` and `_`, starting with a letter or digit";

/// Returns true if `text` can be a name, which becomes part of file names and key paths.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}
