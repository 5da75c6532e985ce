//! The papers' small experiments packet by packet, compared with the papers and with the port's counters.

use duetime_web::Page;
use serde_json::{Value, json};

fn ok(page: &mut Page, request: &Value) -> Value {
    let answer: Value = serde_json::from_str(&page.call(&request.to_string())).expect("JSON");
    assert_eq!(answer.get("error"), None, "{request}");
    answer["ok"].clone()
}

fn play(page: &mut Page, id: &str, panel: Option<&str>, scheme: &str) -> Value {
    ok(
        page,
        &json!({ "ask": "story", "story": id, "panel": panel, "scheme": scheme }),
    )
}

fn met(story: &Value) -> Vec<bool> {
    let flows = story["port"]["flows"].as_array().expect("flows");
    flows
        .iter()
        .map(|flow| flow["met"].as_bool().expect("a deadline"))
        .collect()
}

fn sum(list: &Value) -> u64 {
    let list = list.as_array().expect("numbers");
    list.iter()
        .map(|number| number.as_u64().expect("a number"))
        .sum()
}

#[test]
fn d3_meets_both_deadlines_of_figure_1() {
    let mut page = Page::default();
    let story = play(&mut page, "d3-fig01", Some("slack"), "d3");
    assert_eq!(
        (met(&story), &story["in_time"]),
        (vec![true, true], &json!(2))
    );
    // 1 MB in 12 ms requires two thirds of the link, more than an equal share.
    let granted = story["port"]["granted_bps"][0].as_array().expect("rates");
    let largest = granted
        .iter()
        .filter_map(Value::as_u64)
        .max()
        .expect("a rate");
    assert!((600_000_000..1_000_000_000).contains(&largest), "{largest}");
    for scheme in ["rcpdc", "tcp", "dctcp"] {
        let story = play(&mut page, "d3-fig01", Some("slack"), scheme);
        assert_eq!(met(&story), [false, true], "{scheme}");
    }
}

#[test]
fn equal_shares_of_figure_2_meet_no_deadline() {
    let mut page = Page::default();
    let story = play(&mut page, "d3-fig02", None, "rcpdc");
    assert_eq!(met(&story), [false; 6]);
    let story = play(&mut page, "d3-fig02", None, "d3-quench");
    let flows = story["port"]["flows"].as_array().expect("flows");
    assert!(
        flows.iter().any(|flow| flow["quenched"] == true),
        "{flows:?}"
    );
}

#[test]
fn packets_agree_with_counters() {
    let mut page = Page::default();
    for (id, panel, scheme) in [
        ("d3-fig01", Some("slack"), "dctcp"),
        ("d3-fig02", None, "tcp"),
    ] {
        let story = play(&mut page, id, panel, scheme);
        let port = &story["port"];
        let packets = port["packets"].as_u64().expect("a number");
        let end = port["end_ns"].as_u64().expect("a time");
        let mut seen: Vec<Value> = Vec::new();
        let mut from = 0;
        while from < end {
            let window = ok(
                &mut page,
                &json!({ "ask": "window", "from_ns": from, "to_ns": end }),
            );
            let to = window["to_ns"].as_u64().expect("a time");
            let list = window["packets"].as_array().expect("packets");
            assert!(list.len() <= 4_000);
            seen.extend(
                list.iter()
                    .filter(|packet| !seen.contains(packet))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            if to == end {
                break;
            }
            from = to;
        }
        assert_eq!(seen.len() as u64, packets, "{id}");
        // Packets do not overlap on the link.
        let time = |packet: &Value, index: usize| packet[index].as_f64().expect("a time");
        for pair in seen.windows(2) {
            assert!(time(&pair[1], 1) >= time(&pair[0], 2) - 0.001, "{pair:?}");
        }
        for packet in &seen {
            assert!(
                time(packet, 0) <= time(packet, 1) && time(packet, 1) < time(packet, 2),
                "{packet}"
            );
        }
        let marked = seen.iter().filter(|packet| packet[5] == 1).count() as u64;
        assert_eq!(sum(&port["marks"]), marked, "{id}");
        assert_eq!(marked > 0, scheme == "dctcp", "{id}");
        for (flow, delivered) in port["flows"]
            .as_array()
            .expect("flows")
            .iter()
            .zip(port["delivered_bytes"].as_array().expect("bytes"))
        {
            let last = delivered.as_array().expect("bytes").last().expect("some");
            assert_eq!(last, &flow["bytes"], "the whole flow is delivered");
        }
    }
}

/// The four flows of the figure transmit at 4 Gbps for three seconds, which is slow without optimisation.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "slow without optimisation; script/browser playground plays it in the browser"
)]
fn d2tcp_finishes_near_flows_of_figure_6_sooner() {
    let mut page = Page::default();
    let mut ends = |scheme: &str| {
        let story = play(&mut page, "d2tcp-fig06", Some("4-gbps"), scheme);
        let flows = story["port"]["flows"].as_array().expect("flows").clone();
        let ends = flows
            .iter()
            .map(|flow| flow["finish_ns"].as_u64().expect("the flow finishes"));
        (ends.collect::<Vec<_>>(), met(&story))
    };
    let (dctcp, met) = ends("dctcp");
    assert_eq!(met, [false, false, true, true]);
    let (d2tcp, _) = ends("d2tcp");
    assert!(
        d2tcp[0] < dctcp[0] && d2tcp[1] < dctcp[1],
        "{d2tcp:?} {dctcp:?}"
    );
}
