//! TOML file format of a single switch, documented in `docs/switch.md`.

use crate::config::{Config, End, InterfaceConfig, LinkConfig, PortConfig, SharedBufferConfig};
use duetime_core::{Rate, Span};
use duetime_link::Limit;
use duetime_scenario::{
    Diagnostic, InvalidQuantity, nearest, parse_packets, parse_rate, parse_share, parse_size,
    parse_time,
};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Rate of an uplink without shaping.
const UNSHAPED: Rate = Rate::from_gbps(400);

const PORT: [&str; 7] = [
    "rate",
    "latency",
    "loss",
    "buffer",
    "ecn_threshold",
    "classes",
    "d3",
];
const D3: [&str; 3] = ["update_interval", "scale", "police"];
const SWITCH: [&str; 6] = [
    "name",
    "shared_buffer",
    "shared_alpha",
    "overhead",
    "uplink_rate",
    "real_time",
];
const INTERFACE: [&str; 11] = [
    "name", "host", "address", "mac", PORT[0], PORT[1], PORT[2], PORT[3], PORT[4], PORT[5], PORT[6],
];
const TOP: [&str; 4] = ["port", "switch", "d3", "interface"];

/// Returns a port with this rate and default values.
pub fn plain_port(rate: Rate) -> PortConfig {
    PortConfig {
        rate,
        latency: Span::ZERO,
        loss: 0.0,
        limit: Limit::Unlimited,
        mark_at: None,
        classes: 1,
        d3: false,
        to: End::Interface(0),
    }
}

/// Returns an interface with default values: a host that sends as fast as it can, over a link with the latency and loss
/// of `port`.
pub fn plain_interface(name: &str, port: &PortConfig) -> InterfaceConfig {
    InterfaceConfig {
        name: name.to_owned(),
        host: name.to_owned(),
        address: None,
        mac: None,
        node: 0,
        uplink: LinkConfig {
            rate: UNSHAPED,
            latency: port.latency,
            loss: port.loss,
            limit: Limit::Unlimited,
            classes: 1,
        },
    }
}

/// Parses a queue limit, such as "100 packets" or "512 KB".
pub fn parse_limit(text: &str) -> Result<Limit, InvalidQuantity> {
    if text.contains("packet") {
        return parse_packets(text).map(Limit::Packets);
    }
    let amount = parse_size(text).map(|size| Limit::Bytes(size.0));
    amount.map_err(|wrong| InvalidQuantity {
        allowed: format!("{}, or packets, such as \"20 packets\"", wrong.allowed),
        ..wrong
    })
}

impl Config {
    /// Parses a switch from the file's content `text`. `file` is its name in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, Diagnostic> {
        let reader = Reader { text, file };
        let document = DeTable::parse(text).map_err(|error| {
            let message = error.message().to_owned();
            Diagnostic::at(file, text, error.span().unwrap_or(0..0), message)
        })?;
        let top = document.get_ref();
        reader.known(top, &TOP, "the file")?;
        let missing = |table: &str| Diagnostic::of_file(file, format!("{table} is missing"));
        let port = top.get("port").ok_or_else(|| missing("[port]"))?;
        let table = reader.table(port)?;
        reader.known(table, &PORT, "[port]")?;
        if !table.contains_key("rate") {
            let wrong = reader.at(port.span(), "the rate is missing");
            return Err(wrong.key("port.rate").allowed("rate = \"100 Mbps\""));
        }
        let port = reader.port(table, &plain_port(UNSHAPED))?;
        let interfaces = top
            .get("interface")
            .ok_or_else(|| missing("[[interface]]"))?;
        let DeValue::Array(tables) = interfaces.get_ref() else {
            let wrong = reader.at(interfaces.span(), "not a list");
            return Err(wrong.allowed("[[interface]]"));
        };
        let mut ports = Vec::new();
        let mut parsed = Vec::new();
        for value in tables {
            let table = reader.table(value)?;
            reader.known(table, &INTERFACE, "[[interface]]")?;
            let own_port = reader.port(table, &port)?;
            parsed.push(reader.interface(value.span(), table, &own_port)?);
            ports.push(own_port);
        }
        let mut config = Self::star("switch", parsed, &port, None);
        for (index, own_port) in ports.into_iter().enumerate() {
            let to = End::Interface(index);
            config.nodes[0].ports[index] = PortConfig { to, ..own_port };
        }
        if let Some(value) = top.get("switch") {
            reader.switch(reader.table(value)?, &mut config)?;
        }
        if let Some(value) = top.get("d3") {
            reader.d3(reader.table(value)?, &mut config)?;
        }
        config
            .check()
            .map_err(|wrong| Diagnostic::of_file(file, wrong.to_string()))?;
        Ok(config)
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

type Value<'v> = Spanned<DeValue<'v>>;

impl Reader<'_> {
    fn at(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(self.file, self.text, span, message)
    }

    fn wrong(&self, key: &str, value: &Value<'_>, error: InvalidQuantity) -> Diagnostic {
        self.at(value.span(), error.message)
            .key(key)
            .value(&self.text[value.span()])
            .allowed(error.allowed)
    }

    fn table<'v>(&self, value: &'v Value<'v>) -> Result<&'v DeTable<'v>, Diagnostic> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.at(value.span(), "not a table").allowed(TOP.join(", "))),
        }
    }

    fn known(&self, table: &DeTable<'_>, keys: &[&str], place: &str) -> Result<(), Diagnostic> {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                let error = self
                    .at(key.span(), format!("`{name}` is not a key of {place}"))
                    .allowed(keys.join(", "));
                return Err(match nearest(name, keys.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        Ok(())
    }

    /// Parses a string value. Returns `None` if the key is absent.
    fn read<T>(
        &self,
        table: &DeTable<'_>,
        key: &str,
        parse: impl Fn(&str) -> Result<T, InvalidQuantity>,
    ) -> Result<Option<T>, Diagnostic> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let parsed = match value.get_ref() {
            DeValue::String(text) => parse(text),
            // The parser's own error for an empty string says which strings are allowed.
            _ => match parse("") {
                Err(wrong) => Err(wrong),
                Ok(_) => Err(not("not a string", "a string")),
            },
        };
        parsed
            .map(Some)
            .map_err(|wrong| self.wrong(key, value, wrong))
    }

    /// Parses an unquoted number. Returns `None` if the key is absent.
    fn number<T: std::str::FromStr>(
        &self,
        table: &DeTable<'_>,
        key: &str,
        allowed: &str,
    ) -> Result<Option<T>, Diagnostic> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let written = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        let parsed = written
            .parse()
            .map_err(|_| not("not a valid number", allowed));
        parsed
            .map(Some)
            .map_err(|wrong| self.wrong(key, value, wrong))
    }

    /// Parses a share, quoted or not. Returns `None` if the key is absent.
    fn share(&self, table: &DeTable<'_>, key: &str) -> Result<Option<f64>, Diagnostic> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let text: &str = match value.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => "",
        };
        let share = parse_share(text).map_err(|wrong| self.wrong(key, value, wrong))?;
        Ok(Some(share))
    }

    /// Reads the port keys of a table, with `defaults` for absent keys.
    fn port(&self, table: &DeTable<'_>, defaults: &PortConfig) -> Result<PortConfig, Diagnostic> {
        Ok(PortConfig {
            rate: self
                .read(table, "rate", parse_rate)?
                .unwrap_or(defaults.rate),
            latency: self
                .read(table, "latency", parse_time)?
                .unwrap_or(defaults.latency),
            loss: self.share(table, "loss")?.unwrap_or(defaults.loss),
            limit: self
                .read(table, "buffer", parse_limit)?
                .unwrap_or(defaults.limit),
            mark_at: self
                .read(table, "ecn_threshold", parse_limit)?
                .or(defaults.mark_at),
            classes: self
                .number(table, "classes", "1 to 32")?
                .unwrap_or(defaults.classes),
            d3: self.boolean(table, "d3")?.unwrap_or(defaults.d3),
            to: defaults.to,
        })
    }

    fn interface(
        &self,
        span: Range<usize>,
        table: &DeTable<'_>,
        port: &PortConfig,
    ) -> Result<InterfaceConfig, Diagnostic> {
        let Some(name) = self.read(table, "name", name)? else {
            let wrong = self.at(span, "this interface has no name");
            return Err(wrong.key("interface.name").allowed("name = \"veth0\""));
        };
        let host = self.read(table, "host", self::name)?;
        let address = self.read(table, "address", |text| {
            let wrong = |_| not("not an IPv4 address", "an address such as \"10.0.0.1\"");
            text.parse().map_err(wrong)
        })?;
        Ok(InterfaceConfig {
            host: host.unwrap_or_else(|| name.clone()),
            address,
            mac: self.read(table, "mac", mac)?,
            ..plain_interface(&name, port)
        })
    }

    fn switch(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), Diagnostic> {
        self.known(table, &SWITCH, "[switch]")?;
        if let Some(name) = self.read(table, "name", name)? {
            config.nodes[0].name = name;
        }
        if let Some(bytes) = self.read(table, "shared_buffer", parse_size)? {
            let alpha = self.number(table, "shared_alpha", "1/256 to 1024")?;
            config.nodes[0].shared_buffer = Some(SharedBufferConfig {
                bytes: bytes.0,
                alpha: alpha.unwrap_or(1.0),
            });
        } else if let Some(value) = table.get("shared_alpha") {
            let wrong = not("no shared buffer", "only with `shared_buffer`");
            return Err(self.wrong("shared_alpha", value, wrong));
        }
        if let Some(bytes) = self.read(table, "overhead", parse_size)? {
            config.options.overhead_bytes = u32::try_from(bytes.0).unwrap_or(u32::MAX);
        }
        if let Some(rate) = self.read(table, "uplink_rate", parse_rate)? {
            for interface in &mut config.interfaces {
                interface.uplink.rate = rate;
            }
        }
        if let Some(on) = self.boolean(table, "real_time")? {
            config.options.real_time = on;
        }
        Ok(())
    }

    fn d3(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), Diagnostic> {
        self.known(table, &D3, "[d3]")?;
        let options = &mut config.options.d3;
        if let Some(interval) = self.read(table, "update_interval", parse_time)? {
            options.router.update_interval = Some(interval);
        }
        options.wire.scale = self.number(table, "scale", "-16 to 15")?;
        options.router.police = self.read(table, "police", parse_rate)?;
        Ok(())
    }

    /// Parses a boolean. Returns `None` if the key is absent.
    fn boolean(&self, table: &DeTable<'_>, key: &str) -> Result<Option<bool>, Diagnostic> {
        let Some(value) = table.get(key) else {
            return Ok(None);
        };
        let DeValue::Boolean(on) = value.get_ref() else {
            return Err(self.wrong(key, value, not("not a boolean", "true or false")));
        };
        Ok(Some(*on))
    }
}

fn not(message: &str, allowed: &str) -> InvalidQuantity {
    InvalidQuantity {
        message: message.to_owned(),
        allowed: allowed.to_owned(),
    }
}

fn name(text: &str) -> Result<String, InvalidQuantity> {
    if text.is_empty() {
        return Err(not("not a name", "a non-empty string"));
    }
    Ok(text.to_owned())
}

fn mac(text: &str) -> Result<[u8; 6], InvalidQuantity> {
    let wrong = || {
        not(
            "not a link-layer address",
            "six bytes such as \"02:00:00:00:00:01\"",
        )
    };
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        let part = parts
            .next()
            .filter(|part| part.len() == 2 && !part.starts_with('+'))
            .ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() {
        return Err(wrong());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
