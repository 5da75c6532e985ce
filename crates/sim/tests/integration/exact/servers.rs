//! Servers with slots: each computation starts at the picosecond at which a slot becomes free for it.

use crate::common::*;
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_results::{Class, FlowRecord, RunRecords};
use duetime_scenario::model::*;

const ROOT: u32 = 0;
const SERVER: u32 = 1;

fn slots(slots: u32, queue: ServerQueue) -> Servers {
    Servers::Slots(Slots { slots, queue })
}

/// Creates recorded queries with one leaf each, all computed at one host, from (start, computation) and with this
/// deadline.
fn leaves(jobs: &[(Span, Span)], deadline: Option<Span>, host: u32) -> WorkloadKind {
    let node = |parent, children, host, compute| RecordedNode {
        parent,
        children,
        host: Some(host),
        request: Bytes(100),
        response: Bytes(100),
        compute,
        took: Span::ZERO,
        waited: Span::ZERO,
        network: None,
    };
    let query = |&(start, compute): &(Span, Span)| RecordedQuery {
        start,
        took: Span::ZERO,
        nodes: vec![node(0, 1, ROOT, Span::ZERO), node(0, 0, host, compute)],
    };
    WorkloadKind::Spans(Spans {
        queries: jobs.iter().map(query).collect(),
        deadline: deadline.map_or(Deadline::None, |base| Deadline::Added { base, added: 0.0 }),
        deadline_from: DeadlineFrom::Query,
        complete_at: 1.0,
        objective: Objective {
            within: Vec::new(),
            answers: 1.0,
            share: None,
        },
        give_up: GiveUp::Never,
        outside: 0,
    })
}

fn star(kinds: Vec<WorkloadKind>, servers: Servers) -> Scenario {
    let star = Topology::Star {
        hosts: 3,
        link: link(Rate::from_gbps(10), Span::from_us(1)),
    };
    let mut scenario = scenario(star, newreno(), kinds);
    scenario.host.servers = servers;
    scenario
}

/// Returns, for each query of a workload, the arrival at its leaf and the start of the answer.
fn served(records: &RunRecords, workload: u16) -> Vec<(Time, Time)> {
    let flows_of_class = |class| {
        let flows = records.flows.iter();
        let mut flows: Vec<&FlowRecord> = flows
            .filter(|flow| flow.workload == workload && flow.class == class)
            .collect();
        flows.sort_by_key(|flow| flow.query);
        flows
    };
    let pairs = flows_of_class(Class::Query)
        .into_iter()
        .zip(flows_of_class(Class::Response));
    pairs
        .map(|(query, answer)| {
            assert_eq!(query.query, answer.query);
            (query.finish.expect("the query arrives"), answer.start)
        })
        .collect()
}

#[test]
fn third_computation_waits_for_a_slot() {
    let (ms, us) = (Span::from_ms, Span::from_us);
    let jobs = [(us(0), ms(4)), (us(100), ms(2)), (us(200), ms(1))];
    let at_once = run(&star(vec![leaves(&jobs, None, SERVER)], Servers::Unlimited));
    let times = served(&at_once.records, 0);
    for ((arrived, answered), (_, compute)) in times.iter().zip(jobs) {
        assert_eq!(*answered, *arrived + compute);
    }
    assert!(at_once.records.servers.is_empty());

    let limited = star(
        vec![leaves(&jobs, None, SERVER)],
        slots(2, ServerQueue::Fifo),
    );
    let output = run(&limited);
    let times = served(&output.records, 0);
    assert_eq!(times[0].1, times[0].0 + ms(4));
    assert_eq!(times[1].1, times[1].0 + ms(2));
    assert_eq!(
        times[2].1,
        times[1].1 + ms(1),
        "starts when the second ends"
    );
    let [servers] = &output.records.servers[..] else {
        panic!("{:?}", output.records.servers)
    };
    let wait = times[1].1.since(times[2].0).as_ps();
    assert_eq!(
        (servers.host.as_str(), servers.slots, servers.computations),
        ("host1", 2, 3)
    );
    assert_eq!((servers.wait_max_ps, servers.queue_max), (wait, 1));
    assert_eq!(servers.wait_mean_ps, wait / 3);
    // Recorded queries are measured to the end of the run.
    let busy = ms(7).as_ps() as f64 / (2.0 * output.records.totals.end.as_ps() as f64);
    assert!((servers.utilisation - busy).abs() < 1e-12, "{servers:?}");
}

#[test]
fn waiting_computations_follow_the_discipline() {
    let (ms, us) = (Span::from_ms, Span::from_us);
    // The first computation occupies the only slot. Then come one with a late deadline, one without, and one with an
    // early deadline.
    let order = |queue| {
        let kinds = vec![
            leaves(&[(us(0), ms(4)), (us(300), ms(1))], None, SERVER),
            leaves(&[(us(200), ms(1))], Some(ms(90)), SERVER),
            leaves(&[(us(400), ms(1))], Some(ms(30)), SERVER),
        ];
        let records = run(&star(kinds, slots(1, queue))).records;
        let answered = |workload, job: usize| served(&records, workload)[job].1;
        let first = answered(0, 0);
        [answered(1, 0), answered(0, 1), answered(2, 0)].map(|at| at.since(first))
    };
    assert_eq!(order(ServerQueue::Fifo), [ms(1), ms(2), ms(3)]);
    assert_eq!(order(ServerQueue::EarliestDeadline), [ms(2), ms(3), ms(1)]);
}

/// Runs a leaf that computes for 3 ms and is hedged after 1 ms. `busy` lists computations at the host of the hedge, as
/// (time after the query's arrival, duration). Returns the records and the times of these computations.
fn hedged(cancel: bool, busy: &[(Span, Span)]) -> (RunRecords, Vec<(Time, Time)>) {
    let mut mixed = mixture(transports().remove(0));
    mixed.workloads.truncate(1);
    let mut kind = mixed.workloads.remove(0).kind;
    let WorkloadKind::Oldi(oldi) = &mut kind else {
        panic!("the first workload is a tree")
    };
    oldi.applications = 1;
    oldi.trees = 1;
    oldi.fan_in = vec![1];
    oldi.layer_share = vec![1.0];
    oldi.response = vec![bytes(1_000)];
    oldi.deadline = vec![Deadline::None];
    oldi.compute = Gap::Fixed(Span::from_ms(3));
    oldi.jitter = Gap::ZERO;
    oldi.share_hosts = false;
    oldi.arrival = QueryArrival::Every(Gap::Fixed(Span::from_ms(400)));
    oldi.hedge = Some(Hedge {
        after: HedgeAfter::Time(Span::from_ms(1)),
        cancel,
        samples: 10,
        window: 50,
    });
    let mut scenario = star(vec![kind], slots(1, ServerQueue::Fifo));
    scenario.duration = Span::from_ms(400);
    let alone = run(&scenario).records;
    let host = hedge_flow(&alone, Class::Query)
        .expect("a hedge")
        .destination;
    let root = alone.queries[0].root;
    let start = alone.queries[0].start.since(Time::ZERO);
    let jobs: Vec<(Span, Span)> = busy
        .iter()
        .map(|&(at, compute)| (start + at, compute))
        .collect();
    let mut kind = leaves(&jobs, None, host);
    if let WorkloadKind::Spans(spans) = &mut kind {
        for query in &mut spans.queries {
            query.nodes[0].host = Some(root);
        }
    }
    scenario.workloads.push(workload(kind));
    let records = run(&scenario).records;
    let times = served(&records, 1);
    (records, times)
}

fn hedge_flow(records: &RunRecords, class: Class) -> Option<&FlowRecord> {
    let mut flows = records.flows.iter();
    flows.find(|flow| flow.workload == 0 && flow.class == class && flow.attempt.0 == 1)
}

/// Returns the hedges of the first query and the computations started for them.
fn computed(records: &RunRecords) -> (u32, u32) {
    let query = &records.queries[0];
    (query.hedges.0, query.extra_computes.0)
}

#[test]
fn cancelled_computation_leaves_the_queue() {
    let ms = Span::from_ms;
    // The hedge arrives after 1 ms and is cancelled after 3 ms. The slot is busy until 10 ms.
    let busy = [(Span::ZERO, ms(10)), (ms(5), ms(1))];
    let (records, times) = hedged(true, &busy);
    assert_eq!(times[1].1, times[0].1 + ms(1), "no computation in between");
    assert!(hedge_flow(&records, Class::Response).is_none());
    assert_eq!(computed(&records), (1, 0));

    let (records, times) = hedged(false, &busy);
    let hedge = hedge_flow(&records, Class::Response)
        .expect("the hedge computes although it is not needed");
    assert_eq!(hedge.start, times[0].1 + ms(3));
    assert_eq!(times[1].1, hedge.start + ms(1));
    assert_eq!(computed(&records), (1, 1));
}

#[test]
fn cancelled_computation_frees_its_slot() {
    let ms = Span::from_ms;
    // The hedge computes from 1 ms on and is cancelled after 3 ms. Another computation arrives at 2 ms.
    let busy = [(ms(2), ms(1))];
    let (records, times) = hedged(true, &busy);
    let cancelled = hedge_flow(&records, Class::Cancel).expect("a cancellation");
    assert_eq!(
        times[0].1,
        cancelled.finish.expect("the cancellation arrives") + ms(1)
    );

    let (records, times) = hedged(false, &busy);
    let hedge = hedge_flow(&records, Class::Query).expect("a hedge").finish;
    assert_eq!(times[0].1, hedge.expect("the query arrives") + ms(4));
}

/// Returns the mixture with waiting computations, hedges and retries.
fn waiting(transport: Transport, queue: ServerQueue) -> Scenario {
    let mut scenario = mixture(transport);
    if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
        oldi.fan_in = vec![3, 3];
        oldi.layer_share = vec![1.0, 0.5];
        oldi.compute = Gap::Exponential(Span::from_us(400));
        oldi.aggregate_compute = Gap::Fixed(Span::from_us(300));
        oldi.hedge = Some(Hedge {
            after: HedgeAfter::Time(Span::from_us(700)),
            cancel: true,
            samples: 10,
            window: 50,
        });
    }
    scenario.host.servers = slots(1, queue);
    scenario
}

#[test]
fn waits_do_not_depend_on_threads() {
    let selected = |transport: &Transport| ["dctcp", "d3"].contains(&transport.name.as_str());
    for transport in transports().into_iter().filter(selected) {
        for queue in [ServerQueue::Fifo, ServerQueue::EarliestDeadline] {
            let scenario = waiting(transport.clone(), queue);
            let alone = run(&scenario);
            let waits = |server: &duetime_results::ServerRecord| server.wait_max_ps > 0;
            assert!(
                alone
                    .records
                    .servers
                    .iter()
                    .filter(|server| waits(server))
                    .count()
                    > 5
            );
            assert_same_when_split(&scenario, &alone.records, &[(2, 1), (4, 1), (1, 3)]);
        }
    }
}

#[test]
fn enough_slots_equal_unlimited_servers() {
    for transport in transports() {
        let mut scenario = waiting(transport, ServerQueue::Fifo);
        // With a delay after it, a computation that took a slot would end in an additional event.
        scenario.host.start_jitter = false;
        if let WorkloadKind::Oldi(oldi) = &mut scenario.workloads[0].kind {
            oldi.jitter = Gap::ZERO;
        }
        scenario.host.servers = slots(100_000, ServerQueue::Fifo);
        let mut enough = run(&scenario).records;
        assert!(enough.servers.iter().all(|server| server.wait_max_ps == 0));
        enough.servers.clear();
        scenario.host.servers = Servers::Unlimited;
        let case = &scenario.transports[0].name;
        assert_same(&enough, &run(&scenario).records, case);
    }
}
