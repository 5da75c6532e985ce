//! Time per system call on options of a socket, without and with the programs at the root cgroup.

use crate::wire::attach;
use crate::{format_estimate, mean};
use duetime_kernel::Options;
use duetime_kernel::deadline::{self, Deadline};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Calls per measurement.
const CALLS: u32 = 100_000;

/// Prints nanoseconds per call of `TCP_NODELAY`, which programs of all kinds set and read, and of the deadline option.
pub fn measure(pairs: usize) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let connect = || TcpStream::connect(address).expect("connected");
    let mut detached = [vec![], vec![]];
    let mut write_only = [vec![], vec![]];
    let mut attached = [vec![], vec![]];
    let mut deadlines = [vec![], vec![]];
    let at_once = u32::try_from(deadline::MAX_MESSAGES).expect("a few");
    for _ in 0..pairs {
        let plain = |times: &mut [Vec<f64>; 2]| {
            let socket = connect();
            times[0].push(time(|| socket.set_nodelay(true).expect("an option")));
            times[1].push(time(|| assert!(socket.nodelay().expect("an option"))));
        };
        plain(&mut detached);
        let options = Options {
            write_only: true,
            ..Options::default()
        };
        let attachment = attach(&options);
        plain(&mut write_only);
        drop(attachment);
        let _attachment = attach(&Options::default());
        plain(&mut attached);

        let socket = connect();
        let message = Deadline {
            bytes: 10_240,
            within: Duration::from_hours(1),
        };
        let (mut set, mut get) = (0.0, 0.0);
        for _ in 0..CALLS / at_once {
            let once = |work: &dyn Fn()| time_of(at_once, work);
            set += once(&|| deadline::set(socket.as_fd(), &message).expect("the option"));
            get += once(&|| assert!(deadline::get(socket.as_fd()).is_ok()));
            deadline::clear(socket.as_fd()).expect("the option");
        }
        let blocks = f64::from(CALLS / at_once);
        deadlines[0].push(set / blocks);
        deadlines[1].push(get / blocks);
    }
    println!("ns per call, means of {pairs} pairs of {CALLS} calls");
    let rows = [
        ("setsockopt(TCP_NODELAY), detached", &detached[0]),
        ("setsockopt(TCP_NODELAY), attached", &attached[0]),
        ("setsockopt(TCP_NODELAY), write-only", &write_only[0]),
        ("getsockopt(TCP_NODELAY), detached", &detached[1]),
        ("getsockopt(TCP_NODELAY), write-only", &write_only[1]),
        ("getsockopt(TCP_NODELAY), attached", &attached[1]),
        ("setsockopt(DUETIME_DEADLINE)", &deadlines[0]),
        ("getsockopt(DUETIME_DEADLINE)", &deadlines[1]),
    ];
    for (name, times) in rows {
        println!("{name:35} {}", format_estimate(&mean(times), 0));
    }
    true
}

/// Returns nanoseconds per call of `work`.
fn time(work: impl Fn()) -> f64 {
    time_of(CALLS, &work)
}

fn time_of(calls: u32, work: &dyn Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        work();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}
