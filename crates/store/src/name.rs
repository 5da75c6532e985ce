//! Readable folder names, safe for arbitrary values.

use std::fmt::Write as _;

/// Maximum length of a folder name in bytes; file systems allow 255.
const MAX_BYTES: usize = 180;

/// Returns the stable name of a sweep point: `axis=value,axis=value` in the order of the axes.
///
/// Letters, digits and `. _ - =` are kept, spaces become `+`, and other characters become their UTF-8 bytes as `%XX`,
/// so different points never share a name. Very long names are truncated and end in a checksum.
pub fn point_id(values: &[(String, String)]) -> String {
    let parts: Vec<String> = values
        .iter()
        .map(|(axis, value)| format!("{}={}", escape(axis), escape(value)))
        .collect();
    shorten(parts.join(","))
}

/// Returns a folder name for any text.
pub fn folder_name(text: &str) -> String {
    shorten(escape(text))
}

fn escape(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_kept = byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        // A leading dot would hide the folder, and `..` would escape it.
        if is_kept || (byte == b'.' && !name.is_empty()) {
            name.push(char::from(byte));
        } else if byte == b' ' {
            name.push('+');
        } else {
            write!(name, "%{byte:02X}").expect("a string can always grow");
        }
    }
    if name.is_empty() {
        "%".to_owned()
    } else {
        name
    }
}

fn shorten(name: String) -> String {
    if name.len() <= MAX_BYTES {
        return name;
    }
    let checksum = crate::file::checksum(name.as_bytes());
    format!("{}~{checksum}", &name[..MAX_BYTES - checksum.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(values: &[(&str, &str)]) -> String {
        let values: Vec<_> = values
            .iter()
            .map(|(a, v)| ((*a).to_owned(), (*v).to_owned()))
            .collect();
        point_id(&values)
    }

    #[test]
    fn point_names_are_readable() {
        assert_eq!(
            id(&[("workload.fan_in", "40"), ("switch.buffer", "4 MB")]),
            "workload.fan_in=40,switch.buffer=4+MB"
        );
    }

    #[test]
    fn names_are_safe_and_unique() {
        assert_eq!(folder_name(".."), "%2E.");
        assert_eq!(folder_name("a/b"), "a%2Fb");
        assert_ne!(folder_name("a b"), folder_name("a+b"));
        assert_ne!(folder_name(""), folder_name("%"));
        assert_ne!(id(&[("a", "1,b=2")]), id(&[("a", "1"), ("b", "2")]));
    }

    #[test]
    fn long_names_fit_and_differ() {
        let long = |tail: &str| folder_name(&("x".repeat(400) + tail));
        assert!(long("a").len() <= MAX_BYTES);
        assert_ne!(long("a"), long("b"));
    }
}
