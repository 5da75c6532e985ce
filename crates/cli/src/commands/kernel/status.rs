//! `duetime kernel status`: sockets that use the congestion controllers, as a table, JSON or Prometheus metrics.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use serde_json::Value;

use super::serve::ask;
use crate::args::kernel::Status;
use crate::failure::Failure;
use crate::metrics::{bind, encode, page, serve};
use crate::table::{Align, Table};
use crate::terminal::stdout;

/// Runs `duetime kernel status`.
pub fn status(args: &Status) -> Result<(), Failure> {
    if let Some(address) = args.prometheus {
        return serve_metrics(address);
    }
    loop {
        let status = ask("status")?;
        let mut out = stdout();
        if args.json {
            return Ok(writeln!(out, "{status}")?);
        }
        if args.watch {
            // Move to the top left and clear the screen.
            write!(out, "\x1b[H\x1b[J")?;
        }
        write!(out, "{}", table(&status))?;
        out.flush()?;
        if !args.watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Returns a number of a JSON object, or 0 if it is absent.
fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn sockets(status: &Value) -> &[Value] {
    status["sockets"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the reason if the kernel does not list the sockets.
fn unlisted(status: &Value) -> Option<&str> {
    status["sockets_error"].as_str()
}

/// Names of TCP's states (`include/net/tcp_states.h`), which are numbered from 1.
const STATES: [&str; 12] = [
    "established",
    "syn-sent",
    "syn-recv",
    "fin-wait-1",
    "fin-wait-2",
    "time-wait",
    "close",
    "close-wait",
    "last-ack",
    "listen",
    "closing",
    "new-syn-recv",
];
const ESTABLISHED: u64 = 1;

fn state(socket: &Value) -> &'static str {
    let number = socket["tcp_state"].as_u64().unwrap_or(0);
    let index = usize::try_from(number).unwrap_or(0).wrapping_sub(1);
    STATES.get(index).copied().unwrap_or("")
}

/// Renders the table.
fn table(status: &Value) -> String {
    let mut table = Table::new(&[
        ("controller", Align::Left),
        ("local", Align::Left),
        ("remote", Align::Left),
        ("state", Align::Left),
        ("ECN", Align::Left),
        ("α", Align::Right),
        ("d", Align::Right),
        ("left", Align::Right),
        ("remaining", Align::Right),
        ("window", Align::Right),
        ("RTT", Align::Right),
        ("marked", Align::Right),
        ("reductions", Align::Right),
        ("losses", Align::Right),
    ]);
    let mut without = 0;
    for socket in sockets(status) {
        let ecn = socket["ecn"] == true;
        without += usize::from(!ecn && socket["tcp_state"] == ESTABLISHED);
        let message = !socket["left_us"].is_null();
        let delivered = number(socket, "delivered_packets").max(1.0);
        table.row(vec![
            text(socket, "congestion_control").to_owned(),
            text(socket, "local").to_owned(),
            text(socket, "remote").to_owned(),
            state(socket).to_owned(),
            if ecn { "yes" } else { "NO" }.to_owned(),
            format!("{:.3}", number(socket, "alpha")),
            format!("{:.2}", number(socket, "imminence")),
            if message {
                format!("{:.1} ms", number(socket, "left_us") / 1e3)
            } else {
                String::new()
            },
            if message {
                format!("{} B", socket["remaining_bytes"])
            } else {
                String::new()
            },
            socket["cwnd_segments"].to_string(),
            format!("{:.2} ms", number(socket, "srtt_us") / 1e3),
            format!(
                "{:.1} %",
                100.0 * number(socket, "marked_packets") / delivered
            ),
            socket["reductions"].to_string(),
            socket["losses"].to_string(),
        ]);
    }
    let mut shown = format!(
        "attached for {} s by process {}; rules of the policy: {}\n",
        status["attached_s"], status["pid"], status["rules"]
    );
    if let Some(error) = unlisted(status) {
        let _ = writeln!(shown, "{error}");
    } else if sockets(status).is_empty() {
        shown.push_str("no socket uses duetime_dctcp or duetime_d2tcp\n");
    } else {
        let _ = write!(shown, "{table}");
    }
    if without > 0 {
        let _ = writeln!(
            shown,
            "{without} established without ECN, so marks cannot reach them: select the controller at both ends, including the \
             listening socket"
        );
    }
    shown
}

/// Counters of a controller: name without the suffix `_total`, help text, key of the JSON object.
const COUNTERS: [(&str, &str, &str); 8] = [
    (
        "duetime_connections",
        "Connections that selected the congestion control",
        "opened",
    ),
    ("duetime_acked_bytes", "Bytes acknowledged", "acked_bytes"),
    (
        "duetime_delivered_packets",
        "Packets delivered",
        "delivered_packets",
    ),
    (
        "duetime_marked_packets",
        "Packets delivered with a mark",
        "marked_packets",
    ),
    (
        "duetime_reductions",
        "Window reductions because of marks",
        "reductions",
    ),
    (
        "duetime_losses",
        "Windows halved by loss, and timeouts",
        "losses",
    ),
    (
        "duetime_deadlines_met",
        "Messages acknowledged by their deadlines",
        "deadlines_met",
    ),
    (
        "duetime_deadlines_missed",
        "Messages acknowledged after their deadlines, or not at all",
        "deadlines_missed",
    ),
];

/// Metrics of the answer to `status`. Labels do not grow with the number of sockets.
#[derive(Debug)]
struct Metrics(Value);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let status = &self.0;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let help = "Version that attached the congestion controls";
        let info = [(version, 1_u64)].into_iter();
        encode(&mut encoder, ("duetime_build_info", Gauge, help), info)?;
        for (name, help, key) in [
            (
                "duetime_attached_seconds",
                "Time since the congestion controls were attached",
                "attached_s",
            ),
            (
                "duetime_policy_generation",
                "Policies since then, 0 without one",
                "policy_generation",
            ),
            ("duetime_policy_rules", "Rules of the policy", "rules"),
        ] {
            let value = [(NO_LABELS, number(status, key))].into_iter();
            encode(&mut encoder, (name, Gauge, help), value)?;
        }
        let totals = status["totals"].as_array().map_or(&[][..], Vec::as_slice);
        let control = |total| [("congestion_control", text(total, "congestion_control"))];
        // Without the values of a controller, it has no lines: the numbers are unknown.
        let open = totals.iter().filter_map(|total| {
            let (opened, closed) = (total["opened"].as_u64()?, total["closed"].as_u64()?);
            Some((control(total), opened.saturating_sub(closed)))
        });
        let help = "Open connections that use the congestion control";
        encode(&mut encoder, ("duetime_sockets", Gauge, help), open)?;
        for (name, help, key) in COUNTERS {
            let values = totals
                .iter()
                .filter_map(|total| Some((control(total), total[key].as_u64()?)));
            encode(&mut encoder, (name, Counter, help), values)?;
        }
        Ok(())
    }
}

const NO_LABELS: [(&str, &str); 0] = [];

fn serve_metrics(address: SocketAddr) -> Result<(), Failure> {
    ask("status")?;
    let (server, url) = bind(address)?;
    writeln!(stdout(), "serving metrics at {url}; press Ctrl-C to stop")?;
    serve(server, || Ok(page(Metrics(ask("status")?))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example(ecn: bool) -> Value {
        json!({
            "pid": 7, "attached_s": 12, "rules": 1,
            "sockets": [{
                "congestion_control": "duetime_d2tcp", "local": "10.0.0.1:9000", "remote": "10.0.0.2:40000",
                "network_namespace": 4_026_531_840_u64, "tcp_state": 1, "ecn": ecn, "alpha": 0.25, "imminence": 1.5,
                "remaining_bytes": 5_000, "left_us": -2_500, "cwnd_segments": 12, "srtt_us": 1_200,
                "acked_bytes": 90_000, "delivered_packets": 80, "marked_packets": 20, "reductions": 3, "losses": 0,
            }],
        })
    }

    #[test]
    fn table_warns_about_missing_ecn() {
        let shown = table(&example(true));
        assert!(
            shown.contains("25.0 %") && shown.contains("-2.5 ms"),
            "{shown}"
        );
        assert!(!shown.contains("without ECN"), "{shown}");
        assert!(table(&example(false)).contains("1 established without ECN"));
    }

    #[test]
    fn unlisted_sockets_are_not_zero() {
        let status = json!({
            "pid": 7, "attached_s": 12, "rules": 1, "sockets": null, "sockets_error": "not permitted",
        });
        let shown = table(&status);
        assert!(shown.ends_with("\nnot permitted\n"), "{shown}");
    }

    #[test]
    fn metrics_have_one_line_per_controller() {
        let total = |name: &str, met: u64| {
            json!({
                "congestion_control": name, "opened": 9, "closed": 4, "acked_bytes": 90_000, "delivered_packets": 80,
                "marked_packets": 20, "reductions": 3, "losses": 0, "deadlines_met": met, "deadlines_missed": 1,
            })
        };
        let mut status = example(true);
        status["policy_generation"] = json!(2);
        status["totals"] = json!([total("duetime_dctcp", 0), total("duetime_d2tcp", 7)]);
        let shown = page(Metrics(status));
        let version = env!("CARGO_PKG_VERSION");
        for line in [
            format!("duetime_build_info{{version=\"{version}\"}} 1"),
            "duetime_attached_seconds 12.0".to_owned(),
            "duetime_policy_generation 2.0".to_owned(),
            "duetime_sockets{congestion_control=\"duetime_dctcp\"} 5".to_owned(),
            "duetime_deadlines_met_total{congestion_control=\"duetime_d2tcp\"} 7".to_owned(),
            "duetime_acked_bytes_total{congestion_control=\"duetime_d2tcp\"} 90000".to_owned(),
        ] {
            assert!(
                shown.lines().any(|found| found == line),
                "{line} in\n{shown}"
            );
        }
        let values = shown.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(values.count(), 4 + 2 * (1 + COUNTERS.len()), "{shown}");

        let unknown = json!({ "totals": [{ "congestion_control": "duetime_dctcp" }] });
        let shown = page(Metrics(unknown));
        assert!(!shown.contains("duetime_dctcp"), "{shown}");
    }
}
