//! `ports.parquet`.

use duetime_results::PortRecord;

use crate::table::{Column, Get, Row, StoredTable, column};

impl Row for PortRecord {
    const NAME: &'static str = "ports";
    const ABOUT: &'static str =
        "one row per directed link with the port that feeds it, by node order of the topology";
    const COLUMNS: &'static [Column<Self>] = &[
        column("link", Get::Text(|r| &r.link), "`from->to`, by node names"),
        column(
            "packets",
            Get::Int(|r| r.packets as i64),
            "packets that left",
        ),
        column(
            "sent_bytes",
            Get::Int(|r| r.bytes as i64),
            "bytes that left, on the wire",
        ),
        column(
            "drops",
            Get::Int(|r| r.drops as i64),
            "packets dropped for want of buffer",
        ),
        column(
            "drop_bytes",
            Get::Int(|r| r.drop_bytes as i64),
            "bytes of the packets dropped for want of buffer",
        ),
        column(
            "losses",
            Get::Int(|r| r.losses as i64),
            "packets lost by seeded loss",
        ),
        column(
            "loss_bytes",
            Get::Int(|r| r.loss_bytes as i64),
            "bytes of the packets lost by seeded loss",
        ),
        column(
            "marks",
            Get::Int(|r| r.marks as i64),
            "packets marked with CE",
        ),
        column(
            "queue_max_bytes",
            Get::Int(|r| r.queue_max_bytes as i64),
            "largest queue, the packet in service included",
        ),
        column(
            "queue_mean_bytes",
            Get::Real(|r| r.queue_mean_bytes),
            "time average of the queue, the packet in service included",
        ),
        column(
            "utilisation",
            Get::Real(|r| r.utilisation),
            "share of the time that the link was sending, in [0, 1]",
        ),
    ];
}

/// The records of a stored table, exactly as written.
pub fn read_ports(table: &StoredTable) -> Result<Vec<PortRecord>, String> {
    let mut link = table.column("link")?;
    let mut packets = table.column("packets")?;
    let mut bytes = table.column("sent_bytes")?;
    let mut drops = table.column("drops")?;
    let mut drop_bytes = table.column("drop_bytes")?;
    let mut losses = table.column("losses")?;
    let mut loss_bytes = table.column("loss_bytes")?;
    let mut marks = table.column("marks")?;
    let mut queue_max = table.column("queue_max_bytes")?;
    let mut queue_mean = table.column("queue_mean_bytes")?;
    let mut utilisation = table.column("utilisation")?;
    let record = |_| {
        Ok(PortRecord {
            link: link.text()?,
            packets: packets.int()? as u64,
            bytes: bytes.int()? as u64,
            drops: drops.int()? as u64,
            drop_bytes: drop_bytes.int()? as u64,
            losses: losses.int()? as u64,
            loss_bytes: loss_bytes.int()? as u64,
            marks: marks.int()? as u64,
            queue_max_bytes: queue_max.int()? as u64,
            queue_mean_bytes: queue_mean.real()?,
            utilisation: utilisation.real()?,
        })
    };
    (0..table.rows()).map(record).collect()
}
