//! What is attached, and that nothing is left.

use crate::machine::{Machine, controls};
use duetime_kernel::{
    Attachment, Error, Options, Parameters, Standing, examine, in_kernel, left_registered,
    unregister_left,
};
use std::io::{BufRead as _, BufReader, Read as _, Write as _, stdin, stdout};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn attaching_offers_both_controls_and_detaching_leaves_nothing() {
    let Some(_machine) = Machine::take("attach") else {
        return;
    };
    let before = in_kernel();
    assert!(before.is_empty(), "left by another: {before:?}");
    let attachment = Attachment::attach(&Options::default()).expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    assert!(in_kernel().iter().any(|it| it.starts_with("program")));
    let again = Attachment::attach(&Options::default()).err();
    assert!(matches!(again, Some(Error::Attached { .. })), "{again:?}");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    nothing_is_left();
}

/// What attaches as before Linux 6.4.
fn without_links() -> Options {
    Options {
        without_links: true,
        ..Options::default()
    }
}

#[test]
fn without_links_as_before_linux_6_4_it_attaches_and_leaves_nothing() {
    let Some(_machine) = Machine::take("without links") else {
        return;
    };
    let attachment = Attachment::attach(&without_links()).expect("attached");
    for name in ["duetime_dctcp", "duetime_d2tcp"] {
        assert!(controls().contains(name), "{name} in {}", controls());
    }
    // Nobody takes it out while its process lives.
    assert!(unregister_left().expect("checked").is_empty());
    let again = Attachment::attach(&without_links()).err();
    assert!(matches!(again, Some(Error::Attached { .. })), "{again:?}");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    nothing_is_left();
}

/// What `a_registration_without_links_outlives_its_process` runs and kills.
#[test]
#[ignore = "attaches until its standard input ends"]
fn attach_without_links_until_killed() {
    let _attachment = Attachment::attach(&without_links()).expect("attached");
    writeln!(stdout(), "{ATTACHED}").expect("a reader");
    stdin().read_to_end(&mut Vec::new()).expect("the end");
}

const ATTACHED: &str = "both are attached";

/// A process that attaches without links; killed, and waited for, when this is dropped.
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
        assert!(attached, "it did not attach");
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
fn a_registration_without_links_outlives_its_process_and_the_next_command_removes_it() {
    let Some(_machine) = Machine::take("kill -9") else {
        return;
    };
    drop(Holder::start());
    left_by_the_killed();
    let found = examine();
    let attached = found.iter().find(|it| it.about == "attached").expect("one");
    assert_eq!(attached.standing, Standing::Note);
    assert!(attached.found.contains("was killed"), "{attached:?}");
    let removed = unregister_left().expect("unregistered");
    assert_eq!(removed, ["duetime_dctcp", "duetime_d2tcp"]);
    nothing_is_left();

    drop(Holder::start());
    left_by_the_killed();
    let attachment = Attachment::attach(&without_links()).expect("attached again");
    drop(attachment);
    assert!(!controls().contains("duetime"), "{}", controls());
    nothing_is_left();
}

/// Waits until what ends with the killed process has ended, and looks at what has not.
fn left_by_the_killed() {
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
fn a_parameter_out_of_range_attaches_nothing() {
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
    nothing_is_left();
}

/// The kernel frees programs and maps a moment after the last one that uses them.
pub fn nothing_is_left() {
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
