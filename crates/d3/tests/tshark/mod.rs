//! Runs tshark with the dissector `wireshark/d3.lua` on a capture, for comparison with the protocol's decoder.

use duetime_proto::d3::{EncodedRate, Packet};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Fields of both versions.
pub const PACKET_FIELDS: [&str; 18] = [
    "d3.magic",
    "d3.flags",
    "d3.payload_length",
    "d3.position",
    "d3.number",
    "d3.echo",
    "d3.hops",
    "d3.stamps",
    "d3.version",
    "d3.request.desired",
    "d3.request.index",
    "d3.request.stamps",
    "d3.request.scale",
    "d3.request.pace",
    "d3.request.allocation",
    "d3.request.previous_desired",
    "d3.request.previous_allocation",
    "d3.request.feedback",
];

/// Values of one frame's fields; a field may occur several times.
pub type Fields = BTreeMap<&'static str, Vec<i128>>;

/// Frame in tshark's output.
#[derive(Debug)]
pub struct Frame {
    pub fields: Fields,
    /// Error reported by the dissector.
    pub error: String,
    /// Message in Wireshark's expert information.
    pub expert: String,
    pub checksum_status: String,
    /// Info column in the packet list.
    pub info: String,
}

/// Returns the frames of a capture. Without tshark, prints a message and returns `None`.
#[expect(clippy::print_stderr, reason = "prints why the test is skipped")]
pub fn frames(capture: &Path, fields: &[&'static str]) -> Option<Vec<Frame>> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed (script/bootstrap --lab installs it)");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../d3/wireshark/d3.lua");
    let texts = [
        "d3.error",
        "_ws.expert.message",
        "d3.checksum.status",
        "_ws.col.Info",
    ];
    let mut tshark = Command::new("tshark");
    tshark
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()))
        .args([
            "-n",
            "-T",
            "fields",
            "-E",
            "separator=|",
            "-E",
            "aggregator=;",
        ])
        .arg("-r")
        .arg(capture);
    for field in fields.iter().chain(&texts) {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !errors.contains("Lua"),
        "tshark: {errors}"
    );
    let lines = String::from_utf8(output.stdout).expect("text");
    let frame = |line: &str| {
        let mut cells = line.split('|');
        let mut next = || cells.next().expect("a cell of each field");
        let values = |cell: &str| {
            cell.split(';')
                .filter(|v| !v.is_empty())
                .map(number)
                .collect()
        };
        Frame {
            fields: fields.iter().map(|name| (*name, values(next()))).collect(),
            error: next().to_owned(),
            expert: next().to_owned(),
            checksum_status: next().to_owned(),
            info: next().to_owned(),
        }
    };
    Some(lines.lines().map(frame).collect())
}

/// Adds the decoder's values of a packet to the fields of its frame.
pub fn expect(fields: &mut Fields, version: u8, packet: &Packet) {
    let mut add = |name, value: i128| fields.entry(name).or_default().push(value);
    let has_request = if packet.request.is_some() { 0x80 } else { 0 };
    add("d3.magic", 0xd3);
    add("d3.flags", i128::from(packet.flags.0) | has_request);
    add("d3.payload_length", packet.len.into());
    add("d3.position", packet.seq.into());
    add("d3.number", packet.tag.number.into());
    add("d3.echo", packet.tag.echo.into());
    add("d3.hops", packet.tag.hops.into());
    add("d3.stamps", packet.tag.stamps.into());
    add("d3.version", version.into());
    let Some(request) = &packet.request else {
        return;
    };
    let byte = |rate: EncodedRate| rate.byte().expect("a whole rate").into();
    add("d3.request.desired", byte(request.desired));
    add("d3.request.index", request.index.into());
    add("d3.request.stamps", request.stamps.into());
    add("d3.request.scale", request.scale.into());
    add("d3.request.pace", request.pace.into());
    add(
        "d3.request.previous_desired",
        byte(request.previous_desired),
    );
    let vectors = [
        ("d3.request.allocation", request.allocations),
        (
            "d3.request.previous_allocation",
            request.previous_allocations,
        ),
        ("d3.request.feedback", request.feedback),
    ];
    for (name, rates) in vectors {
        for rate in rates {
            add(name, byte(rate));
        }
    }
}

fn number(cell: &str) -> i128 {
    let parsed = match cell.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("`{cell}` is not a number"))
}
