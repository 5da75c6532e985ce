//! Release of the running kernel, and the features that depend on it.

use std::fs;

/// Oldest supported kernel. Since 6.0, a congestion control may consist of only `cong_control` and set the pacing rate;
/// 6.1 is the first long-term kernel after it.
pub(crate) const OLDEST: Version = Version(6, 1);
/// First kernel that registers congestion controls by links, which end with their process.
pub(crate) const LINKS: Version = Version(6, 4);

/// Kernel version: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Version {
    /// Parses a release such as `6.1.0-30-amd64`, which is 6.1.
    fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
        Some(Self(
            numbers.next()?.parse().ok()?,
            numbers.next()?.parse().ok()?,
        ))
    }
}

/// Returns the release of the running kernel, such as `6.1.0-30-amd64`; empty if it cannot be read.
pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

/// Returns the version of the running kernel, or `None` if its release does not begin with one.
pub(crate) fn version() -> Option<Version> {
    Version::parse(&release())
}

/// Returns true if the kernel supports links for congestion controls.
pub(crate) fn supports_links() -> bool {
    version().is_none_or(|version| version >= LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_numerically() {
        let version = |release| Version::parse(release);
        assert_eq!(version("6.1.0-30-amd64"), Some(Version(6, 1)));
        assert_eq!(version("6.18.44-fc"), Some(Version(6, 18)));
        assert!(version("5.15.0").expect("a version") < OLDEST);
        assert!(version("6.10").expect("a version") > LINKS);
        assert_eq!(version("next"), None);
    }
}
