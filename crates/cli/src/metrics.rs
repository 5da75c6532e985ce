//! Numbers for Prometheus: a page of text, served over HTTP.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::failure::Failure;
use crate::terminal::stderr;

/// Begins a metric of a page: its name, its type ("gauge" or "counter"), and what it is.
pub fn begin(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// The value of a label as it stands between quotes.
pub fn label(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

/// A listener on `address`, and where its page is.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, String), Failure> {
    let listener = TcpListener::bind(address)
        .map_err(|why| Failure::Input(format!("--prometheus {address}: {why}")))?;
    let at = listener.local_addr().unwrap_or(address);
    Ok((listener, format!("http://{at}/metrics")))
}

/// Answers each request with the page of its moment, for ever.
pub fn serve(listener: &TcpListener, page: impl Fn() -> Result<String, Failure>) -> ! {
    loop {
        if let Ok((stream, _)) = listener.accept() {
            // Whoever asked may be gone; the next one is answered all the same.
            let _ = respond(stream, &page);
        }
    }
}

/// Answers one request (RFC 9112, HTTP/1.1 with the connection closed after it).
fn respond(
    mut stream: TcpStream,
    page: impl Fn() -> Result<String, Failure>,
) -> std::io::Result<()> {
    let patience = Some(Duration::from_secs(2));
    stream.set_read_timeout(patience)?;
    stream.set_write_timeout(patience)?;
    let mut lines = BufReader::new((&stream).take(8_192)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, page) = if request.starts_with("GET /metrics ") {
        match page() {
            Ok(page) => ("200 OK", page),
            Err(failure) => {
                let _ = writeln!(stderr(), "{failure}");
                ("503 Service Unavailable", format!("{failure}\n"))
            }
        }
    } else {
        ("404 Not Found", "only GET /metrics is here\n".to_owned())
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{page}",
        page.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn the_page_is_served_and_nothing_else() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (listener, url) = bind(any).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        assert_eq!(url, format!("http://{address}/metrics"));
        std::thread::spawn(move || serve(&listener, || Ok("a 1\n".to_owned())));
        let answer = ask(address, "/metrics");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n"),
            "{answer}"
        );
        let other = ask(address, "/else");
        assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
        let taken = bind(address).expect_err("it is in use").to_string();
        assert!(
            taken.contains(&format!("--prometheus {address}: ")),
            "{taken}"
        );
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
