//! One TCP connection with deadlines under a congestion control of Duetime, which `script/stock-kernels` runs inside
//! each kernel.
//!
//! ```text
//! flow listen CONTROL ADDRESS               accept one connection and answer each message with a byte
//! flow send   CONTROL ADDRESS [COMMAND...]  send a message, run the command, send another over the same connection
//! flow refuse                               pass invalid input to the option and check the errors
//! flow left                                 print Duetime's objects in the kernel; fail if there are any
//! ```
//!
//! `send` sets the deadline of the first message and reads the option before and after the message. It requires a
//! marking switch on the path. All commands fail with a message if a check fails.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "an example prints its results")]

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

/// Length of a message.
const MESSAGE: usize = 3_000_000;
/// Deadline, far longer than necessary on any machine.
const WITHIN: Duration = Duration::from_hours(12);
/// Maximum wait for the other end.
const TIMEOUT: Duration = Duration::from_mins(2);

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
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut message = vec![0; MESSAGE];
    // The peer closes the connection between two messages.
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
    stream.set_read_timeout(Some(TIMEOUT))?;
    send_message(&mut stream)?;
    let status = deadline::get(stream.as_fd())?;
    println!(
        "{MESSAGE} bytes: α {:.3}, {} marks, {} window reductions",
        status.alpha.to_f64(),
        status.marks,
        status.reductions,
    );
    check(status.marks > 0, "no packets were marked")?;
    check(status.reductions > 0, "marks did not reduce the window")?;
    if let [program, arguments @ ..] = command {
        let ended = Command::new(program).args(arguments).status()?;
        check(ended.success(), "the command failed")?;
        send_plain(&mut stream)?;
        println!("{MESSAGE} more bytes over the same connection");
    }
    Ok(())
}

/// Sends a message with a deadline, and checks the option before and after.
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
    check(before.messages == 1, "not exactly one message is announced")?;
    check(before.remaining_bytes == bytes, "some bytes do not remain")?;
    check(in_time, "the remaining time is out of range")?;
    // With far too much time, the imminence is at its default minimum.
    check(
        before.imminence == Factor::from_f64(0.5),
        "d is not at its minimum",
    )?;
    send_plain(stream)?;
    let after = deadline::get(stream.as_fd())?;
    check(after.messages == 0, "a message is still announced")?;
    check(after.remaining_bytes == 0, "some bytes remain")
}

fn send_plain(stream: &mut TcpStream) -> Outcome {
    stream.write_all(&vec![0; MESSAGE])?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    check(answer == [1], "the message was not answered")
}

fn refuse() -> Outcome {
    let tcp = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let good = Deadline {
        bytes: 10_240,
        within: WITHIN,
    };
    let refused = |socket: BorrowedFd, deadline: Deadline, errno: Errno| {
        let error = deadline::set(socket, &deadline).err();
        let answer = error.and_then(|error| error.raw_os_error());
        check(
            answer == Some(errno.raw_os_error()),
            &format!("{deadline:?} failed with {answer:?} instead of {errno}"),
        )
    };
    refused(tcp.as_fd(), Deadline { bytes: 0, ..good }, Errno::INVAL)?;
    let too_many = deadline::MAX_BYTES + 1;
    refused(
        tcp.as_fd(),
        Deadline {
            bytes: too_many,
            ..good
        },
        Errno::RANGE,
    )?;
    let too_long = deadline::MAX_DEADLINE + Duration::from_secs(1);
    refused(
        tcp.as_fd(),
        Deadline {
            within: too_long,
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
    check(
        deadline::get(tcp.as_fd())?.messages == 0,
        "a rejected message was stored",
    )?;
    for _ in 0..deadline::MAX_MESSAGES {
        deadline::set(tcp.as_fd(), &good)?;
    }
    refused(tcp.as_fd(), good, Errno::NOBUFS)?;
    deadline::clear(tcp.as_fd())?;
    check(
        deadline::get(tcp.as_fd())?.messages == 0,
        "messages remain after clearing",
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
    for object in &left {
        println!("{object}");
    }
    check(left.is_empty(), "objects of Duetime are in the kernel")
}

fn check(condition: bool, failure: &str) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(failure.into())
    }
}
