//! Prometheus metrics: a text page served over HTTP.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::failure::Failure;
use crate::terminal::stderr;

/// Writes the header of a metric: its name, its type ("gauge" or "counter") and its help text.
pub fn begin(page: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Escapes the value of a label for use between quotes.
pub fn label(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

/// Binds a listener to `address`. Returns the listener and the URL of its page.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, String), Failure> {
    let listener = TcpListener::bind(address)
        .map_err(|why| Failure::Input(format!("--prometheus {address}: {why}")))?;
    let bound = listener.local_addr().unwrap_or(address);
    Ok((listener, format!("http://{bound}/metrics")))
}

/// Serves requests forever, rendering the page for each.
pub fn serve(listener: &TcpListener, page: impl Fn() -> Result<String, Failure>) -> ! {
    loop {
        if let Ok((stream, _)) = listener.accept() {
            // A client that disconnected must not stop the server.
            let _ = respond(stream, &page);
        }
    }
}

/// Serves one request and closes the connection (HTTP/1.1, RFC 9112).
fn respond(
    mut stream: TcpStream,
    page: impl Fn() -> Result<String, Failure>,
) -> std::io::Result<()> {
    let timeout = Some(Duration::from_secs(2));
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
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
        (
            "404 Not Found",
            "only GET /metrics is supported\n".to_owned(),
        )
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
        let mut stream = TcpStream::connect(address).expect("the server listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").expect("the request is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    #[test]
    fn only_the_page_is_served() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (listener, url) = bind(any).expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        assert_eq!(url, format!("http://{address}/metrics"));
        std::thread::spawn(move || serve(&listener, || Ok("a 1\n".to_owned())));
        let answer = ask(address, "/metrics");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\na 1\n"),
            "{answer}"
        );
        let other = ask(address, "/else");
        assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
        let in_use = bind(address).expect_err("the port is in use").to_string();
        assert!(
            in_use.contains(&format!("--prometheus {address}: ")),
            "{in_use}"
        );
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
