use super::*;

fn calls_in(text: &str) -> Calls {
    read("calls.csv", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn times_are_exact() {
    assert_eq!(
        time("1700000000.123456789", 1_000_000_000),
        Some(1_700_000_000_123_456_789)
    );
    assert_eq!(time("2.5", 1_000_000), Some(2_500_000));
    assert_eq!(time("7.9", 1), Some(7));
    for wrong in ["", ".5", "-1", "1e3", "NaN", "99999999999999999999"] {
        assert_eq!(time(wrong, 1), None, "{wrong}");
    }
}

#[test]
fn rows_of_calls() {
    let calls = calls_in(
        "query,client,server,start_us,duration_ms,bytes,request_bytes,deadline_ms\n\
                    a,f,s1,10,1.5,2000,100,4\n\
                    a,f,s2,11,2,3000,,\n",
    );
    let observed = calls.into_observed(None);
    assert_eq!(observed.queries.len(), 1);
    let query = &observed.queries[0];
    assert_eq!((query.start_ns, query.took_ns), (10_000, Some(2_001_000)));
    assert_eq!((query.children, observed.hosts, query.due_ns), (2, 3, None));
    assert_eq!(query.answers[0].request_bytes, Some(100));
    assert_eq!(query.answers[0].deadline_ns, Some(4_000_000));
}

#[test]
fn flows_of_a_trace_are_answers() {
    let calls = calls_in(
        "start_ns,source,destination,size_bytes,deadline_ns\n0,1,0,500,\n3,2,0,600,9000\n",
    );
    assert_eq!(calls.list[1].client, calls.list[0].client);
    assert_eq!(
        (calls.list[1].end_ns, calls.list[1].due_ns),
        (None, Some(9_003))
    );
    assert_eq!(calls.deadline_from, DeadlineFrom::Response);
}

#[test]
fn flows_of_a_run_are_joined() {
    let calls = calls_in(
        "workload,class,query,source,destination,size_bytes,start_ns,fct_ns,deadline_ns,attempt\n\
                    0,query,9,0,1,100,0,10,,0\n\
                    0,response,9,1,0,4000,35,65,200,0\n\
                    1,flow,,2,0,70,3,,,0\n\
                    0,query,9,0,2,100,1,9,,0\n",
    );
    assert_eq!(calls.list.len(), 2);
    let call = calls.list[0];
    assert_eq!(
        (call.start_ns, call.end_ns, call.compute_ns),
        (0, Some(100), Some(25))
    );
    assert_eq!(
        (call.bytes, call.request_bytes, call.due_ns),
        (Some(4_000), Some(100), Some(235))
    );
    assert_eq!(
        (calls.list[1].bytes, calls.list[1].compute_ns),
        (None, None)
    );
}

#[test]
fn errors_name_line_column_and_value() {
    let cases = [
        ("", "empty"),
        ("start_ns,duration_ns\n1,2\n", "`bytes` is missing"),
        ("start_ns,bytes\n1,2\n", "`duration_ns` is missing"),
        ("bytes,bytes,start_ns\n", "twice"),
        ("start_ns,end_ns,bytes\n", "no rows"),
        (
            "start_ns,end_ns,bytes\n5,4,1\n",
            "calls.csv:2:3: end_ns = 4: before the start",
        ),
        (
            "start_ns,end_ns,bytes\n5,6,1\n5,6,-1\n",
            "calls.csv:3:5: bytes = -1",
        ),
        ("start_ns,end_ns,bytes\n5,6,0\n", "bytes = 0"),
        (
            "start_ns,end_ns,bytes\nnan,6,1\n",
            "start_ns = nan: not a time",
        ),
        (
            "start_ns,end_ns,bytes\n5,6\n",
            "2 cells in a table of 3 columns",
        ),
        ("start_s,end_s,bytes\n5,6,1\n500000,500001,1\n", "hours"),
    ];
    for (text, expected) in cases {
        let error = read("calls.csv", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let error = read("f", &b"start_ns,end_ns,bytes\n1,2,\xff\n"[..]).unwrap_err();
    assert!(error.to_string().contains("UTF-8"), "{error}");
}
