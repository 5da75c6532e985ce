//! A one-host service that is a textbook queue, with the theoretical mean waits.

/// Mean computation time in seconds.
pub const MEAN_S: f64 = 100e-6;

/// Returns a scenario of Poisson queries to one leaf with `slots` servers, over a network that takes almost no time.
pub fn service(
    slots: u32,
    utilisation: f64,
    compute: &str,
    warm_up_ms: f64,
    measured_s: f64,
) -> String {
    let rate = utilisation * f64::from(slots) / MEAN_S;
    format!(
        r#"
transport = ["tcp"]
warm_up = "{warm_up_ms} ms"
duration = "{} ms"
[topology]
kind = "star"
hosts = 2
link = {{ rate = "100 Gbps", latency = "100 ns" }}
[host]
receive_jitter = "0 ps"
send_jitter = "0 ps"
start_jitter = false
servers = {{ slots = {slots} }}
[[workload]]
kind = "oldi"
fan_in = 1
rate = "{rate} /s"
query = "1 B"
response = "1 B"
compute = "{compute}"
"#,
        measured_s * 1e3 + warm_up_ms
    )
}

/// Returns the mean wait of M/M/c in units of the mean computation time (Erlang C).
pub fn mmc(slots: u32, utilisation: f64) -> f64 {
    let offered = f64::from(slots) * utilisation;
    // Erlang's B formula by recursion.
    let blocked = (1..=slots).fold(1.0, |blocked, servers| {
        offered * blocked / (f64::from(servers) + offered * blocked)
    });
    let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
    waits / (f64::from(slots) * (1.0 - utilisation))
}

/// Returns the mean wait of M/D/1 in units of the computation time (Pollaczek and Khinchine).
pub fn md1(utilisation: f64) -> f64 {
    utilisation / (2.0 * (1.0 - utilisation))
}
