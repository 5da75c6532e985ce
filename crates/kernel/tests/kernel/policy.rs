//! Deadlines from a policy file, for programs that set none.

use crate::machine::Machine;
use crate::marks::send;
use crate::wire::{Connection, RECEIVER, Wire, attach};
use duetime_core::fixed::Factor;
use duetime_kernel::deadline::{self, Deadline, Status};
use duetime_kernel::{Options, Policy};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// Policy file, removed on drop.
struct PolicyFile(PathBuf);

impl PolicyFile {
    fn new(test: &str) -> Self {
        let name = format!("duetime-policy-{test}-{}.toml", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Writes the file and parses it as a policy.
    fn read(&self, text: &str) -> Result<Policy, String> {
        std::fs::write(&self.0, text).expect("a file");
        Policy::read(&self.0).map_err(|error| error.to_string())
    }
}

impl Drop for PolicyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Connects and writes 10 KB without deadlines or a congestion control. Returns the socket's status.
fn plain_transfer(wire: &Wire, port: u16) -> Status {
    let listener = wire.receiver.within(|| TcpListener::bind((RECEIVER, port)));
    let near = wire.sender.within(|| TcpStream::connect((RECEIVER, port)));
    let (far, _) = listener
        .expect("a free port")
        .accept()
        .expect("a connection");
    let mut connection = Connection::from_ends(near.expect("connected"), far);
    let before = deadline::get(connection.near.as_fd()).expect("the option");
    assert_eq!(before.messages, 0, "{before:?}");
    connection.near.write_all(&[0; 10_000]).expect("sent");
    deadline::get(connection.near.as_fd()).expect("the option")
}

#[test]
fn invalid_policies_leave_the_old_one_active() {
    let Some(_machine) = Machine::take("policy") else {
        return;
    };
    let mut attachment = attach(&Options::default());
    let wire = Wire::new(None);
    for host in [&wire.sender, &wire.receiver] {
        host.set("net/ipv4/tcp_congestion_control", "duetime_d2tcp");
    }
    let file = PolicyFile::new("reload");
    let rule = |deadline: &str| {
        format!("[[rule]]\nremote_port = 9000\ndeadline = \"{deadline}\"\nmessage = \"1 MB\"\n")
    };

    assert_eq!(plain_transfer(&wire, 9000).messages, 0);
    let policy = file.read(&rule("1 h")).expect("a valid policy");
    attachment.set_policy(&policy).expect("an active policy");
    let expect = |min: i64, max: i64| {
        let status = plain_transfer(&wire, 9000);
        assert_eq!(status.messages, 1, "{status:?}");
        let remaining = 1_000_000 - 10_000..=1_000_000;
        assert!(remaining.contains(&status.remaining_bytes), "{status:?}");
        let left = min * 60_000_000..=max * 60_000_000;
        assert!(left.contains(&status.left_us), "{status:?}");
        let other = plain_transfer(&wire, 9001);
        assert_eq!(other.messages, 0, "{other:?}");
    };
    expect(30, 60);

    let error = file.read("").expect_err("an empty file");
    assert!(error.contains("rule = []"), "{error}");
    let none = file.read("rule = []").expect("a valid policy");
    assert!(none.rules.is_empty(), "{none:?}");

    let broken = rule("1 h").replace("\"1 h\"", "\"1 parsec\"");
    let error = file.read(&broken).expect_err("no such unit");
    assert!(error.contains("toml:3:"), "{error}");
    assert!(error.contains("parsec"), "{error}");
    expect(30, 60);

    let policy = file.read(&rule("10 h")).expect("a valid policy");
    attachment.set_policy(&policy).expect("an active policy");
    expect(570, 600);
}

#[test]
fn connections_follow_the_policy_of_the_next_attachment() {
    let Some(_machine) = Machine::take("policy after restart") else {
        return;
    };
    let file = PolicyFile::new("restart");
    let attach_with = |deadline: Option<&str>| {
        let rule = |deadline| {
            format!("[[rule]]\nremote_port = 9000\ndeadline = \"{deadline}\"\nmessage = \"1 MB\"\n")
        };
        let policy = deadline.map(|deadline| file.read(&rule(deadline)).expect("a valid policy"));
        attach(&Options {
            policy,
            ..Options::default()
        })
    };
    let attachment = attach_with(Some("1 h"));
    let wire = Wire::new(None);
    let mut connection = Connection::new(&wire, "duetime_d2tcp", 9000);
    let mut message = |bytes: usize| {
        send(&mut connection, bytes);
        deadline::get(connection.near.as_fd()).expect("the option")
    };
    assert_eq!(message(10_000).messages, 1);
    message(990_000);
    drop(attachment);

    let attachment = attach_with(Some("10 h"));
    let status = message(10_000);
    assert_eq!(status.messages, 1, "{status:?}");
    assert!(status.left_us > 570 * 60_000_000, "{status:?}");
    message(990_000);
    drop(attachment);

    let _attachment = attach_with(None);
    let status = message(10_000);
    assert_eq!(status.messages, 0, "{status:?}");
}

/// A deadline that cannot be met makes d as large as permitted.
#[test]
fn rules_limit_d() {
    const LIMIT: Factor = Factor::from_f64(1.25);
    const MAX: Factor = Factor::from_f64(2.0);
    let Some(_machine) = Machine::take("limit of d") else {
        return;
    };
    let file = PolicyFile::new("limit");
    let read = |text: &str| file.read(text).expect("a valid policy");
    let limit = |user: &str| {
        read(&format!(
            "[[rule]]\nuser = {user}\nremote_port = 9000\nd_max = 1.25\n"
        ))
    };
    let mut attachment = attach(&Options {
        policy: Some(limit("\"root\"")),
        ..Options::default()
    });
    let wire = Wire::new(None);
    let mut limited = Connection::new(&wire, "duetime_d2tcp", 9000);
    let mut other = Connection::new(&wire, "duetime_d2tcp", 9001);
    let imminence = |connection: &mut Connection| {
        send(connection, 1_000);
        let socket = connection.near.as_fd();
        let impossible = Deadline {
            bytes: 1 << 30,
            within: Duration::from_millis(5),
        };
        deadline::set(socket, &impossible).expect("a deadline");
        let status = deadline::get(socket).expect("the option");
        deadline::clear(socket).expect("no deadline");
        status.imminence
    };
    assert_eq!(
        (imminence(&mut limited), imminence(&mut other)),
        (LIMIT, MAX)
    );

    attachment
        .set_policy(&limit("65534"))
        .expect("an active policy");
    assert_eq!(imminence(&mut limited), MAX);
    attachment
        .set_policy(&limit("0"))
        .expect("an active policy");
    assert_eq!(imminence(&mut limited), LIMIT);
    // A limit above the parameters' does not raise theirs.
    let high = read("[[rule]]\nremote_port = 9000\nd_max = 8\n");
    attachment.set_policy(&high).expect("an active policy");
    assert_eq!(imminence(&mut limited), MAX);

    let error = attachment
        .set_policy(&limit("\"no such user\""))
        .expect_err("no such user");
    assert!(error.to_string().contains("no such user"), "{error}");
}
