//! Round trips of tables to disk, and reading or rejecting files of other programs.

mod support;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use duetime_core::{Bytes, Span, Time};
use duetime_results::{Class, FlowRecord, RunRecords};
use duetime_scenario::{Sources, TraceRow};
use duetime_store::{Files, RunKey, export_csv, read_trace_parquet};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use support::{Scratch, new_folder, notes, records};

/// Values of a column as another program would write them; `None` is a null.
enum Values {
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Double(Vec<Option<f64>>),
    Text(Vec<Option<&'static str>>),
}

/// Writes a Parquet file of optional columns, in row groups of one row.
fn write_foreign(path: &Path, schema: &str, columns: &[Values]) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::default()).unwrap();
    let rows = match &columns[0] {
        Values::Int32(values) => values.len(),
        Values::Int64(values) => values.len(),
        Values::Double(values) => values.len(),
        Values::Text(values) => values.len(),
    };
    for row in 0..rows {
        let mut group = file.next_row_group().unwrap();
        for column in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            macro_rules! put {
                ($kind:ty, $value:expr) => {{
                    let value = $value;
                    let levels = [i16::from(value.is_some())];
                    writer
                        .typed::<$kind>()
                        .write_batch(value.as_slice(), Some(&levels), None)
                        .unwrap()
                }};
            }
            match column {
                Values::Int32(values) => put!(Int32Type, values[row]),
                Values::Int64(values) => put!(Int64Type, values[row]),
                Values::Double(values) => put!(DoubleType, values[row]),
                Values::Text(values) => put!(ByteArrayType, values[row].map(ByteArray::from)),
            };
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// Makes a valid trace invalid.
type Change = fn(&mut [Values]);

const TRACE: &str =
    "message trace { optional double start_ns; optional int32 source; optional int64 destination;
    optional int64 size_bytes; optional double deadline_ns; }";

fn trace(change: impl FnOnce(&mut [Values])) -> Vec<Values> {
    let mut columns = vec![
        Values::Double(vec![Some(0.0), Some(1_500.25)]),
        Values::Int32(vec![Some(0), Some(1)]),
        Values::Int64(vec![Some(1), Some(0)]),
        Values::Int64(vec![Some(10_000), Some(1)]),
        Values::Double(vec![None, Some(2e6)]),
    ];
    change(&mut columns);
    columns
}

#[test]
fn traces_are_read_from_any_number_type() {
    let scratch = Scratch::new("trace");
    let path = scratch.join("trace.parquet");
    write_foreign(&path, TRACE, &trace(|_| ()));
    let flow = |row, start, source, destination, size, deadline| TraceRow {
        row,
        start: Span::from_ps(start),
        source,
        destination,
        size: Bytes(size),
        deadline,
    };
    let expected = [
        flow(1, 0, 0, 1, 10_000, None),
        flow(2, 1_500_250, 1, 0, 1, Some(Span::from_ms(2))),
    ];
    assert_eq!(read_trace_parquet(&path).unwrap(), expected);
    let files = Files::relative_to(&scratch.join("scenario.toml"));
    assert_eq!(files.read_trace("trace.parquet").unwrap(), expected);
    std::fs::write(scratch.join("sizes.csv"), "1,1\n").unwrap();
    assert_eq!(files.read_text("sizes.csv").unwrap(), "1,1\n");
    let message = files.read_text("nowhere.csv").unwrap_err();
    assert!(message.contains("nowhere.csv`: No such file"), "{message}");
}

#[test]
fn invalid_trace_error_names_column_and_row() {
    let scratch = Scratch::new("wrong-trace");
    let path = scratch.join("trace.parquet");
    let message = |columns: &[Values]| {
        write_foreign(&path, TRACE, columns);
        read_trace_parquet(&path).unwrap_err().to_string()
    };
    let cases: [(Change, &str); 6] = [
        (
            |c| c[0] = Values::Double(vec![Some(0.0), Some(f64::NAN)]),
            "column `start_ns`, row 2: NaN: nanoseconds are",
        ),
        (
            |c| c[0] = Values::Double(vec![Some(-1.0), Some(0.0)]),
            "column `start_ns`, row 1: -1: nanoseconds are",
        ),
        (
            |c| c[1] = Values::Int32(vec![Some(0), Some(-4)]),
            "column `source`, row 2: -4: a host is a whole number",
        ),
        (
            |c| c[2] = Values::Int64(vec![None, Some(0)]),
            "column `destination`, row 1: a value is missing",
        ),
        (
            |c| c[3] = Values::Int64(vec![Some(1), Some(0)]),
            "column `size_bytes`, row 2: 0: a size is a whole number",
        ),
        (
            |c| c[4] = Values::Double(vec![None, Some(f64::INFINITY)]),
            "column `deadline_ns`, row 2: inf: nanoseconds",
        ),
    ];
    for (change, expected) in cases {
        let message = message(&trace(change));
        assert!(
            message.contains("trace.parquet`: ") && message.contains(expected),
            "{message}"
        );
    }
}

#[test]
fn files_other_than_traces_are_rejected() {
    let scratch = Scratch::new("no-trace");
    let path = scratch.join("trace.parquet");
    let message = || read_trace_parquet(&path).unwrap_err().to_string();
    assert!(message().contains("No such file"), "{}", message());
    std::fs::write(&path, "start_ns,source\n1,2\n").unwrap();
    assert!(message().contains("not a Parquet file"), "{}", message());
    write_foreign(
        &path,
        "message t { optional int64 start; }",
        &[Values::Int64(vec![Some(1)])],
    );
    assert!(
        message().ends_with("column `start_ns` is missing; the file has: start"),
        "{}",
        message()
    );
    let timestamps = TRACE.replace("double start_ns", "int64 start_ns (TIMESTAMP_MICROS)");
    write_foreign(
        &path,
        &timestamps,
        &trace(|c| c[0] = Values::Int64(vec![Some(1), Some(2)])),
    );
    assert!(
        message().contains("column `start_ns` holds dates, decimals or similar"),
        "{}",
        message()
    );
    let texts = TRACE.replace("double start_ns", "binary start_ns (UTF8)");
    write_foreign(
        &path,
        &texts,
        &trace(|c| c[0] = Values::Text(vec![Some("1 us"), Some("2 us")])),
    );
    assert!(
        message().contains("column `start_ns`, row 1: Text(\"1 us\") is not a number"),
        "{}",
        message()
    );
}

#[test]
fn flows_of_a_run_are_a_valid_trace() {
    let scratch = Scratch::new("flows-as-trace");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 0);
    let mut records = records();
    records.flows.truncate(1);
    folder.write_run(&key, &records, &notes(), None).unwrap();
    let flows = read_trace_parquet(&folder.run_path(&key).join("flows.parquet")).unwrap();
    assert_eq!(flows[0].start, Span::from_ns(1_234_567));
    assert_eq!(flows[0].deadline, Some(Span::from_ns(1_000_000)));
}

#[test]
fn tables_export_as_csv() {
    let scratch = Scratch::new("csv");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 0);
    folder.write_run(&key, &records(), &notes(), None).unwrap();
    let csv = |table: &str| {
        let mut text = Vec::new();
        export_csv(&folder.run_path(&key).join(table), &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let flows = csv("flows.parquet");
    let mut lines = flows.lines();
    assert_eq!(
        lines.next().unwrap(),
        "transport,run,flow,workload,class,query,source,destination,size_bytes,delivered_bytes,start_ns,fct_ns,\
         deadline_ns,slack_ns,met,quenched,measured,timeouts,retransmits,marks,leaves,attempt,spare,requests,denials,\
         inversions,start_ps,finish_ps,due_ps"
    );
    assert_eq!(
        lines.next().unwrap(),
        "tcp,0,12884901889,0,response,17,3,9,10000,10000,1234567,999999,\
         1000000,0,true,false,true,1,2,3,12,1,true,6,4,5,1234567891,2234567890,2234567891"
    );
    assert_eq!(
        lines.next().unwrap(),
        "tcp,0,17179869184,0,long,,3,9,,10000,1234567,,,,,false,false,1,2,3,12,1,true,6,4,5,1234567891,,"
    );
    assert_eq!(lines.next(), None);
    assert!(csv("ports.parquet").ends_with(
        "\"tor0->host \"\"9\"\", b\",70,105000,1,1500,2,3000,4,30000,1234.56789,0.3333333333333333\n"
    ));
    assert_eq!(
        csv("throughput.parquet"),
        "transport,run,link,at_ns,sent_bytes,at_ps\n\
         tcp,0,a->b,0,0,0\ntcp,0,a->b,1000,125,1000000\ntcp,0,b->c,1000,0,1000000\n"
    );
}

fn any_time() -> impl Strategy<Value = Time> {
    prop_oneof![any::<u64>(), 0..10_000_u64].prop_map(Time::from_ps)
}

prop_compose! {
    fn any_flow()(
        ids in (any::<u64>(), any::<u16>(), 0..4_usize, any::<Option<u64>>(), any::<u32>(), any::<u32>()),
        size in any::<u64>(),
        delivered_bytes in any::<u64>(),
        times in (any_time(), proptest::option::of(any_time()), proptest::option::of(any_time())),
        flags in any::<(bool, bool)>(),
        counts in any::<[u32; 7]>(),
    ) -> FlowRecord {
        FlowRecord {
            flow: ids.0,
            workload: ids.1,
            class: [Class::Query, Class::Response, Class::Flow, Class::Long][ids.2],
            query: ids.3,
            source: ids.4,
            destination: ids.5,
            size_bytes: if ids.2 == 3 { u64::MAX } else { size },
            delivered_bytes,
            start: times.0,
            finish: times.1,
            deadline: times.2,
            quenched: flags.0,
            measured: flags.1,
            timeouts: counts[0],
            retransmits: counts[1],
            marks: counts[2],
            denials: counts[3],
            inversions: counts[4],
            requests: counts[5],
            leaves: counts[6],
            attempt: (counts[0] % 16).into(),
            spare: (flags.0 != flags.1).into(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_flows_read_back_exactly(flows in proptest::collection::vec(any_flow(), 0..200)) {
        let scratch = Scratch::new("any-flows");
        let folder = new_folder(&scratch.join("out"));
        let records = RunRecords { flows, ..RunRecords::default() };
        let key = RunKey::new("tcp", 0);
        folder.write_run(&key, &records, &notes(), None).unwrap();
        prop_assert_eq!(folder.read_run(&key).unwrap().records, records);
    }
}
