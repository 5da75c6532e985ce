use super::*;

const GOOD: &str = r#"
[port]
rate = "100 Mbps"
latency = "20 us"
buffer = "100 packets"
ecn_threshold = "30 KB"

[switch]
name = "s"
shared_buffer = "4 MB"
shared_alpha = 2
overhead = "38 B"
uplink_rate = "1 Gbps"
real_time = false

[d3]
update_interval = "2 ms"
scale = -3
police = "2 Mbps"

[[interface]]
name = "veth0"
host = "web"
address = "10.0.0.1"
mac = "02:00:00:00:00:0a"
d3 = true

[[interface]]
name = "veth1"
rate = "25 Mbps"
latency = "1 ms"
classes = 8
loss = 0.01
"#;

#[test]
fn parses_all_keys() {
    let config = Config::parse(GOOD, "switch.toml").expect("a valid file");
    let node = &config.nodes[0];
    assert_eq!(node.name, "s");
    let shared = SharedBufferConfig {
        bytes: 4_000_000,
        alpha: 2.0,
    };
    assert_eq!(node.shared_buffer, Some(shared));
    assert_eq!(
        (config.options.overhead_bytes, config.options.real_time),
        (38, false)
    );
    assert_eq!(
        (config.d3().interval(), config.d3().wire.scale),
        (Span::from_ms(2), Some(-3))
    );
    assert_eq!(config.options.d3.router.police, Some(Rate::from_mbps(2)));
    let first = PortConfig {
        rate: Rate::from_mbps(100),
        latency: Span::from_us(20),
        loss: 0.0,
        limit: Limit::Packets(100),
        mark_at: Some(Limit::Bytes(30_000)),
        classes: 1,
        d3: true,
        to: End::Interface(0),
    };
    let second = PortConfig {
        rate: Rate::from_mbps(25),
        latency: Span::from_ms(1),
        loss: 0.01,
        classes: 8,
        d3: false,
        to: End::Interface(1),
        ..first.clone()
    };
    assert_eq!(node.ports, [first, second]);
    let [web, other] = &config.interfaces[..] else {
        panic!("two interfaces");
    };
    assert_eq!((web.name.as_str(), web.host.as_str()), ("veth0", "web"));
    assert_eq!(
        web.address.map(|address| address.octets()),
        Some([10, 0, 0, 1])
    );
    assert_eq!(web.mac, Some([2, 0, 0, 0, 0, 10]));
    let unknown = (other.host.as_str(), other.address, other.mac);
    assert_eq!(unknown, ("veth1", None, None));
    assert_eq!(
        (other.uplink.latency, other.uplink.loss),
        (Span::from_ms(1), 0.01),
        "like the downlink"
    );
    assert_eq!(other.uplink.rate, Rate::from_gbps(1));
}

#[test]
fn example_of_the_guide_is_valid() {
    let document = include_str!("../../../../docs/switch.md");
    let block = document
        .split("```toml")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let config = Config::parse(block.expect("a block"), "docs/switch.md");
    assert_eq!(config.map(|config| config.interfaces.len()), Ok(2));
}

#[test]
fn errors_name_the_line() {
    let error = |from: &str, to: &str| {
        assert!(GOOD.contains(from), "{from}");
        let wrong = Config::parse(&GOOD.replacen(from, to, 1), "f.toml");
        wrong.expect_err("an invalid file").to_string()
    };
    let cases = [
        (
            "\"100 Mbps\"",
            "100",
            "f.toml:3:8: rate = 100: a rate starts with a number",
        ),
        (
            "\"100 Mbps\"",
            "\"100 MBps\"",
            "`MBps` is not a unit of a rate; did you mean `Mbps`?",
        ),
        ("rate = \"100 Mbps\"\n", "", "the rate is missing"),
        (
            "\"100 packets\"",
            "\"100\"",
            "or packets, such as \"20 packets\"",
        ),
        (
            "ecn_threshold",
            "ecn_treshold",
            "did you mean `ecn_threshold`?",
        ),
        (
            "shared_alpha = 2",
            "shared_alpha = \"2\"",
            "allowed: 1/256 to 1024",
        ),
        ("shared_buffer = \"4 MB\"\n", "", "no shared buffer"),
        (
            "real_time = false",
            "real_time = 0",
            "allowed: true or false",
        ),
        (
            "10.0.0.1",
            "10.0.0",
            "f.toml:24:11: address = \"10.0.0\": not an IPv4 address",
        ),
        ("d3 = true", "d3 = 1", "allowed: true or false"),
        (
            "scale = -3",
            "scale = -17",
            "D3: a scale of -17; allowed: -16 to 15",
        ),
        ("\"2 ms\"", "\"2 s\"", "allowed: 10 us to 1 s"),
        ("00:0a", "00:0a:0b", "not a link-layer address"),
        ("00:0a", "0a", "not a link-layer address"),
        ("00:0a", "00:+a", "not a link-layer address"),
        ("name = \"veth0\"\n", "", "this interface has no name"),
        (
            "\"veth1\"",
            "\"veth0\"",
            "interface 0 (`veth0`) has the same name",
        ),
        (
            "latency = \"20 us\"",
            "loss = \"101%\"",
            "allowed: 0..=1, or a percentage such as \"50%\"",
        ),
        (
            "latency = \"20 us\"",
            "loss = 1",
            "a loss of 1; allowed: 0 to 0.99",
        ),
        (
            "latency = \"20 us\"",
            "loss = 1.5",
            "f.toml:4:8: loss = 1.5: not a share",
        ),
        (
            "classes = 8",
            "classes = 99",
            "99 classes; allowed: 1 to 32",
        ),
        ("[port]", "[ports]", "`ports` is not a key of the file"),
        (
            "[[interface]]\nname = \"veth1\"",
            "[interface]\nname = \"veth1\"",
            "f.toml:",
        ),
        ("[port]", "[port", "f.toml:2:"),
    ];
    for (from, to, expected) in cases {
        let message = error(from, to);
        assert!(message.contains(expected), "{message}");
    }
    let single = GOOD
        .split("[[interface]]\nname = \"veth1\"")
        .next()
        .expect("one interface");
    let message = Config::parse(single, "f.toml")
        .expect_err("too few interfaces")
        .to_string();
    assert!(
        message.contains("1 interfaces; allowed: 2 to 1024"),
        "{message}"
    );
}
