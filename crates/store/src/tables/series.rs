//! `queues.parquet` and `throughput.parquet`: the two halves of the samples, row by row the same links and times.

use std::sync::Arc;

use duetime_core::Time;
use duetime_results::{RunRecords, SeriesSample};

use super::{ns, ps, time};
use crate::table::{Column, Get, Row, StoredTable, column};

const LINK: &str = "`from->to`, by node names";
const AT_NS: &str = "when, since the start of the run, rounded down";
const AT_PS: &str = "when, exact, since the start of the run";

/// One row of `queues.parquet`.
pub struct QueueRow {
    link: Arc<str>,
    sample: SeriesSample,
}

/// One row of `throughput.parquet`.
pub struct ThroughputRow {
    link: Arc<str>,
    sample: SeriesSample,
    since: Time,
}

impl Row for QueueRow {
    const NAME: &'static str = "queues";
    const ABOUT: &'static str = "one row per sample of a sampled link's queue, by time, then link";
    const COLUMNS: &'static [Column<Self>] = &[
        column("link", Get::Text(|r| &r.link), LINK),
        column("at_ns", Get::Int(|r| ns(r.sample.at)), AT_NS),
        column(
            "queue_bytes",
            Get::Int(|r| r.sample.queue_bytes as i64),
            "bytes queued, the packet in service included",
        ),
        column(
            "queue_packets",
            Get::Int(|r| i64::from(r.sample.queue_packets)),
            "packets queued, the packet in service included",
        ),
        column("at_ps", Get::Int(|r| ps(r.sample.at)), AT_PS),
    ];
}

impl Row for ThroughputRow {
    const NAME: &'static str = "throughput";
    const ABOUT: &'static str =
        "one row per sample of what left a sampled link, by time, then link";
    const COLUMNS: &'static [Column<Self>] = &[
        column("link", Get::Text(|r| &r.link), LINK),
        column("at_ns", Get::Int(|r| ns(r.sample.at)), AT_NS),
        column(
            "sent_bytes",
            Get::Int(|r| r.sample.sent_bytes as i64),
            "bytes that left since the link's last sample, on the wire",
        ),
        column(
            "throughput_bps",
            Get::OptionalReal(throughput),
            "mean rate since the link's last sample, in bits per second; null: no time has passed",
        ),
        column("at_ps", Get::Int(|r| ps(r.sample.at)), AT_PS),
    ];
}

fn throughput(row: &ThroughputRow) -> Option<f64> {
    let span = row.sample.at.since(row.since).as_secs_f64();
    (span > 0.0).then(|| row.sample.sent_bytes as f64 * 8.0 / span)
}

/// The rows of `queues.parquet`.
pub fn queue_rows(records: &RunRecords) -> Vec<QueueRow> {
    let names = link_names(records);
    let row = |sample: &SeriesSample| QueueRow {
        link: names[sample.link as usize].clone(),
        sample: *sample,
    };
    records.series.iter().map(row).collect()
}

/// The rows of `throughput.parquet`.
pub fn throughput_rows(records: &RunRecords) -> Vec<ThroughputRow> {
    let names = link_names(records);
    let mut last = vec![Time::ZERO; names.len()];
    let row = |sample: &SeriesSample| {
        let link = sample.link as usize;
        let since = std::mem::replace(&mut last[link], sample.at);
        ThroughputRow {
            link: names[link].clone(),
            sample: *sample,
            since,
        }
    };
    records.series.iter().map(row).collect()
}

fn link_names(records: &RunRecords) -> Vec<Arc<str>> {
    records
        .sampled_links
        .iter()
        .map(|name| Arc::from(name.as_str()))
        .collect()
}

/// The samples of the two stored tables, exactly as written; `links` are the sampled links in their order.
pub fn read_series(
    links: &[String],
    queues: &StoredTable,
    throughput: &StoredTable,
) -> Result<Vec<SeriesSample>, String> {
    if queues.rows() != throughput.rows() {
        return Err(format!(
            "{} queue samples but {} of throughput",
            queues.rows(),
            throughput.rows()
        ));
    }
    let mut link = queues.column("link")?;
    let mut at = queues.column("at_ps")?;
    let mut queue_bytes = queues.column("queue_bytes")?;
    let mut queue_packets = queues.column("queue_packets")?;
    let mut sent_bytes = throughput.column("sent_bytes")?;
    let sample = |_| {
        let name = link.text()?;
        let index = links.iter().position(|other| *other == name);
        Ok(SeriesSample {
            link: index.ok_or_else(|| link.error(&format!("`{name}` was not sampled")))? as u32,
            at: time(at.int()?),
            queue_bytes: queue_bytes.int()? as u64,
            queue_packets: queue_packets.int()? as u32,
            sent_bytes: sent_bytes.int()? as u64,
        })
    };
    (0..queues.rows()).map(sample).collect()
}
