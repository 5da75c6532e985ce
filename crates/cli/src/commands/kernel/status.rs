//! `duetime kernel status`: sockets that use the congestion controllers, as a table, JSON or Prometheus metrics.

use std::fmt::{self, Write as _};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::{self, Counter, Gauge};
use serde_json::Value;

use super::serve::ask;
use crate::args::kernel::Status;
use crate::failure::Failure;
use crate::metrics::{bind, encode, page, serve};
use crate::table::{Align, Table};
use crate::terminal::{stderr, stdout};

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

/// Metrics of a socket: name, type, help text, key of the JSON object, unit of its value.
const METRICS: [(&str, MetricType, &str, &str, f64); 11] = [
    (
        "duetime_socket_alpha",
        Gauge,
        "Average marked fraction",
        "alpha",
        1.0,
    ),
    (
        "duetime_socket_imminence",
        Gauge,
        "Deadline imminence d of the last reduction",
        "imminence",
        1.0,
    ),
    (
        "duetime_socket_ecn",
        Gauge,
        "1 if ECN was negotiated",
        "ecn",
        1.0,
    ),
    (
        "duetime_socket_window_segments",
        Gauge,
        "Congestion window",
        "cwnd_segments",
        1.0,
    ),
    (
        "duetime_socket_rtt_seconds",
        Gauge,
        "Smoothed round-trip time",
        "srtt_us",
        1e-6,
    ),
    (
        "duetime_socket_acked_bytes",
        Counter,
        "Bytes acknowledged",
        "acked_bytes",
        1.0,
    ),
    (
        "duetime_socket_delivered_packets",
        Counter,
        "Packets delivered",
        "delivered_packets",
        1.0,
    ),
    (
        "duetime_socket_marked_packets",
        Counter,
        "Packets delivered with a mark",
        "marked_packets",
        1.0,
    ),
    (
        "duetime_socket_reductions",
        Counter,
        "Window reductions because of marks",
        "reductions",
        1.0,
    ),
    (
        "duetime_socket_losses",
        Counter,
        "Windows halved by loss, and timeouts",
        "losses",
        1.0,
    ),
    (
        "duetime_socket_deadline_seconds",
        Gauge,
        "Time until the deadline, negative after the deadline",
        "left_us",
        1e-6,
    ),
];

/// Metrics of the answer to `status`.
#[derive(Debug)]
struct Sockets(Value);

impl Collector for Sockets {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let sockets = sockets(&self.0);
        let help = "Sockets that use the congestion controllers";
        // Without a list, the numbers are unknown.
        let names = ["duetime_dctcp", "duetime_d2tcp"].into_iter();
        let names = names.filter(|_| unlisted(&self.0).is_none());
        let using = names.map(|name| {
            let using = sockets.iter();
            let using = using.filter(|socket| text(socket, "congestion_control") == name);
            ([("congestion_control", name)], using.count() as u64)
        });
        encode(&mut encoder, ("duetime_sockets", Gauge, help), using)?;
        for (name, kind, help, key, unit) in METRICS {
            let values = sockets.iter().filter_map(|socket| {
                let value = match &socket[key] {
                    Value::Null => return None,
                    Value::Bool(set) => f64::from(u8::from(*set)),
                    value => value.as_f64().unwrap_or(0.0) * unit,
                };
                let labels = ["congestion_control", "local", "remote"];
                let labels = labels.map(|key| (key, text(socket, key)));
                let namespace = socket["network_namespace"].as_u64();
                Some(((labels, [("network_namespace", namespace)]), value))
            });
            encode(&mut encoder, (name, kind, help), values)?;
        }
        Ok(())
    }
}

fn serve_metrics(address: SocketAddr) -> Result<(), Failure> {
    let status = ask("status")?;
    let (server, url) = bind(address)?;
    writeln!(stdout(), "serving metrics at {url}; press Ctrl-C to stop")?;
    if let Some(error) = unlisted(&status) {
        writeln!(stderr(), "note: {error}")?;
    }
    serve(server, || Ok(page(Sockets(ask("status")?))))
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
        let page = page(Sockets(status));
        assert!(page.lines().all(|line| line.starts_with('#')), "{page}");
    }

    #[test]
    fn metrics_have_units_and_labels() {
        let page = page(Sockets(example(true)));
        let labels = "congestion_control=\"duetime_d2tcp\",local=\"10.0.0.1:9000\",remote=\"10.0.0.2:40000\",\
                      network_namespace=\"4026531840\"";
        for line in [
            "duetime_sockets{congestion_control=\"duetime_d2tcp\"} 1".to_owned(),
            format!("duetime_socket_ecn{{{labels}}} 1.0"),
            format!("duetime_socket_deadline_seconds{{{labels}}} -0.0025"),
            format!("duetime_socket_marked_packets_total{{{labels}}} 20.0"),
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
        }
    }
}
