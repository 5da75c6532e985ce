//! One TCP connection under a congestion control of Duetime, with deadlines: what `script/stock-kernels` runs inside
//! each kernel.
//!
//! ```text
//! flow listen CONTROL ADDRESS               accept one connection, and answer each message with a byte
//! flow send   CONTROL ADDRESS [COMMAND...]  send a message, run the command, send another over the same connection
//! flow refuse                               give the option input that it must refuse, each with its error
//! flow left                                 print what of Duetime is in the kernel; fail if there is any
//! ```
//!
//! `send` sets the deadline of the first message, and reads the option before the message and after it; a switch on the
//! way must mark. All fail if anything is not as it must be, and say what.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use duetime_core::fixed::Factor;
use duetime_kernel::deadline::{self, Deadline};
use duetime_kernel::in_kernel;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, socket};

/// The length of a message.
const MESSAGE: usize = 3_000_000;
/// The deadline: far more than it takes, however slow the machine.
const WITHIN: Duration = Duration::from_hours(12);
/// How long the other end is waited for.
const PATIENCE: Duration = Duration::from_mins(2);

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["listen", control, address] => listen(control, address.parse()?),
        ["send", control, address, command @ ..] => send(control, address.parse()?, command),
        ["refuse"] => refuse(),
        ["left"] => left(),
        _ => Err(
            "usage: flow listen CONTROL ADDRESS | send CONTROL ADDRESS [COMMAND...] | refuse | left".into(),
        ),
    }
}

fn listen(control: &str, address: SocketAddr) -> Outcome {
    let listener = TcpListener::bind(address)?;
    deadline::choose(listener.as_fd(), control)?;
    println!("listening");
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut message = vec![0; MESSAGE];
    // The connection ends between two messages.
    while stream.peek(&mut [0])? > 0 {
        stream.read_exact(&mut message)?;
        stream.write_all(&[1])?;
    }
    Ok(())
}

fn send(control: &str, address: SocketAddr, command: &[&str]) -> Outcome {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    deadline::choose(socket.as_fd(), control)?;
    connect(&socket, &address)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    send_message(&mut stream)?;
    let status = deadline::get(stream.as_fd())?;
    println!(
        "{MESSAGE} bytes: α {:.3}, {} marks, {} window reductions",
        status.alpha.to_f64(),
        status.marks,
        status.reductions,
    );
    must(status.marks > 0, "packets are marked")?;
    must(status.reductions > 0, "marks reduce the window")?;
    if let [program, arguments @ ..] = command {
        let ended = Command::new(program).args(arguments).status()?;
        must(ended.success(), "the command failed")?;
        send_plain(&mut stream)?;
        println!("{MESSAGE} bytes more over the same connection");
    }
    Ok(())
}

/// Sends a message with a deadline; what the option tells must be true before it and after it.
fn send_message(stream: &mut TcpStream) -> Outcome {
    let bytes = u64::try_from(MESSAGE)?;
    deadline::set(
        stream.as_fd(),
        &Deadline {
            bytes,
            within: WITHIN,
        },
    )?;
    let before = deadline::get(stream.as_fd())?;
    let left = u64::try_from(before.left_us)?;
    let in_time = (1..=WITHIN.as_micros()).contains(&u128::from(left));
    must(before.messages == 1, "one message is announced")?;
    must(before.remaining_bytes == bytes, "all its bytes remain")?;
    must(in_time, "time is left, and no more than was given")?;
    // Far too much time for its bytes: as little imminence as the default parameters allow.
    must(
        before.imminence == Factor::from_f64(0.5),
        "d is at its minimum",
    )?;
    send_plain(stream)?;
    let after = deadline::get(stream.as_fd())?;
    must(after.messages == 0, "no message is announced any more")?;
    must(after.remaining_bytes == 0, "no bytes remain")
}

fn send_plain(stream: &mut TcpStream) -> Outcome {
    stream.write_all(&vec![0; MESSAGE])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    must(answer == [1], "the message is answered")
}

fn refuse() -> Outcome {
    let tcp = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let good = Deadline {
        bytes: 10_240,
        within: WITHIN,
    };
    let refused = |of: BorrowedFd, deadline: Deadline, errno: Errno| {
        let error = deadline::set(of, &deadline).err();
        let answer = error.and_then(|error| error.raw_os_error());
        must(
            answer == Some(errno.raw_os_error()),
            &format!("{deadline:?} is answered with {errno}, not {answer:?}"),
        )
    };
    refused(tcp.as_fd(), Deadline { bytes: 0, ..good }, Errno::INVAL)?;
    let absurd = deadline::MOST_BYTES + 1;
    refused(
        tcp.as_fd(),
        Deadline {
            bytes: absurd,
            ..good
        },
        Errno::RANGE,
    )?;
    let never = deadline::MOST + Duration::from_secs(1);
    refused(
        tcp.as_fd(),
        Deadline {
            within: never,
            ..good
        },
        Errno::RANGE,
    )?;
    refused(
        tcp.as_fd(),
        Deadline {
            within: Duration::ZERO,
            ..good
        },
        Errno::TIME,
    )?;
    must(
        deadline::get(tcp.as_fd())?.messages == 0,
        "nothing is stored",
    )?;
    for _ in 0..deadline::MOST_MESSAGES {
        deadline::set(tcp.as_fd(), &good)?;
    }
    refused(tcp.as_fd(), good, Errno::NOBUFS)?;
    deadline::clear(tcp.as_fd())?;
    must(
        deadline::get(tcp.as_fd())?.messages == 0,
        "the messages are forgotten",
    )?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    refused(listener.as_fd(), good, Errno::INVAL)?;
    refused(
        UdpSocket::bind("127.0.0.1:0")?.as_fd(),
        good,
        Errno::OPNOTSUPP,
    )?;
    refused(UnixDatagram::unbound()?.as_fd(), good, Errno::OPNOTSUPP)
}

fn left() -> Outcome {
    let left = in_kernel();
    for it in &left {
        println!("{it}");
    }
    must(left.is_empty(), "nothing of Duetime is in the kernel")
}

fn must(holds: bool, what: &str) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(format!("not so: {what}").into())
    }
}
