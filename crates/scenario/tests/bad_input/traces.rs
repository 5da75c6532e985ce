//! Files of flows and of sizes.

use super::{GOOD, said_of};

pub(super) const TRACE: &str = r#"transport = "tcp"
[topology]
kind = "star"
hosts = 3
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
kind = "trace"
file = "flows.csv"
"#;

/// Tests of one mistake each in a trace: (the file, what is said).
macro_rules! traces {
    ($($name:ident: $file:expr, $said:expr;)*) => {
        $(#[test]
        fn $name() {
            let said = said_of(TRACE, &[("flows.csv", $file)]);
            assert_eq!(said, $said.trim_matches('\n'));
        })*
    };
}

traces! {
    an_empty_trace: "start_ns,source,destination,size_bytes\n", r"
flows.csv: the trace is empty
   allowed: at least one flow after the header
";
    an_unsorted_trace: "start_ns,source,destination,size_bytes\n5000,0,1,10\n4000,1,2,10\n", r"
flows.csv:3:1: start_ns = 4000 is before the row above (5000)
   3 | 4000,1,2,10
     | ^^^^^^^^^^^
   allowed: rows sorted by start_ns
";
    a_trace_with_an_unknown_column: "start_ns,src,destination,size_bytes\n", r"
flows.csv:1:10: unknown column `src`
   1 | start_ns,src,destination,size_bytes
     |          ^^^
   allowed: start_ns,source,destination,size_bytes,deadline_ns
";
    a_trace_with_nan: "start_ns,source,destination,size_bytes\n1,0,1,NaN\n", r"
flows.csv:2:7: size_bytes = NaN: not a whole number in range
   2 | 1,0,1,NaN
     |       ^^^
   allowed: 0..=18446744073709551
";
    a_trace_with_an_unknown_host: "start_ns,source,destination,size_bytes\n1,0,3,10\n", r"
flows.csv:2:1: destination = 3: the topology has 3 hosts
   2 | 1,0,3,10
     | ^^^^^^^^
   allowed: 0..=2
";
    a_trace_with_a_short_row: "start_ns,source,destination,size_bytes\n1,0,1\n", r"
flows.csv:2:1: 3 cells in a table of 4 columns
   2 | 1,0,1
     | ^^^^^
   allowed: 4 cells
";
}

#[test]
fn a_trace_that_cannot_be_read() {
    assert_eq!(
        said_of(TRACE, &[]),
        "search.toml:8:8: workload.file = \"flows.csv\": cannot be read: no such file\n   8 | file = \"flows.csv\"\n     \
         |        ^^^^^^^^^^^"
    );
    let parquet = TRACE.replace("flows.csv", "flows.parquet");
    let said = said_of(&parquet, &[("flows.parquet", "")]);
    assert!(
        said.starts_with("flows.parquet: the trace is empty"),
        "{said}"
    );
}

#[test]
fn a_cdf_file_that_does_not_reach_one_or_is_not_sorted() {
    let text = GOOD.replace("\"10 KB\"", "{ cdf = \"sizes.csv\" }");
    assert_eq!(
        said_of(
            &text,
            &[("sizes.csv", "# unit: KB\nsize,probability\n1,0\n50,0.97\n")]
        ),
        "sizes.csv:4:1: the CDF ends at 0.97\n   4 | 50,0.97\n     | ^^^^^^^\n   allowed: a last point with probability 1"
    );
    assert_eq!(
        said_of(&text, &[("sizes.csv", "# unit: KB\n1,0.5\n2,0.4\n")]),
        "sizes.csv:3:1: the probability falls from 0.5 to 0.4\n   3 | 2,0.4\n     | ^^^^^\n   allowed: probabilities \
         that rise to 1"
    );
    assert_eq!(
        said_of(&text, &[("sizes.csv", "# unit: KB\n1,nan\n")]),
        "sizes.csv:2:1: not a finite number\n   2 | 1,nan\n     | ^^^^^\n   allowed: numbers"
    );
    assert_eq!(
        said_of(&text, &[("sizes.csv", "1,1\n")]),
        "sizes.csv:1:1: the unit of the sizes is not given before the first point\n   1 | 1,1\n     | ^^^\n   allowed: a \
         line `# unit: bytes`, `# unit: KB` or `# unit: packets of 1460 bytes`"
    );
}
