//! Tests of the verdict: finds the known cause, counts every late query, and is dropped when the runs change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duetime_analysis::explain::Limit;
use duetime_store::{IfExists, RunFolder};
use duetime_study::verdict::{Verdict, verdicts};
use duetime_study::{
    Choice, Execution, Explained, Plan, QueryChoice, Request, RunChoice, Silent, Simulator,
    execute, explain, gather,
};

/// Thirty concurrent answers into a buffer of 30 packets, with Linux's timers.
const LOSSES: &str = r#"
transport = ["cubic", "dctcp"]
seeds = 2
duration = "200 ms"

[topology]
kind = "star"
hosts = 31
link = { rate = "1 Gbps", latency = "10 us" }

[switch]
buffer = "30 packets"
ecn_threshold = "10 packets"

[[workload]]
kind = "oldi"
name = "feed"
fan_in = 30
response = "uniform 2 KB..20 KB"
rate = "60 /s"
objective = { within = "20 ms", answers = 1, share = "99 %" }
"#;

/// Computation that exceeds the budget in one of twenty cases, on an idle network.
const COMPUTING: &str = r#"
transport = "dctcp"
seeds = 2
duration = "400 ms"

[topology]
kind = "star"
hosts = 3
link = { rate = "10 Gbps", latency = "1 us" }

[[workload]]
kind = "oldi"
name = "rank"
fan_in = 2
response = "2 KB"
compute = "exponential 1 ms"
rate = "500 /s"
objective = { within = "3 ms", answers = 1, share = "99 %" }
"#;

/// One server on each host with a utilisation of 90 %.
const SERVERS: &str = r#"
transport = "dctcp"
seeds = 2
warm_up = "100 ms"
duration = "900 ms"

[topology]
kind = "star"
hosts = 3
link = { rate = "10 Gbps", latency = "1 us" }

[host]
servers = { slots = 1, queue = "fifo" }

[[workload]]
kind = "oldi"
name = "rank"
fan_in = 2
response = "2 KB"
compute = "1 ms"
rate = "900 /s"
objective = { within = "4 ms", answers = 1, share = "99 %" }
"#;

/// Answers of 4 MB in all over a link of 10 Gbps, at 40 % of its rate: late ones wait behind those of earlier queries.
const READS: &str = r#"
transport = "dctcp"
seeds = 2
duration = "1200 ms"

[topology]
kind = "star"
hosts = 5
link = { rate = "10 Gbps", latency = "1 us" }

[[workload]]
kind = "oldi"
name = "read"
fan_in = 4
response = "1 MB"
load = 0.4
objective = { within = "8 ms", answers = 1, share = "99 %" }
"#;

fn plan(text: &str, settings: &[(&str, &str)]) -> Plan {
    let settings = settings.iter();
    Plan::new(Request {
        text: text.to_owned(),
        file: "a service.toml".into(),
        settings: settings
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        transports: Vec::new(),
        points: Vec::new(),
    })
    .expect("a plan")
}

fn execution(cancelled: bool) -> Execution {
    Execution {
        jobs: 2,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::new(AtomicBool::new(cancelled)),
    }
}

fn run(plan: &Plan, name: &str) -> (PathBuf, RunFolder) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    execute(plan, &path, &execution(false), &Simulator, &Silent).expect("a study");
    let folder = RunFolder::open(&path).expect("a folder");
    (path, folder)
}

fn verdict(plan: &Plan, folder: &RunFolder) -> Verdict {
    let found = verdicts(plan, folder, &execution(false), &Simulator, &Silent);
    let mut found = found.expect("verdicts");
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn counts_late_queries_by_largest_part() {
    let plan = plan(LOSSES, &[]);
    let (_, folder) = run(&plan, "verdict-losses");
    let verdict = verdict(&plan, &folder);
    let counted: u64 = verdict.limits.iter().map(|limited| limited.queries).sum();
    assert!(verdict.late > 5, "{verdict:#?}");
    assert_eq!(verdict.explained, verdict.late);
    assert_eq!(counted, verdict.late);
    assert_eq!(verdict.limits[0].limit, Limit::RetransmissionTimeout);
    assert_eq!(verdict.transport, "cubic");

    // Explaining each query alone, with all its flows traced, gives the same result.
    let mut timeouts = 0;
    for job in plan.jobs().into_iter().filter(|job| job.transport == 0) {
        let records = folder.read_run(&plan.key(job)).expect("a run").records;
        let queries = records.queries.iter().filter(|query| query.measured);
        for query in queries.filter(|query| query.met() == Some(false)) {
            let which = RunChoice {
                transport: Some("cubic".to_owned()),
                run: job.run,
                ..RunChoice::default()
            };
            let choice = Choice::Query(QueryChoice::Id(query.query));
            let explained = explain(&folder, &plan, &which, choice, &Simulator).expect("a query");
            let Explained::Query(query) = explained else {
                panic!("not a query")
            };
            let limit = Limit::largest(&query.explanation.steps);
            timeouts += u64::from(limit == Some(Limit::RetransmissionTimeout));
        }
    }
    let found = verdict.limits[0].queries;
    assert!(
        found >= timeouts && found <= timeouts + verdict.late / 10,
        "{found} of {} by the verdict, {timeouts} one by one: the verdict may add queries behind a message with a \
         timeout",
        verdict.late
    );
}

#[test]
fn suggested_settings_reduce_late_queries() {
    let before = plan(LOSSES, &[]);
    let (_, folder) = run(&before, "verdict-before");
    let verdict_before = verdict(&before, &folder);
    let command = verdict_before.command.expect("a command");
    assert_eq!(
        command,
        "duetime sweep 'a service.toml' --transport cubic,dctcp --vary 'switch.buffer=30 packets,120 packets' --vary \
         'cubic.rto_min=200 ms,5 ms'"
    );
    let late = |settings: &[(&str, &str)], name: &str| {
        let plan = plan(LOSSES, settings);
        let (_, folder) = run(&plan, name);
        verdict(&plan, &folder).late
    };
    let deep = late(&[("switch.buffer", "120 packets")], "verdict-deep");
    let soon = late(&[("cubic.rto_min", "5 ms")], "verdict-soon");
    let before = verdict_before.late;
    assert!(deep < before, "{deep} of {before} with a deeper buffer");
    assert!(
        soon * 2 < before,
        "{soon} of {before} with a smaller rto_min"
    );
}

#[test]
fn service_alone_needs_faster_links() {
    let (_, folder) = run(&plan(READS, &[]), "verdict-reads");
    let before = verdict(&plan(READS, &[]), &folder);
    assert_eq!(before.limits[0].limit, Limit::Queue, "{before:#?}");
    assert!(
        before
            .text
            .contains("Try faster host links, smaller answers or less load"),
        "{}",
        before.text
    );
    let setting = "--vary 'topology.link.rate=10 Gbps,20 Gbps'";
    assert!(before.command.expect("a command").ends_with(setting));
    let after = plan(READS, &[("topology.link.rate", "20 Gbps")]);
    let (_, folder) = run(&after, "verdict-reads-fast");
    let after = verdict(&after, &folder);
    assert!(
        after.late * 2 < before.late,
        "{} of {}",
        after.late,
        before.late
    );
}

#[test]
fn computation_limits_every_transport() {
    let plan = plan(COMPUTING, &[]);
    let (_, folder) = run(&plan, "verdict-computing");
    let verdict = verdict(&plan, &folder);
    assert_eq!(verdict.limits.len(), 1, "{verdict:#?}");
    assert_eq!(verdict.limits[0].limit, Limit::Computing);
    assert!(
        verdict.text.contains("late under any transport"),
        "{}",
        verdict.text
    );
    assert_eq!(verdict.command, None);
}

#[test]
fn suggests_more_servers() {
    let plan = plan(SERVERS, &[]);
    let (_, folder) = run(&plan, "verdict-servers");
    let verdict = verdict(&plan, &folder);
    assert_eq!(verdict.limits[0].limit, Limit::Server, "{verdict:#?}");
    let slots = ["1", "2"].map(str::to_owned).to_vec();
    assert_eq!(verdict.settings, [("host.servers.slots".to_owned(), slots)]);
}

#[test]
fn verdict_is_dropped_when_runs_change() {
    let one = plan(LOSSES, &[("seeds", "1")]);
    let (path, folder) = run(&one, "verdict-kept");
    let none = verdicts(&one, &folder, &execution(true), &Simulator, &Silent);
    assert_eq!(none.expect("stopped"), [], "no verdict after a stop");
    let found = verdict(&one, &folder);
    let gathered = gather(&one, &folder, |_, _| {}).expect("results");
    assert_eq!(gathered.verdicts, std::slice::from_ref(&found));

    let two = plan(LOSSES, &[]);
    execute(&two, &path, &execution(false), &Simulator, &Silent).expect("another run");
    let gathered = gather(&two, &folder, |_, _| {}).expect("results");
    assert_eq!(gathered.verdicts, [], "of {} queries", found.queries);
}
