//! Attaching and detaching without leftovers.

use crate::machine::{Machine, controls};
use duetime_kernel::{
    Attachment, Error, Options, Parameters, Status, examine, in_kernel, left_registered,
    unregister_left,
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
    let _attachment = Attachment::attach(&without_links()).expect("attached");
    writeln!(stdout(), "{ATTACHED}").expect("a reader");
    stdin().read_to_end(&mut Vec::new()).expect("the end");
}

const ATTACHED: &str = "both are attached";

/// Process that attaches without links, killed on drop.
struct Holder(Child);

impl Holder {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("the path of this program"))
            .args(["--ignored", "--exact", "--nocapture"])
            .arg("attach::attach_without_links_until_killed")
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
    drop(Holder::start());
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

    drop(Holder::start());
    wait_for_leftovers();
    let attachment = Attachment::attach(&without_links()).expect("attached again");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
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
