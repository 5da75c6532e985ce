//! The running kernel's release, and what hangs on it.

use std::fs;

/// The oldest kernel. A congestion control may have `cong_control` alone, and may set the pacing rate, since 6.0; 6.1 is
/// the first of long support after it.
pub(crate) const OLDEST: Version = Version(6, 1);
/// The first kernel that registers a congestion control by a link, which ends with its process.
pub(crate) const LINKS: Version = Version(6, 4);

/// A kernel's version: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Version {
    /// `6.1.0-30-amd64` is 6.1.
    fn of(release: &str) -> Option<Self> {
        let mut numbers = release.split(|it: char| !it.is_ascii_digit());
        Some(Self(
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
        ))
    }
}

/// The release of the running kernel, as `6.1.0-30-amd64`; empty if it cannot be read.
pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

/// The version of the running kernel; `None`: its release does not begin with one.
pub(crate) fn version() -> Option<Version> {
    Version::of(&release())
}

/// Whether a congestion control may be registered by a link.
pub(crate) fn links_are_known() -> bool {
    version().is_none_or(|it| it >= LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        let version = |release| Version::of(release);
        assert_eq!(version("6.1.0-30-amd64"), Some(Version(6, 1)));
        assert_eq!(version("6.18.44-fc"), Some(Version(6, 18)));
        assert!(version("5.15.0").expect("a version") < OLDEST);
        assert!(version("6.10").expect("a version") > LINKS);
        assert_eq!(version("next"), None);
    }
}
