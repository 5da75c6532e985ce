//! From stored tables back to records, exactly as they were written.

use duetime_core::Time;
use duetime_results::{Class, FlowRecord, PortRecord, QueryRecord, SeriesSample};

use crate::table::{StoredColumn, StoredTable};

/// The rows of `flows.parquet`.
pub fn read_flows(table: &StoredTable) -> Result<Vec<FlowRecord>, String> {
    let mut flow = table.column("flow")?;
    let mut workload = table.column("workload")?;
    let mut class = table.column("class")?;
    let mut query = table.column("query")?;
    let mut source = table.column("source")?;
    let mut destination = table.column("destination")?;
    let mut size = table.column("size_bytes")?;
    let mut delivered = table.column("delivered_bytes")?;
    let mut start = table.column("start_ps")?;
    let mut finish = table.column("finish_ps")?;
    let mut due = table.column("due_ps")?;
    let mut quenched = table.column("quenched")?;
    let mut measured = measured_column(table)?;
    let mut timeouts = table.column("timeouts")?;
    let mut retransmits = table.column("retransmits")?;
    let mut marks = table.column("marks")?;
    let mut denials = table.column("denials")?;
    let mut inversions = table.column("inversions")?;
    let mut requests = table.column("requests")?;
    let mut leaves = table.column("leaves")?;
    let record = |_| {
        let name = class.text()?;
        Ok(FlowRecord {
            flow: flow.int()? as u64,
            workload: workload.int()? as u16,
            class: class_named(&name)
                .ok_or_else(|| class.error(&format!("unknown class `{name}`")))?,
            query: query.optional_int()?.map(|query| query as u64),
            source: source.int()? as u32,
            destination: destination.int()? as u32,
            size_bytes: size.optional_int()?.map_or(u64::MAX, |size| size as u64),
            delivered_bytes: delivered.int()? as u64,
            start: time(start.int()?),
            finish: finish.optional_int()?.map(time),
            deadline: due.optional_int()?.map(time),
            quenched: quenched.bool()?,
            measured: measured.bool()?,
            timeouts: timeouts.int()? as u32,
            retransmits: retransmits.int()? as u32,
            marks: marks.int()? as u32,
            denials: denials.int()? as u32,
            inversions: inversions.int()? as u32,
            requests: requests.int()? as u32,
            leaves: leaves.int()? as u32,
        })
    };
    (0..table.rows()).map(record).collect()
}

/// The rows of `queries.parquet`.
pub fn read_queries(table: &StoredTable) -> Result<Vec<QueryRecord>, String> {
    let mut query = table.column("query")?;
    let mut workload = table.column("workload")?;
    let mut application = table.column("application")?;
    let mut root = table.column("root")?;
    let mut start = table.column("start_ps")?;
    let mut complete = table.column("complete_ps")?;
    let mut children = table.column("children")?;
    let mut answered = table.column("answered")?;
    let mut in_time = table.column("in_time")?;
    let mut measured = measured_column(table)?;
    let mut asked = table.column("asked")?;
    let mut leaves = table.column("leaves")?;
    let mut needed = table.column("needed")?;
    let mut judged = table.column("judged")?;
    let mut due = table.column("due_ps")?;
    let mut enough = table.column("enough_ps")?;
    let mut leaves_answered = table.column("leaves_answered")?;
    let mut leaves_in_time = table.column("leaves_in_time")?;
    let mut gave_up = table.column("gave_up")?;
    let record = |_| {
        Ok(QueryRecord {
            query: query.int()? as u64,
            workload: workload.int()? as u16,
            application: application.int()? as u16,
            root: root.int()? as u32,
            start: time(start.int()?),
            complete: complete.optional_int()?.map(time),
            children: children.int()? as u32,
            answered: answered.int()? as u32,
            in_time: in_time.int()? as u32,
            measured: measured.bool()?,
            asked: asked.int()? as u32,
            leaves: leaves.int()? as u32,
            needed: needed.int()? as u32,
            judged: judged.bool()?,
            due: due.optional_int()?.map(time),
            enough: enough.optional_int()?.map(time),
            leaves_answered: leaves_answered.int()? as u32,
            leaves_in_time: leaves_in_time.int()? as u32,
            gave_up: gave_up.int()? as u32,
        })
    };
    (0..table.rows()).map(record).collect()
}

/// The rows of `ports.parquet`.
pub fn read_ports(table: &StoredTable) -> Result<Vec<PortRecord>, String> {
    let mut link = table.column("link")?;
    let mut packets = table.column("packets")?;
    let mut bytes = table.column("sent_bytes")?;
    let mut drops = table.column("drops")?;
    let mut drop_bytes = table.column("dropped_bytes")?;
    let mut losses = table.column("losses")?;
    let mut loss_bytes = table.column("lost_bytes")?;
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

/// The rows of `queues.parquet` and `throughput.parquet`, which are the two halves of the samples; `links` are the sampled links in their order.
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

/// `measured`, which older tables call `counted`.
fn measured_column(table: &StoredTable) -> Result<StoredColumn, String> {
    match table.optional_column("counted")? {
        Some(column) => Ok(column),
        None => table.column("measured"),
    }
}

fn class_named(name: &str) -> Option<Class> {
    [Class::Query, Class::Response, Class::Flow, Class::Long]
        .into_iter()
        .find(|class| class.name() == name)
}

fn time(ps: i64) -> Time {
    Time::from_ps(ps as u64)
}

#[cfg(test)]
mod tests {
    use duetime_results::schema::{Column, Context, FLOWS, Table};

    use super::*;
    use crate::table::to_parquet;

    #[test]
    fn a_table_that_says_counted_is_read() {
        let renamed = |column: &Column<FlowRecord>| Column {
            name: match column.name {
                "measured" => "counted",
                name => name,
            },
            ..*column
        };
        let columns: Vec<Column<FlowRecord>> = FLOWS.columns.iter().map(renamed).collect();
        let old = Table {
            columns: columns.leak(),
            ..FLOWS
        };
        let flow = |number, measured| FlowRecord {
            flow: number,
            workload: 0,
            class: Class::Flow,
            query: None,
            source: 0,
            destination: 1,
            size_bytes: 1,
            delivered_bytes: 1,
            start: Time::ZERO,
            finish: None,
            deadline: None,
            quenched: false,
            measured,
            timeouts: 0,
            retransmits: 0,
            marks: 0,
            denials: 0,
            inversions: 0,
            requests: 0,
            leaves: 0,
        };
        let flows = [flow(0, true), flow(1, false)];
        let context = Context {
            transport: "tcp",
            run: 0,
            sampled_links: &[],
        };
        let file = to_parquet(&old, &context, &flows).unwrap();
        let table = StoredTable::open(file.into()).unwrap();
        assert!(table.names().contains(&"counted".to_owned()));
        assert_eq!(read_flows(&table).unwrap(), flows);
    }
}
