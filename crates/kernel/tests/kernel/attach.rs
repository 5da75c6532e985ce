//! Attaching and detaching without leftovers.

use crate::machine::{Machine, controls};
use crate::wire::attach;
use crate::wire::namespace::Namespace;
use duetime_kernel::{
    Attachment, Error, HostDefault, Options, Parameters, Status, examine, in_kernel, left_defaults,
    left_registered, restore_left_defaults, unregister_left,
};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, stdin, stdout};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn detaching_leaves_nothing() {
    let Some(_machine) = Machine::take("attach") else {
        return;
    };
    let before = in_kernel();
    assert!(before.is_empty(), "left by another process: {before:?}");
    let attachment = Attachment::attach(&Options::default()).expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    assert!(
        in_kernel()
            .iter()
            .any(|object| object.starts_with("program"))
    );
    assert_eq!(attachment.sockets().is_ok(), attachment.lists_sockets());
    let again = Attachment::attach(&Options::default()).err();
    assert!(matches!(again, Some(Error::Attached { .. })), "{again:?}");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    wait_until_clean();
}

/// Returns options that attach as before Linux 6.4.
fn without_links() -> Options {
    Options {
        without_links: true,
        ..Options::default()
    }
}

#[test]
fn attaching_without_links_leaves_nothing() {
    let Some(_machine) = Machine::take("without links") else {
        return;
    };
    let attachment = Attachment::attach(&without_links()).expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    // Controls of a living process are not unregistered.
    assert!(unregister_left().expect("checked").is_empty());
    let again = Attachment::attach(&without_links()).err();
    assert!(matches!(again, Some(Error::Attached { .. })), "{again:?}");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    wait_until_clean();
}

/// Attaches until killed by `registrations_without_links_are_removed`.
#[test]
#[ignore = "attaches until its standard input ends"]
fn attach_without_links_until_killed() {
    attach_until_killed(&without_links());
}

/// Attaches until killed by the tests of defaults.
#[test]
#[ignore = "attaches until its standard input ends"]
fn attach_with_defaults_until_killed() {
    attach_until_killed(&Options::default());
}

fn attach_until_killed(options: &Options) {
    let _attachment = Attachment::attach(options).expect("attached");
    writeln!(stdout(), "{ATTACHED}").expect("a reader");
    stdin().read_to_end(&mut Vec::new()).expect("the end");
}

const ATTACHED: &str = "both are attached";

/// Process that attaches without links, killed on drop.
struct Holder(Child);

impl Holder {
    /// Starts an ignored test of this file that attaches.
    fn start(test: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("the path of this program"))
            .args(["--ignored", "--exact", "--nocapture"])
            .arg(format!("attach::{test}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let holder = Self(child);
        let attached = output
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains(ATTACHED));
        assert!(attached, "the process did not attach");
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn registrations_without_links_are_removed() {
    let Some(_machine) = Machine::take("kill -9") else {
        return;
    };
    drop(Holder::start("attach_without_links_until_killed"));
    wait_for_leftovers();
    let found = examine();
    let attached = found
        .iter()
        .find(|finding| finding.about == "attached")
        .expect("a finding");
    assert_eq!(attached.status, Status::Note);
    assert!(attached.found.contains("was killed"), "{attached:?}");
    let removed = unregister_left().expect("unregistered");
    assert_eq!(removed, ["duetime_dctcp", "duetime_d2tcp"]);
    wait_until_clean();

    drop(Holder::start("attach_without_links_until_killed"));
    wait_for_leftovers();
    let attachment = Attachment::attach(&without_links()).expect("attached again");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    wait_until_clean();
}

/// Network namespace that a process is in, so that it is found, with a default congestion control.
struct Container {
    namespace: Namespace,
    process: Child,
}

impl Container {
    const DEFAULT: &str = "net/ipv4/tcp_congestion_control";

    fn new(default: &str) -> Self {
        let namespace = Namespace::new();
        namespace.set(Self::DEFAULT, default);
        let process = namespace.within(|| Command::new("sleep").arg("600").spawn());
        Self {
            namespace,
            process: process.expect("started"),
        }
    }

    fn default(&self) -> String {
        let path = format!("/proc/sys/{}", Self::DEFAULT);
        let default = self.namespace.within(|| std::fs::read_to_string(path));
        default.expect("a default").trim().to_owned()
    }

    /// Returns its default if that is listed.
    fn listed(&self, defaults: &[HostDefault]) -> Option<String> {
        let number = u64::from(self.namespace.number());
        let mut defaults = defaults.iter();
        let default = defaults.find(|default| default.namespace == number)?;
        Some(default.name.clone())
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn detaching_restores_the_defaults_of_namespaces() {
    let Some(_machine) = Machine::take("defaults") else {
        return;
    };
    let changed = Container::new("reno");
    let other = Container::new("reno");
    let attachment = attach(&Options::default());
    changed.namespace.set(Container::DEFAULT, "duetime_d2tcp");
    let created = Container::new("duetime_dctcp");
    let defaults = attachment.defaults();
    assert_eq!(changed.listed(&defaults).as_deref(), Some("duetime_d2tcp"));
    assert_eq!(other.listed(&defaults), None);

    let restored = attachment.restore_defaults();
    assert_eq!(changed.listed(&restored).as_deref(), Some("reno"));
    assert_eq!(other.listed(&restored), None);
    changed.namespace.set(Container::DEFAULT, "duetime_d2tcp");
    drop(attachment);
    assert_eq!(changed.default(), "reno");
    assert_eq!(other.default(), "reno");
    let own = std::fs::read_to_string(format!("/proc/sys/{}", Container::DEFAULT));
    assert_eq!(created.default(), own.expect("a default").trim());
    wait_until_clean();
}

#[test]
fn defaults_left_by_a_killed_process_are_found_and_renewed() {
    let Some(_machine) = Machine::take("left defaults") else {
        return;
    };
    let container = Container::new("reno");
    let kill_with_default = || {
        let holder = Holder::start("attach_with_defaults_until_killed");
        container.namespace.set(Container::DEFAULT, "duetime_d2tcp");
        drop(holder);
        let start = Instant::now();
        while container.listed(&left_defaults()).is_none() {
            // Registrations without links remain.
            unregister_left().expect("unregistered");
            assert!(start.elapsed() < Duration::from_mins(2));
            std::thread::sleep(Duration::from_millis(20));
        }
    };

    kill_with_default();
    let attachment = attach(&Options::default());
    assert_eq!(left_defaults(), []);
    // The namespace was the last user of the old programs.
    let start = Instant::now();
    let release = "program duetime_release";
    while in_kernel().iter().filter(|name| *name == release).count() > 1 {
        assert!(
            start.elapsed() < Duration::from_mins(2),
            "{:?}",
            in_kernel()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(attachment);
    wait_until_clean();

    kill_with_default();
    let restored = restore_left_defaults();
    let restored = container.listed(&restored).expect("restored");
    assert_eq!(container.default(), restored);
    wait_until_clean();
}

/// Waits until only the registrations of the killed process remain.
fn wait_for_leftovers() {
    let start = Instant::now();
    while left_registered().is_empty() {
        assert!(
            start.elapsed() < Duration::from_mins(2),
            "{:?}",
            in_kernel()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
}

#[test]
fn invalid_parameters_attach_nothing() {
    let Some(_machine) = Machine::take("parameters") else {
        return;
    };
    let parameters = Parameters {
        d_max: 0.1,
        ..Parameters::default()
    };
    let refused = Attachment::attach(&Options {
        parameters,
        ..Options::default()
    });
    assert!(matches!(refused.err(), Some(Error::Parameter { .. })));
    wait_until_clean();
}

/// Waits until the kernel has freed all programs and maps.
pub fn wait_until_clean() {
    let start = Instant::now();
    while !in_kernel().is_empty() {
        assert!(
            start.elapsed() < Duration::from_mins(2),
            "{:?}",
            in_kernel()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
