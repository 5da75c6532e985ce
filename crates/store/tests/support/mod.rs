//! Scratch directories, and a run with records in every table.

use std::path::{Path, PathBuf};

use duetime_core::Time;
use duetime_results::{
    Class, FlowRecord, PortRecord, QueryRecord, RunRecords, SeriesSample, ServerRecord, Totals,
};
use duetime_store::{IfExists, Manifest, RunFolder, RunNotes};
use serde_json::json;

/// Empty directory for one test, removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn manifest() -> Manifest {
    let mut manifest = Manifest::new(
        "fan-out",
        json!({"workloads": [{"name": "oldi", "fan_in": [40]}]}),
        "name = \"fan-out\"\n",
    );
    manifest.seeds = 3;
    manifest.transports = vec!["tcp".to_owned(), "d2tcp".to_owned()];
    manifest
}

pub fn new_folder(path: &Path) -> RunFolder {
    RunFolder::create(path, IfExists::Refuse, &manifest()).unwrap()
}

pub fn notes() -> RunNotes {
    RunNotes {
        digest: "00c0ffee".to_owned(),
        complete: true,
        wall_seconds: 0.25,
        threads: 1,
    }
}

/// Returns records with every optional value once present and once missing, and times that are not whole nanoseconds.
pub fn records() -> RunRecords {
    let flow = FlowRecord {
        flow: 3 << 32 | 1,
        workload: 0,
        class: Class::Response,
        query: Some(17),
        source: 3,
        destination: 9,
        size_bytes: 10_000,
        delivered_bytes: 10_000,
        start: Time::from_ps(1_234_567_891),
        finish: Some(Time::from_ps(2_234_567_890)),
        deadline: Some(Time::from_ps(2_234_567_891)),
        quenched: false,
        measured: true,
        timeouts: 1,
        retransmits: 2,
        marks: 3,
        denials: 4,
        inversions: 5,
        requests: 6,
        leaves: 12,
        attempt: 1.into(),
        spare: true.into(),
    };
    let unfinished = FlowRecord {
        flow: 4 << 32,
        class: Class::Long,
        query: None,
        size_bytes: u64::MAX,
        finish: None,
        deadline: None,
        measured: false,
        ..flow.clone()
    };
    let query = QueryRecord {
        query: 17,
        workload: 0,
        application: 2,
        root: 9,
        start: Time::from_ps(999),
        complete: None,
        children: 40,
        answered: 39,
        in_time: 38,
        measured: true,
        asked: 840,
        leaves: 800,
        needed: 792,
        judged: true,
        due: Some(Time::from_ps(5_000_000_999)),
        enough: None,
        leaves_answered: 780,
        leaves_in_time: 750,
        gave_up: 3,
        hedges: 40.into(),
        hedges_won: 30.into(),
        retries: 7.into(),
        retries_won: 5.into(),
        extra_computes: 41.into(),
    };
    let port = PortRecord {
        link: "tor0->host \"9\", b".to_owned(),
        packets: 70,
        bytes: 105_000,
        drops: 1,
        drop_bytes: 1_500,
        losses: 2,
        loss_bytes: 3_000,
        marks: 4,
        queue_max_bytes: 30_000,
        queue_mean_bytes: 1_234.567_89,
        utilisation: 1.0 / 3.0,
    };
    let sample = |link, ps, sent_bytes| SeriesSample {
        link,
        at: Time::from_ps(ps),
        queue_bytes: 1_500,
        queue_packets: 1,
        sent_bytes,
    };
    RunRecords {
        flows: vec![flow, unfinished],
        queries: vec![
            query.clone(),
            QueryRecord {
                query: 18,
                complete: Some(Time::from_ps(5_000_999)),
                ..query
            },
        ],
        ports: vec![port],
        servers: vec![ServerRecord {
            host: "host3".to_owned(),
            slots: 8,
            computations: u64::MAX,
            wait_mean_ps: 1_234,
            wait_max_ps: u64::MAX,
            queue_max: 17,
            utilisation: 2.0 / 3.0,
        }],
        sampled_links: vec![
            "a->b".to_owned(),
            "never sampled".to_owned(),
            "b->c".to_owned(),
        ],
        series: vec![
            sample(0, 0, 0),
            sample(0, 1_000_000, 125),
            sample(2, 1_000_000, 0),
        ],
        totals: Totals {
            end: Time::from_ps(u64::MAX),
            packet_hops: 1,
            events: 2,
            injected_bytes: 3,
            arrived_bytes: 4,
            dropped_bytes: 5,
            in_flight_bytes: 6,
        },
    }
}
