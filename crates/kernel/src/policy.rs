//! Policy files: deadlines for programs that set none, as TOML rules.
//!
//! ```toml
//! # The first matching rule sets the deadline of a connection's messages.
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
//! ```
//!
//! A message begins with the first data sent while nothing is in flight. `process` and `cgroup` refer to the creator of
//! the socket, or of its listening socket, after the policy was attached.

use crate::deadline::{MAX_BYTES, MAX_DEADLINE};
use duetime_scenario::{Diagnostic, nearest, parse_size, parse_time};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum number of rules in a policy.
pub const MAX_RULES: usize = 16;

/// Keys of a rule.
const KEYS: [&str; 6] = [
    "local_port",
    "remote_port",
    "cgroup",
    "process",
    "message",
    "deadline",
];

/// Rules, of which the first match sets the deadline of a connection's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Rules in order; at most 16.
    pub rules: Vec<Rule>,
}

/// Rule with conditions, message length and deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Port of the sender.
    pub local_port: RangeInclusive<u16>,
    /// Port of the other end.
    pub remote_port: RangeInclusive<u16>,
    /// Cgroup (version 2) of the socket's creator, from the root of its file system, including the cgroups below it.
    pub cgroup: Option<PathBuf>,
    /// First 15 bytes of the name of the process that created the socket.
    pub process: Option<String>,
    /// Message length in bytes, or `None` for all written and unacknowledged bytes.
    pub message_bytes: Option<u64>,
    /// Time from a message's first packet to the arrival of its last.
    pub deadline: Duration,
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

    /// Encodes the policy as `struct policy` of the programs. `cgroup` returns the ID of a cgroup.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "used by the loader"))]
    pub(crate) fn to_bytes<E>(
        &self,
        cgroup: impl Fn(&Path) -> Result<u64, E>,
    ) -> Result<Vec<u8>, E> {
        let mut bytes = Vec::with_capacity(8 + MAX_RULES * RULE);
        bytes.extend((self.rules.len() as u64).to_ne_bytes());
        for rule in &self.rules {
            rule.write(&cgroup, &mut bytes)?;
        }
        bytes.resize(8 + MAX_RULES * RULE, 0);
        Ok(bytes)
    }
}

/// Size of `struct rule`.
const RULE: usize = 56;

impl Rule {
    fn write<E>(
        &self,
        cgroup: &impl Fn(&Path) -> Result<u64, E>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), E> {
        let id = self.cgroup.as_deref().map(cgroup).transpose()?;
        let deadline = u64::try_from(self.deadline.as_micros()).unwrap_or(u64::MAX);
        for long in [
            self.message_bytes.unwrap_or(0),
            deadline.max(1),
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
        let conditions = u32::from(self.cgroup.is_some()) + 2 * u32::from(self.process.is_some());
        bytes.extend(conditions.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
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
            message_bytes: None,
            deadline: Duration::ZERO,
        };
        let mut conditions = 0;
        for (key, value) in entries {
            let name: &str = key.get_ref();
            conditions += usize::from(!matches!(name, "message" | "deadline"));
            match name {
                "local_port" => rule.local_port = self.ports(name, value)?,
                "remote_port" => rule.remote_port = self.ports(name, value)?,
                "cgroup" => rule.cgroup = Some(self.string(name, value)?.into()),
                "process" => rule.process = Some(self.string(name, value)?.to_owned()),
                "message" => rule.message_bytes = Some(self.message(name, value)?),
                "deadline" => rule.deadline = self.deadline(name, value)?,
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
        if rule.deadline == Duration::ZERO {
            return Err(self
                .at(table.span(), "this rule has no deadline")
                .allowed("deadline = \"35 ms\""));
        }
        if conditions == 0 {
            return Err(self
                .at(table.span(), "this rule has no condition")
                .allowed("at least one of local_port, remote_port, cgroup, process"));
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
