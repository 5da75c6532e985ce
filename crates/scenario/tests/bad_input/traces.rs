//! Errors of files with flows and sizes.

use super::{Files, GOOD, error_of};
use duetime_scenario::{Sources, TraceRow, decode, load};

pub(super) const TRACE: &str = r#"transport = "tcp"
[topology]
kind = "star"
hosts = 3
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
kind = "trace"
file = "flows.csv"
"#;

/// Declares a test per mistake in a trace: file and error message.
macro_rules! traces {
    ($($name:ident: $file:expr, $message:expr;)*) => {
        $(#[test]
        fn $name() {
            let error_text = error_of(TRACE, &[("flows.csv", $file)]);
            assert_eq!(error_text, $message.trim_matches('\n'));
        })*
    };
}

traces! {
    empty_trace: "start_ns,source,destination,size_bytes\n", r"
flows.csv: the trace is empty
   allowed: at least one flow after the header
";
    unsorted_trace: "start_ns,source,destination,size_bytes\n5000,0,1,10\n4000,1,2,10\n", r"
flows.csv:3:1: start_ns = 4000 is before the row above (5000)
   3 | 4000,1,2,10
     | ^^^^^^^^^^^
   allowed: rows sorted by start_ns
";
    unknown_column: "start_ns,src,destination,size_bytes\n", r"
flows.csv:1:10: unknown column `src`
   1 | start_ns,src,destination,size_bytes
     |          ^^^
   allowed: start_ns,source,destination,size_bytes in any order, and optionally deadline_ns
";
    nan: "start_ns,source,destination,size_bytes\n1,0,1,NaN\n", r"
flows.csv:2:7: size_bytes = NaN: not a whole number in range
   2 | 1,0,1,NaN
     |       ^^^
   allowed: 0..=18446744073709551
";
    unknown_host: "start_ns,source,destination,size_bytes\n1,0,3,10\n", r"
flows.csv:2:1: destination = 3: the topology has 3 hosts
   2 | 1,0,3,10
     | ^^^^^^^^
   allowed: 0..=2
";
    short_row: "start_ns,source,destination,size_bytes\n1,0,1\n", r"
flows.csv:2:1: 3 cells in a table of 4 columns
   2 | 1,0,1
     | ^^^^^
   allowed: 4 cells
";
}

#[test]
fn unreadable_trace() {
    assert_eq!(
        error_of(TRACE, &[]),
        "search.toml:8:8: workload.file = \"flows.csv\": cannot be read: no such file\n   8 | file = \"flows.csv\"\n     \
         |        ^^^^^^^^^^^"
    );
    let parquet = TRACE.replace("flows.csv", "flows.parquet");
    let error_text = error_of(&parquet, &[("flows.parquet", "")]);
    assert!(
        error_text.starts_with("flows.parquet: the trace is empty"),
        "{error_text}"
    );
}

/// File of any bytes, in a folder.
pub(super) struct InFolder(pub(super) &'static [u8]);

impl Sources for InFolder {
    fn read_text(&self, _: &str) -> Result<String, String> {
        Err("no text".to_owned())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        assert_eq!(path, "flows.csv");
        Err("`data/flows.csv`: it ends too early".to_owned())
    }

    fn read_bytes(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.to_vec())
    }

    fn shown(&self, path: &str) -> String {
        format!("data/{path}")
    }
}

fn said_of_bytes(scenario: &str, bytes: &'static [u8]) -> String {
    let loaded = load(scenario, "search.toml", &[], &InFolder(bytes));
    loaded.expect_err("a mistake").to_string()
}

#[test]
fn file_is_shown_with_its_folder() {
    assert!(
        said_of_bytes(TRACE, b"start_ns,src")
            .starts_with("data/flows.csv:1:10: unknown column `src`")
    );
    assert!(said_of_bytes(TRACE, b"").starts_with("data/flows.csv: the trace is empty"));
    let sizes = GOOD.replace("\"10 KB\"", "{ cdf = \"sizes.csv\" }");
    assert!(said_of_bytes(&sizes, b"1").starts_with("data/sizes.csv:1:1: not a point of a CDF"));
}

#[test]
fn invalid_utf8() {
    assert_eq!(
        said_of_bytes(TRACE, b"start_ns,source\n# f\xfcr uns\n1,2\n"),
        "data/flows.csv:2:4: not UTF-8: byte 0xfc\n   2 | # f\u{fffd}r uns\n     |    ^\n   allowed: a trace in CSV or \
         spans as JSON lines, as text in UTF-8, or in Parquet\n   help: save the file as UTF-8"
    );
    let sizes = GOOD.replace("\"10 KB\"", "{ cdf = \"sizes.csv\" }");
    assert!(
        said_of_bytes(&sizes, b"1,\xff").starts_with("data/sizes.csv:1:3: not UTF-8: byte 0xff")
    );
    let utf_16 = b"\xff\xfe1\0";
    assert!(said_of_bytes(&sizes, utf_16).starts_with(
        "data/sizes.csv:1:1: not UTF-8: it starts with the byte order mark of UTF-16"
    ));
    let error =
        decode(b"name = \"a\"\nseeds = \xc3\n".to_vec(), "search.toml").expect_err("a mistake");
    assert_eq!((error.line, error.column), (2, 9));
}

#[test]
fn format_is_detected_by_content() {
    // Parquet and CSV with any name.
    let error_text = said_of_bytes(TRACE, b"PAR1 and more");
    assert!(
        error_text.contains("cannot be read: `data/flows.csv`: it ends too early"),
        "{error_text}"
    );
    let text = TRACE.replace("flows.csv", "flows.parquet");
    let csv = "start_ns,source,destination,size_bytes\n1,0,1,10\n";
    let files = Files(&[(
        "flows.parquet",
        "start_ns,source,destination,size_bytes\n1,0,1,10\n",
    )]);
    let scenario =
        load(&text, "search.toml", &[], &files).unwrap_or_else(|error| panic!("{error}"));
    let quoted: &'static [u8] =
        b"\xef\xbb\xbf\"start_ns\",\"source\" , \"destination\",\"size_bytes\"\r\n\"1\",\"0\", \"1\",10\r\n";
    let other = load(TRACE, "search.toml", &[], &InFolder(quoted));
    let other = other.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.workloads[0].kind, other.workloads[0].kind, "{csv}");
}

#[test]
fn sizes_by_name_or_file() {
    let sizes = |name: &str| GOOD.replace("\"10 KB\"", &format!("{{ cdf = \"{name}\" }}"));
    let plain = Files(&[("sizes", "# unit: KB\nsize,probability\n1,0\n50,1\n")]);
    let plain = load(&sizes("sizes"), "search.toml", &[], &plain);
    let quoted: &'static [u8] =
        b"\xef\xbb\xbf\"# unit: KB\"\r\n\"size\",\"probability\"\r\n\"1\",\"0\"\r\n\"50\" , \"1\"\r\n";
    let quoted = load(&sizes("sizes"), "search.toml", &[], &InFolder(quoted));
    let [plain, quoted] = [plain, quoted].map(|of| of.unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(plain, quoted);
    load(&sizes("web-search"), "search.toml", &[], &Files(&[]))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        error_of(&sizes("web-serch"), &[]),
        "search.toml:16:20: workload.response.cdf = \"web-serch\": cannot be read: no such file\n   \
         16 | response = { cdf = \"web-serch\" }\n      |                    ^^^^^^^^^^^\n   allowed: a CSV file, relative \
         to the scenario, or one of \"web-search\", \"web-search-packets\", \"data-mining\", \"data-mining-packets\", \
         \"hadoop\", \"storage\"\n   help: did you mean \"web-search\"?"
    );
}

#[test]
fn invalid_cdf_files() {
    let text = GOOD.replace("\"10 KB\"", "{ cdf = \"sizes.csv\" }");
    assert_eq!(
        error_of(
            &text,
            &[("sizes.csv", "# unit: KB\nsize,probability\n1,0\n50,0.97\n")]
        ),
        "sizes.csv:4:1: the CDF ends at 0.97\n   4 | 50,0.97\n     | ^^^^^^^\n   allowed: a last point with probability 1"
    );
    assert_eq!(
        error_of(&text, &[("sizes.csv", "# unit: KB\n1,0.5\n2,0.4\n")]),
        "sizes.csv:3:1: the probability falls from 0.5 to 0.4\n   3 | 2,0.4\n     | ^^^^^\n   allowed: probabilities \
         that rise to 1"
    );
    assert_eq!(
        error_of(&text, &[("sizes.csv", "# unit: KB\n1,nan\n")]),
        "sizes.csv:2:1: not a finite number\n   2 | 1,nan\n     | ^^^^^\n   allowed: numbers"
    );
    assert_eq!(
        error_of(&text, &[("sizes.csv", "1,1\n")]),
        "sizes.csv:1:1: the unit of the sizes is not given before the first point\n   1 | 1,1\n     | ^^^\n   allowed: a \
         line `# unit: bytes`, `# unit: KB` or `# unit: packets of 1460 bytes`"
    );
}

#[test]
fn inline_trace() {
    let inline = |flows: &str| {
        let flows = format!("flows = '''{flows}'''");
        error_of(&TRACE.replace("file = \"flows.csv\"", &flows), &[])
    };
    assert_eq!(
        inline("start_ns,source,destination,size_bytes\n5,0,7,1\n"),
        "workload.flows:2:1: destination = 7: the topology has 3 hosts\n   2 | 5,0,7,1\n     | ^^^^^^^\n   allowed: 0..=2"
    );
    let error_text = inline("");
    assert!(
        error_text.starts_with("workload.flows: the trace is empty"),
        "{error_text}"
    );
    let both = TRACE.replace(
        "file = \"flows.csv\"",
        "file = \"flows.csv\"\nflows = \"x\"",
    );
    assert_eq!(
        error_of(&both, &[]),
        "search.toml:9:9: workload.flows = \"x\": set together with `file`\n   9 | flows = \"x\"\n     |         ^^^\n   \
         allowed: one of `file` and `flows`"
    );
}
