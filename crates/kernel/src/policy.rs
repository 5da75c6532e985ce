//! Policy files, as TOML rules: deadlines for programs that set none, and limits of d.
//!
//! ```toml
//! # The first matching rule applies to a connection.
//! [[rule]]
//! local_port = 9000        # or "9000-9010"
//! message = "10 KB"        # default: all written and unacknowledged bytes
//! deadline = "35 ms"
//!
//! [[rule]]
//! process = "nginx"        # the first 15 characters, as in `ps -o comm`
//! cgroup = "system.slice"  # including all cgroups below it
//! remote_port = 443
//! deadline = "100 ms"
//!
//! [[rule]]
//! user = "batch"           # or its number
//! d_max = 1                # whatever deadlines its programs set, they back off at least as DCTCP does
//! ```
//!
//! A message begins with the first data sent while nothing is in flight. `process`, `cgroup` and `user` refer to the
//! creator of the socket, or of its listening socket, after the policy was attached. A new policy applies to a connection
//! from its next message on.

use crate::deadline::{MAX_BYTES, MAX_DEADLINE};
use duetime_core::fixed::Factor;
use duetime_scenario::{Diagnostic, nearest, parse_size, parse_time};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum number of rules in a policy.
pub const MAX_RULES: usize = 16;

/// Keys of a rule.
const KEYS: [&str; 8] = [
    "local_port",
    "remote_port",
    "cgroup",
    "process",
    "user",
    "message",
    "deadline",
    "d_max",
];

/// Largest `d_max` of a rule.
const MAX_D: f64 = 4096.0;

/// Rules, of which the first match applies to a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// Rules in order; at most 16.
    pub rules: Vec<Rule>,
}

/// Rule with conditions, message length and deadline, and limit of d.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Port of the sender.
    pub local_port: RangeInclusive<u16>,
    /// Port of the other end.
    pub remote_port: RangeInclusive<u16>,
    /// Cgroup (version 2) of the socket's creator, from the root of its file system, including the cgroups below it.
    pub cgroup: Option<PathBuf>,
    /// First 15 bytes of the name of the process that created the socket.
    pub process: Option<String>,
    /// User who created the socket.
    pub user: Option<User>,
    /// Message length in bytes, or `None` for all written and unacknowledged bytes.
    pub message_bytes: Option<u64>,
    /// Time from a message's first packet to the arrival of its last, or `None` for no deadline by policy.
    pub deadline: Option<Duration>,
    /// Maximum d, above 0 and up to 4096, also of messages whose programs set deadlines; it never raises
    /// [`Parameters::d_max`](crate::Parameters::d_max). `None` for no limit.
    pub d_max: Option<f64>,
}

/// User in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// User ID.
    Id(u32),
    /// Name, looked up when the policy is attached.
    Name(String),
}

impl Policy {
    /// Parses a policy from the file's content `text`. `file` is its name in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, Diagnostic> {
        let reader = Reader { text, file };
        let document = DeTable::parse(text).map_err(|error| {
            let message = error.message().to_owned();
            Diagnostic::at(file, text, error.span().unwrap_or(0..0), message)
        })?;
        if document.get_ref().is_empty() {
            return Err(reader
                .at(0..0, "no rules")
                .allowed("[[rule]], or rule = [] for a policy without rules"));
        }
        let mut rules = Vec::new();
        for (key, value) in document.get_ref() {
            if key.get_ref() != "rule" {
                return Err(reader
                    .at(key.span(), format!("unknown key `{}`", key.get_ref()))
                    .allowed("[[rule]]"));
            }
            let DeValue::Array(tables) = value.get_ref() else {
                return Err(reader
                    .at(value.span(), "not a list of rules")
                    .allowed("[[rule]]"));
            };
            for table in tables {
                rules.push(reader.rule(table)?);
                if rules.len() > MAX_RULES {
                    return Err(reader
                        .at(table.span(), "too many rules")
                        .allowed(format!("at most {MAX_RULES} rules")));
                }
            }
        }
        Ok(Self { rules })
    }

    /// Reads a policy from a file.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Diagnostic::of_file(&file, error.to_string()))?;
        Self::parse(&text, &file)
    }

    /// Encodes the policy as `struct policy` of the programs. `cgroup` returns the ID of a cgroup, `user` that of a user.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "used by the loader"))]
    pub(crate) fn to_bytes<E>(
        &self,
        cgroup: impl Fn(&Path) -> Result<u64, E>,
        user: impl Fn(&str) -> Result<u32, E>,
    ) -> Result<Vec<u8>, E> {
        let mut bytes = Vec::with_capacity(8 + MAX_RULES * RULE);
        bytes.extend((self.rules.len() as u64).to_ne_bytes());
        for rule in &self.rules {
            rule.write(&cgroup, &user, &mut bytes)?;
        }
        bytes.resize(8 + MAX_RULES * RULE, 0);
        Ok(bytes)
    }
}

/// Size of `struct rule`.
const RULE: usize = 64;

impl Rule {
    fn write<E>(
        &self,
        cgroup: &impl Fn(&Path) -> Result<u64, E>,
        user: &impl Fn(&str) -> Result<u32, E>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), E> {
        let id = self.cgroup.as_deref().map(cgroup).transpose()?;
        let user = match &self.user {
            Some(User::Id(id)) => Some(*id),
            Some(User::Name(name)) => Some(user(name)?),
            None => None,
        };
        let microseconds =
            |deadline: Duration| u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX);
        let factor = |d| Factor::from_f64(d).to_bits().max(1);
        for long in [
            self.message_bytes.unwrap_or(0),
            self.deadline.map_or(0, microseconds),
            self.d_max.map_or(0, factor),
            id.unwrap_or(0),
        ] {
            bytes.extend(long.to_ne_bytes());
        }
        let mut process = [0; 16];
        let name = self.process.as_deref().unwrap_or("").as_bytes();
        let length = name.len().min(15);
        process[..length].copy_from_slice(&name[..length]);
        bytes.extend(process);
        for ports in [&self.local_port, &self.remote_port] {
            bytes.extend(ports.start().to_ne_bytes());
            bytes.extend(ports.end().to_ne_bytes());
        }
        let conditions = u32::from(self.cgroup.is_some())
            + 2 * u32::from(self.process.is_some())
            + 4 * u32::from(user.is_some());
        bytes.extend(conditions.to_ne_bytes());
        bytes.extend(user.unwrap_or(0).to_ne_bytes());
        Ok(())
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.file, self.text, span, message)
    }

    /// Returns an error about the value of a key.
    fn wrong(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        message: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Diagnostic {
        self.at(value.span(), message)
            .key(format!("rule.{key}"))
            .value(&self.text[value.span()])
            .allowed(allowed)
    }

    fn rule(&self, table: &Spanned<DeValue<'_>>) -> Result<Rule, Diagnostic> {
        let DeValue::Table(entries) = table.get_ref() else {
            return Err(self.at(table.span(), "not a rule").allowed("[[rule]]"));
        };
        let mut rule = Rule {
            local_port: 0..=u16::MAX,
            remote_port: 0..=u16::MAX,
            cgroup: None,
            process: None,
            user: None,
            message_bytes: None,
            deadline: None,
            d_max: None,
        };
        let mut conditions = 0;
        for (key, value) in entries {
            let name: &str = key.get_ref();
            conditions += usize::from(!matches!(name, "message" | "deadline" | "d_max"));
            match name {
                "local_port" => rule.local_port = self.ports(name, value)?,
                "remote_port" => rule.remote_port = self.ports(name, value)?,
                "cgroup" => rule.cgroup = Some(self.string(name, value)?.into()),
                "process" => rule.process = Some(self.string(name, value)?.to_owned()),
                "user" => rule.user = Some(self.user(name, value)?),
                "message" => rule.message_bytes = Some(self.message(name, value)?),
                "deadline" => rule.deadline = Some(self.deadline(name, value)?),
                "d_max" => rule.d_max = Some(self.d_max(name, value)?),
                _ => {
                    let error = self
                        .at(key.span(), format!("`{name}` is not a key of a rule"))
                        .allowed(KEYS.join(", "));
                    return Err(match nearest(name, KEYS) {
                        Some(near) => error.help(format!("did you mean `{near}`?")),
                        None => error,
                    });
                }
            }
        }
        if rule.deadline.is_none() && (rule.d_max.is_none() || rule.message_bytes.is_some()) {
            return Err(self
                .at(table.span(), "this rule has no deadline")
                .allowed("deadline = \"35 ms\", or d_max = 1 without `message`"));
        }
        if conditions == 0 {
            return Err(self
                .at(table.span(), "this rule has no condition")
                .allowed("at least one of local_port, remote_port, cgroup, process, user"));
        }
        Ok(rule)
    }

    fn string<'v>(
        &self,
        key: &str,
        value: &'v Spanned<DeValue<'_>>,
    ) -> Result<&'v str, Diagnostic> {
        match value.get_ref() {
            DeValue::String(text) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong(key, value, "not a name", "a non-empty string")),
        }
    }

    fn ports(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<RangeInclusive<u16>, Diagnostic> {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::String(text) => text,
            _ => "",
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok(first..=last),
            _ => Err(self.wrong(
                key,
                value,
                "not a port",
                "1 to 65535, or a range such as \"9000-9010\"",
            )),
        }
    }

    fn user(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<User, Diagnostic> {
        let allowed = "a user's name, or its number up to 4294967294";
        match value.get_ref() {
            // The largest number means no user.
            DeValue::Integer(number) => match number.as_str().parse() {
                Ok(id) if id < u32::MAX => Ok(User::Id(id)),
                _ => Err(self.wrong(key, value, "not a user", allowed)),
            },
            DeValue::String(name) if !name.is_empty() => Ok(User::Name(name.to_string())),
            _ => Err(self.wrong(key, value, "not a user", allowed)),
        }
    }

    fn d_max(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<f64, Diagnostic> {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        match text.parse() {
            Ok(d) if 0.0 < d && d <= MAX_D => Ok(d),
            _ => Err(self.wrong(key, value, "not a factor", "above 0, up to 4096")),
        }
    }

    fn message(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<u64, Diagnostic> {
        let bytes = parse_size(self.string(key, value)?)
            .map_err(|error| self.wrong(key, value, error.message, error.allowed))?;
        if (1..=MAX_BYTES).contains(&bytes.0) {
            Ok(bytes.0)
        } else {
            Err(self.wrong(key, value, "out of range", "1 B to 128 GiB"))
        }
    }

    fn deadline(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Duration, Diagnostic> {
        let span = parse_time(self.string(key, value)?)
            .map_err(|error| self.wrong(key, value, error.message, error.allowed))?;
        let deadline = Duration::from_nanos(span.as_ps() / 1_000);
        if (Duration::from_micros(1)..=MAX_DEADLINE).contains(&deadline) {
            Ok(deadline)
        } else {
            Err(self.wrong(key, value, "out of range", "1 us to 24 h"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(keys: &str) -> Result<Rule, String> {
        let policy = Policy::parse(&format!("[[rule]]\n{keys}\n"), "policy.toml");
        let mut rules = policy.map_err(|error| error.to_string())?.rules;
        Ok(rules.remove(0))
    }

    #[test]
    fn limits_of_d() {
        let limited = rule("user = \"batch\"\nd_max = 1").unwrap();
        assert_eq!(limited.user, Some(User::Name("batch".into())));
        assert_eq!((limited.d_max, limited.deadline), (Some(1.0), None));
        let numbered = rule("user = 1000\ndeadline = \"5 ms\"\nd_max = 0.5").unwrap();
        assert_eq!(numbered.user, Some(User::Id(1000)));
        assert_eq!(numbered.d_max, Some(0.5));
    }

    #[test]
    fn errors_point_to_the_value() {
        for (keys, line, allowed) in [
            ("user = 1\nd_max = 0", 3, "above 0, up to 4096"),
            ("user = 1\nd_max = 4096.5", 3, "above 0, up to 4096"),
            ("user = 1\nd_max = nan", 3, "above 0, up to 4096"),
            ("user = 1\nd_max = \"1\"", 3, "above 0, up to 4096"),
            ("user = -1\nd_max = 1", 2, "its number up to 4294967294"),
            ("user = 4294967295\nd_max = 1", 2, "its number up to"),
            ("user = \"\"\nd_max = 1", 2, "a user's name"),
            ("d_max = 1", 1, "at least one of"),
            (
                "user = 1\nd_max = 1\nmessage = \"1 KB\"",
                1,
                "d_max = 1 without",
            ),
            ("user = 1", 1, "deadline = \"35 ms\""),
        ] {
            let error = rule(keys).unwrap_err();
            let place = format!("policy.toml:{line}:");
            assert!(error.contains(&place), "{keys}: {error}");
            assert!(error.contains(allowed), "{keys}: {error}");
        }
    }
}
