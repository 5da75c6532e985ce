//! Two hosts connected by a link, for tests and measurements: network namespaces and veth pairs, a shaper, a program
//! that marks at its queue, and a program that drops packets on arrival.
//!
//! A link with a shaper has a middle, a separate namespace where packets queue. TCP lets only a few packets of a flow
//! wait in its own host's queue, so a queue there would not show the controller's behaviour.

pub mod churn;
mod connection;
pub mod contest;
pub mod namespace;

pub use connection::Connection;
pub use namespace::Namespace;

use duetime_kernel::{Attachment, Error, Options, deadline};
use libbpf_rs::{
    ErrorKind, Iter, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, ProgramMut,
    TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHookBuilder, query,
};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, listen, setsockopt,
    socket, sockopt,
};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Compiled programs.
static PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wire.o"));

/// Program that lists the entries of a socket storage map.
const ENTRIES: &str = "wire_entries";

/// Maximum wait for another process that has the controllers attached.
const ATTACH_TIMEOUT: Duration = Duration::from_mins(2);

/// Address of the receiver.
pub const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// Marks and losses of data packets.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// Packets in the queue above which a packet is marked.
    pub above: u32,
    /// Packets in flight above which a packet is marked, itself included.
    pub waiting: u32,
    /// Interval of marks, regardless of the queue: every n-th packet; 0 for none.
    pub every: u32,
    /// First lost packet, counted from 1 since the setting, and the number of consecutive losses.
    pub lose: (u32, u32),
}

impl Marking {
    /// No marks and no losses.
    pub const NONE: Self = Self {
        above: u32::MAX,
        waiting: u32::MAX,
        every: 0,
        lose: (0, 0),
    };

    /// Marks packets that find more than this many in the queue.
    pub const fn above(packets: u32) -> Self {
        Self {
            above: packets,
            ..Self::NONE
        }
    }
}

/// Counts of data packets since the marking was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Sent, before the queue.
    pub sent: u64,
    /// Marked.
    pub marked: u64,
    /// Lost on arrival.
    pub lost: u64,
}

/// Hosts and link, which end when this is dropped or the process ends.
pub struct Wire {
    /// Sending host.
    pub sender: Namespace,
    /// Receiving host.
    pub receiver: Namespace,
    _middle: Option<Namespace>,
    object: Object,
}

impl Wire {
    /// Creates the link. `shaper` is a queueing discipline in `tc` syntax; without it, the link is as fast as the
    /// processor. The MTU is 1,500 bytes.
    pub fn new(shaper: Option<&str>) -> Self {
        let (sender, receiver) = (Namespace::new(), Namespace::new());
        let middle = shaper.map(|_| Namespace::new());
        // With several queues, each would have only some of the packets.
        let options = "mtu 1500 gso_max_segs 1 numtxqueues 1 numrxqueues 1";
        match &middle {
            None => sender.run(&format!(
                "ip link add wire {options} type veth peer name wire {options} netns {}",
                receiver.path()
            )),
            Some(middle) => {
                for (index, name, host) in [(2, "left", &sender), (3, "right", &receiver)] {
                    middle.run(&format!(
                        "ip link add {name} index {index} {options} type veth peer name wire {options} netns {}",
                        host.path()
                    ));
                    middle.set("net/ipv6/conf/all/disable_ipv6", "1");
                    middle.run(&format!("ip link set {name} up"));
                    middle.run(&format!("tc qdisc add dev {name} clsact"));
                }
            }
        }
        for (host, address) in [(&sender, "10.9.0.1/24"), (&receiver, "10.9.0.2/24")] {
            for (name, value) in [
                ("net/ipv6/conf/all/disable_ipv6", "1"),
                ("net/ipv4/tcp_slow_start_after_idle", "0"),
                ("net/ipv4/tcp_no_metrics_save", "1"),
                // Flows without ECN controllers use ECN too, so that all flows are marked alike.
                ("net/ipv4/tcp_ecn", "1"),
            ] {
                host.set(name, value);
            }
            host.run(&format!("ip address add {address} dev wire"));
            host.run("ip link set wire up");
            host.run("tc qdisc add dev wire clsact");
        }
        if let (Some(middle), Some(shaper)) = (&middle, shaper) {
            middle.run(&format!("tc qdisc replace dev right root {shaper}"));
        }
        let object = load();
        match &middle {
            None => hook(&object, "wire_mark", &sender, "wire", TC_EGRESS),
            Some(middle) => {
                hook(&object, "wire_mark", middle, "right", TC_EGRESS);
                hook(&object, "wire_pass", middle, "left", TC_INGRESS);
                hook(&object, "wire_pass", middle, "right", TC_INGRESS);
            }
        }
        hook(&object, "wire_lose", &receiver, "wire", TC_INGRESS);
        let wire = Self {
            sender,
            receiver,
            _middle: middle,
            object,
        };
        wire.mark(Marking::NONE);
        wire
    }

    /// Sets marks and losses, and resets the counters.
    pub fn mark(&self, marking: Marking) {
        let (first, count) = marking.lose;
        let words = [marking.above, marking.waiting, marking.every, first, count];
        self.update("wire_counts", &[0; 32]);
        self.update("wire_settings", &words.map(u32::to_ne_bytes).concat());
    }

    fn update(&self, map: &str, value: &[u8]) {
        self.map(map)
            .update(&[0; 4], value, MapFlags::ANY)
            .expect("stored");
    }

    /// Returns the packet counts so far.
    pub fn counts(&self) -> Counts {
        let value = self.map("wire_counts").lookup(&[0; 4], MapFlags::ANY);
        let value = value.expect("an entry").expect("one entry");
        let long = |at: usize| u64::from_ne_bytes(value[at..at + 8].try_into().expect("8 bytes"));
        Counts {
            sent: long(0),
            marked: long(8),
            lost: long(24),
        }
    }

    /// Returns the number of entries of both hosts' sockets in socket storage maps with this name, or `None` if the
    /// kernel permits no tracing programs.
    pub fn entries(&self, map: &str) -> Option<usize> {
        let hosts = [self.sender.number(), self.receiver.number()];
        let program = self.program(ENTRIES);
        if !program.autoload() {
            return None;
        }
        let entries = query::MapInfoIter::default()
            .filter(|info| info.name == *map)
            // A map that has been freed meanwhile has no entries.
            .filter_map(|info| MapHandle::from_map_id(info.id).ok())
            .flat_map(|map| {
                let link = program
                    .attach_iter(map.as_fd())
                    .expect("an attached iterator");
                let mut bytes = Vec::new();
                let read = Iter::new(&link).map(|mut iterator| iterator.read_to_end(&mut bytes));
                read.expect("an iterator").expect("readable");
                bytes
                    .chunks_exact(4)
                    .map(|number| u32::from_ne_bytes(number.try_into().expect("4 bytes")))
                    .collect::<Vec<_>>()
            })
            .filter(|number| hosts.contains(number))
            .count();
        Some(entries)
    }

    fn program(&self, name: &str) -> ProgramMut<'_> {
        let mut programs = self.object.progs_mut();
        programs
            .find(|program| program.name() == name)
            .expect("present in the object file")
    }

    fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        let mut maps = self.object.maps();
        maps.find(|map| map.name() == name)
            .expect("present in the object file")
    }

    /// Opens a listening socket of the receiver with this congestion control.
    pub fn listen(&self, control: &str, port: u16) -> TcpListener {
        let fd = self.receiver.within(unconnected);
        deadline::choose(fd.as_fd(), control).expect("the controller");
        setsockopt(&fd, sockopt::ReuseAddr, &true).expect("SO_REUSEADDR");
        let address = SockaddrIn::from(SocketAddrV4::new(RECEIVER, port));
        bind(fd.as_raw_fd(), &address).expect("a free port");
        listen(&fd, Backlog::new(1024).expect("within the limits")).expect("listening");
        fd.into()
    }

    /// Connects the sender to the receiver with this congestion control.
    pub fn connect(&self, control: &str, port: u16) -> TcpStream {
        let fd = self.sender.within(unconnected);
        deadline::choose(fd.as_fd(), control).expect("the controller");
        connected(fd, port).expect("a listening receiver")
    }
}

/// Loads the programs. If the kernel permits no tracing programs, omits [`ENTRIES`].
fn load() -> Object {
    let open = || ObjectBuilder::default().open_memory(PROGRAMS);
    let loaded = open().and_then(OpenObject::load).or_else(|error| {
        if error.kind() != ErrorKind::PermissionDenied {
            return Err(error);
        }
        let mut object = open()?;
        for mut program in object.progs_mut() {
            if program.name() == ENTRIES {
                program.set_autoload(false);
            }
        }
        object.load()
    });
    loaded.expect("loaded programs")
}

/// Attaches the controllers, waiting for another process to detach them.
pub fn attach(options: &Options) -> Attachment {
    let began = Instant::now();
    loop {
        match Attachment::attach(options) {
            Err(Error::Attached { .. }) if began.elapsed() < ATTACH_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(100));
            }
            attached => return attached.unwrap_or_else(|error| panic!("not attached: {error}")),
        }
    }
}

/// Creates a TCP socket in the calling thread's namespace.
fn unconnected() -> OwnedFd {
    let flags = SockFlag::SOCK_CLOEXEC;
    socket(AddressFamily::Inet, SockType::Stream, flags, None).expect("a socket")
}

/// Connects the socket to the receiver.
fn connected(socket: OwnedFd, port: u16) -> std::io::Result<TcpStream> {
    let address = SockaddrIn::from(SocketAddrV4::new(RECEIVER, port));
    connect(socket.as_raw_fd(), &address)?;
    Ok(socket.into())
}

fn hook(object: &Object, name: &str, host: &Namespace, interface: &str, point: TcAttachPoint) {
    let mut programs = object.progs();
    let program = programs.find(|program| program.name() == name);
    let program = program.expect("present in the object file");
    let program = program.as_fd();
    let attached = host.within(|| {
        let number = nix::net::if_::if_nametoindex(interface).expect("the interface");
        let mut hook = TcHookBuilder::new(program)
            .ifindex(number.cast_signed())
            .replace(true)
            .handle(1)
            .priority(1)
            .hook(point);
        hook.attach().map(drop)
    });
    attached.expect("attached");
}
