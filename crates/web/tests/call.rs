//! Requests of a page and their responses in JSON.

use duetime_scenario::{NoFiles, load};
use duetime_web::Page;
use serde_json::{Value, json};

const SMALL: &str = r#"# a comment
name = "small"
transport = ["tcp", "d3"]
seeds = 2
duration = "20 ms"
[topology]
kind = "star"
hosts = 12
link = { rate = "1 Gbps", latency = "5 us" }
[switch]
buffer = "60 packets"
[[workload]]
kind = "oldi"
fan_in = 8
trees = 1
response = "20 KB"
deadline = "3 ms"
objective = { within = "3 ms", share = "99 %" }
rate = "300 /s"
"#;

fn call(page: &mut Page, request: &Value) -> Value {
    serde_json::from_str(&page.call(&request.to_string())).expect("an answer is JSON")
}

fn ok(page: &mut Page, request: &Value) -> Value {
    let answer = call(page, request);
    assert_eq!(answer.get("error"), None, "{request}");
    answer["ok"].clone()
}

fn error(page: &mut Page, request: &Value) -> Value {
    let answer = call(page, request);
    assert!(answer["error"]["message"].is_string(), "{answer}");
    answer["error"].clone()
}

fn check(text: &str) -> Value {
    json!({ "ask": "check", "text": text })
}

#[test]
fn study_equals_the_simulator() {
    let mut page = Page::default();
    // The 90th percentile requires 100 queries over both runs.
    let text = SMALL
        .replace("\"20 ms\"", "\"150 ms\"")
        .replace("300 /s", "500 /s");
    let started = ok(
        &mut page,
        &json!({ "ask": "begin", "text": text, "transports": ["d3", "tcp"] }),
    );
    assert_eq!(
        started["transports"],
        json!(["tcp", "d3"]),
        "in the order of the file"
    );
    assert_eq!(
        ok(&mut page, &json!({ "ask": "results" }))["answer"],
        Value::Null
    );
    let scenario = load(&text, "x", &[], &NoFiles).expect("a scenario");
    let mut took = [Vec::new(), Vec::new()];
    for run in 0..2 {
        for (transport, took) in took.iter_mut().enumerate() {
            let request = json!({ "ask": "run", "transport": transport, "run": run });
            let result = ok(&mut page, &request);
            let output =
                duetime_sim::run(&scenario, transport, run, &duetime_sim::Options::default());
            let records = output.expect("a run").records;
            let measured = records.queries.iter().filter(|query| query.measured);
            took.extend(measured.map(|query| {
                query
                    .enough
                    .map_or(f64::INFINITY, |at| at.since(query.start).as_secs_f64())
            }));
            assert_eq!(
                result["digest"],
                duetime_results::digest(&records).to_string()
            );
            // Repeating the request does not change the result.
            assert_eq!(ok(&mut page, &request), result);
        }
        assert_eq!(
            ok(&mut page, &json!({ "ask": "best", "run": run }))["known"],
            true
        );
    }
    let results = ok(&mut page, &json!({ "ask": "results" }));
    assert_eq!((&results["done"], &results["of"]), (&json!(4), &json!(4)));
    let answer = results["answer"].as_str().expect("a sentence");
    assert!(answer.contains(" queries in time under "), "{answer}");
    assert!(answer.contains("; the best possible is "), "{answer}");
    let best = results["best"].as_f64().expect("a share");
    let rows = results["rows"].as_array().expect("rows");
    for (row, took) in rows.iter().zip(&mut took) {
        took.sort_by(f64::total_cmp);
        let share = row["in_time"]["value"].as_f64().expect("a share");
        assert!((0.0..=best).contains(&share), "{row}");
        assert_eq!(row["runs"], 2);
        let asked = row["completions"].as_u64().expect("a count");
        assert_eq!(asked, took.len() as u64);
        let ranks = [(20, 500), (100, 900), (1_000, 990), (10_000, 999)];
        for (at, (needed, per_mille)) in ranks.into_iter().enumerate() {
            let seconds = row["completion_s"][at].as_f64();
            let pooled = duetime_results::stats::nearest_rank(took, per_mille).copied();
            let expected = pooled.filter(|query| asked >= needed && query.is_finite());
            assert_eq!(seconds, expected, "{at} of {row}");
            let ends = &row["completion_intervals_s"][at];
            assert!(
                ends[0].as_f64() <= seconds && seconds <= ends[1].as_f64(),
                "{row}"
            );
        }
    }
    let figure = results["figure"].as_str().expect("a figure");
    assert!(
        figure.starts_with("<svg") && figure.contains("d3"),
        "{figure}"
    );
    assert!(
        figure.contains("share taking longer (%)") && figure.contains("budget"),
        "{figure}"
    );
}

#[test]
fn built_in_transports_can_be_added() {
    let mut page = Page::default();
    let facts = ok(&mut page, &check(SMALL));
    let more = facts["more_transports"].as_array().expect("a list");
    let names: Vec<&str> = more
        .iter()
        .filter_map(|other| other["name"].as_str())
        .collect();
    assert!(
        names.contains(&"homa") && names.contains(&"due"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"tcp") && !names.contains(&"d3"),
        "{names:?}"
    );
    let add = json!({ "ask": "add_transport", "text": SMALL, "transport": "homa" });
    let text = ok(&mut page, &add)["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(text.starts_with("# a comment"), "{text}");
    let facts = ok(&mut page, &check(&text));
    assert_eq!(facts["transports"][2]["name"], "homa");
    let unknown = json!({ "ask": "add_transport", "text": SMALL, "transport": "hom" });
    let text = ok(&mut page, &unknown)["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert_eq!(error(&mut page, &check(&text))["line"], 3);
}

#[test]
fn transports_have_descriptions() {
    let mut page = Page::default();
    let text = SMALL.replace(
        r#"["tcp", "d3"]"#,
        r#"["cubic", "dctcp", "mine", "tcp-prio"]"#,
    );
    let text = format!("{text}[[variant]]\nname = \"mine\"\nbase = \"d2tcp\"\n");
    let facts = ok(&mut page, &check(&text));
    let [cubic, dctcp, mine, classes] = &facts["transports"].as_array().expect("a list")[..] else {
        panic!("{facts}");
    };
    assert_eq!(
        (&cubic["name"], &cubic["needs"]),
        (&json!("cubic"), &json!("nothing"))
    );
    let needs = |transport: &Value| transport["needs"].as_str().expect("text").to_owned();
    assert!(needs(dctcp).contains("ECN marking"), "{dctcp}");
    assert!(needs(mine).contains("eBPF"), "{mine}");
    assert!(needs(classes).ends_with("strict-priority queues in the switches"));
}

#[test]
fn transports_have_their_figure_colours() {
    let mut page = Page::default();
    let text = SMALL.replace(
        r#"["tcp", "d3"]"#,
        r#"["tcp-prio", "cubic", "d3", "rcpdc-prio"]"#,
    );
    let facts = ok(&mut page, &check(&text));
    let colour = |at: usize| facts["transports"][at]["colour"].as_str().expect("text");
    // The report uses the same palette.
    let names = ["tcp-prio", "cubic", "d3", "rcpdc-prio"];
    let looks = duetime_figures::Palette::of_transports().looks(&names);
    for (at, look) in looks.iter().enumerate() {
        assert_eq!(colour(at), look.colour.svg(), "{}", names[at]);
    }
    // A figure with a single transport keeps its colour.
    ok(
        &mut page,
        &json!({ "ask": "begin", "text": text, "transports": ["rcpdc-prio"] }),
    );
    ok(
        &mut page,
        &json!({ "ask": "run", "transport": 0, "run": 0 }),
    );
    let results = ok(&mut page, &json!({ "ask": "results" }));
    let figure = results["figure"].as_str().expect("a figure");
    assert!(figure.contains(colour(3)), "{figure}");
}

#[test]
fn results_include_only_complete_seeds() {
    let mut page = Page::default();
    let begin = json!({ "ask": "begin", "text": SMALL, "transports": [] });
    ok(&mut page, &begin);
    // Executes a run and its bound, and returns the results.
    let mut after = |transport: usize, run: u64| {
        ok(
            &mut page,
            &json!({ "ask": "run", "transport": transport, "run": run }),
        );
        ok(&mut page, &json!({ "ask": "best", "run": run }));
        ok(&mut page, &json!({ "ask": "results" }))
    };
    let one = after(0, 0);
    assert_eq!(one["rows"].as_array().expect("rows").len(), 1);
    let first = after(1, 0);
    // The second seed of only one transport changes only the count of runs.
    let mut half = after(0, 1);
    assert_eq!((&first["done"], &half["done"]), (&json!(2), &json!(3)));
    half["done"] = first["done"].clone();
    assert_eq!(half, first);
    let both = after(1, 1);
    for (results, runs) in [(&first, 1), (&both, 2)] {
        let rows = results["rows"].as_array().expect("rows");
        assert!(rows.len() == 2 && rows.iter().all(|row| row["runs"] == runs));
    }
    assert_ne!(both["rows"], first["rows"]);
}

#[test]
fn errors_have_positions() {
    let mut page = Page::default();
    let broken = SMALL.replace("fan_in = 8", "fan_in = 80");
    let response = error(&mut page, &check(&broken));
    assert_eq!(
        (&response["line"], &response["allowed"]),
        (&json!(14), &json!("1..=11")),
        "{response}"
    );
    let broken = SMALL.replace("\"20 KB\"", "\"20 KX\"");
    let response = error(&mut page, &check(&broken));
    assert_eq!(
        (&response["line"], &response["key"]),
        (&json!(16), &json!("workload.response")),
        "{response}"
    );
    assert!(response["allowed"].is_string(), "{response}");
    let response = error(&mut page, &check("name = \"x\"\nname ="));
    assert_eq!(response["line"], 2);
    let response = error(
        &mut page,
        &check(&format!("{SMALL}\n[record]\nlinks = [\"host0->moon\"]\n")),
    );
    assert_eq!(
        (&response["line"], &response["key"]),
        (&json!(22), &json!("record.links")),
        "{response}"
    );
    // Pages cannot read files.
    let response = error(
        &mut page,
        &check(&SMALL.replace("\"20 KB\"", "{ cdf = \"sizes.cdf\" }")),
    );
    assert!(
        response["message"]
            .as_str()
            .expect("text")
            .contains("no files"),
        "{response}"
    );
}

#[test]
fn large_scenarios_are_refused_with_the_limit() {
    let mut page = Page::default();
    let cases = [
        (SMALL.replace("seeds = 2", "seeds = 1000"), "seeds", "at most 50 "),
        (SMALL.replace("hosts = 12", "hosts = 60000"), "hosts", "at most 2048 "),
        (SMALL.replace("300 /s", "10000000 /s"), "flows", "at most 200000 "),
        (SMALL.replace("20 KB", "900 MB"), "hops", "at most 30000000 "),
        (
            "name = \"long\"\ntransport = \"tcp\"\nduration = \"100 s\"\n[topology]\nkind = \"star\"\nhosts = 3\n\
             link = { rate = \"100 Gbps\", latency = \"5 us\" }\n[[workload]]\nkind = \"long\"\npairs = [[0, 1]]\n"
                .to_owned(),
            "hops",
            "at most 30000000 ",
        ),
        (format!("{SMALL}{}", "#".repeat(300_000)), "bytes", "at most 262144 bytes"),
    ];
    for (text, limit, allowed) in cases {
        let response = error(&mut page, &check(&text));
        let message = response["message"].as_str().expect("text");
        assert!(
            message.contains("too large for a page") && message.contains(limit),
            "{response}"
        );
        assert!(
            response["allowed"]
                .as_str()
                .expect("text")
                .starts_with(allowed),
            "{response}"
        );
        let started = call(
            &mut page,
            &json!({ "ask": "begin", "text": text, "transports": [] }),
        );
        assert!(
            started["error"].is_object(),
            "{limit}: also refused by begin"
        );
    }
}

#[test]
fn malformed_requests_are_errors() {
    let mut page = Page::default();
    for request in [
        "",
        "{",
        "[]",
        "{\"ask\":\"everything\"}",
        "{\"ask\":\"run\",\"transport\":-1,\"run\":0}",
    ] {
        let answer: Value = serde_json::from_str(&page.call(request)).expect("JSON");
        assert!(
            answer["error"]["message"]
                .as_str()
                .expect("text")
                .contains("request"),
            "{answer}"
        );
    }
    for request in [
        json!({ "ask": "run", "transport": 0, "run": 0 }),
        json!({ "ask": "results" }),
        json!({ "ask": "window", "from_ns": 0, "to_ns": 1 }),
        json!({ "ask": "begin", "text": SMALL, "transports": ["d4"] }),
        json!({ "ask": "story", "story": "d3-fig99", "panel": null, "scheme": "d3" }),
        json!({ "ask": "story", "story": "d3-fig01", "panel": "slack", "scheme": "optimum" }),
    ] {
        error(&mut page, &request);
    }
    ok(
        &mut page,
        &json!({ "ask": "begin", "text": SMALL, "transports": [] }),
    );
    error(
        &mut page,
        &json!({ "ask": "run", "transport": 2, "run": 0 }),
    );
    error(
        &mut page,
        &json!({ "ask": "run", "transport": 0, "run": 2 }),
    );
    error(&mut page, &json!({ "ask": "best", "run": 2 }));
    // The page still works.
    ok(
        &mut page,
        &json!({ "ask": "run", "transport": 0, "run": 0 }),
    );
}

#[test]
fn ready_scenarios_are_valid() {
    let mut page = Page::default();
    let ready = ok(&mut page, &json!({ "ask": "ready" }));
    let scenarios = ready["scenarios"].as_array().expect("a list");
    assert!(scenarios.len() >= 5);
    for scenario in scenarios {
        let facts = ok(&mut page, &check(scenario["text"].as_str().expect("text")));
        assert_eq!(facts["measures_nothing"], false, "{}", scenario["id"]);
    }
}
