//! Prometheus metrics over HTTP.

use std::fmt;
use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use duetime_play::http::{Method, Request, Response, Server, StatusCode, response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::{self, CONTENT_TYPE};
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::failure::Failure;
use crate::terminal::stderr;

/// Encodes a metric with one line per labelled value. The name of a counter is without its suffix `_total`.
pub fn encode<V: EncodeCounterValue + EncodeGaugeValue, L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder,
    (name, kind, help): (&str, MetricType, &str),
    values: impl Iterator<Item = (L, V)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in values {
        let mut line = metric.encode_family(&labels)?;
        match kind {
            MetricType::Counter => line.encode_counter::<L, V, u64>(&value, None)?,
            _ => line.encode_gauge(&value)?,
        }
    }
    Ok(())
}

/// Renders the metrics of a collector.
pub fn page(collector: impl Collector) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(collector));
    let mut page = String::new();
    prometheus_text::encode(&mut page, &registry).expect("a string accepts all text");
    page
}

/// Binds a server to `address`. Returns the server and the URL of its page.
pub fn bind(address: SocketAddr) -> Result<(Server, String), Failure> {
    let server = Server::bind(address)
        .map_err(|why| Failure::Input(format!("--prometheus {address}: {why}")))?;
    let url = format!("http://{}/metrics", server.address());
    Ok((server, url))
}

/// Serves requests until the process ends, rendering the page for each.
pub fn serve(
    server: Server,
    page: impl Fn() -> Result<String, Failure> + 'static,
) -> Result<(), Failure> {
    let page = Arc::new(page);
    let served = server.serve(pending(), move |request| answer(request, &*page));
    served.map_err(|why| Failure::Runs(format!("error: the metrics are not served: {why}")))
}

fn answer(request: &Request, page: impl Fn() -> Result<String, Failure>) -> Response {
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        let text = "only GET /metrics is supported\n";
        return response(StatusCode::NOT_FOUND, CONTENT_TYPE, text);
    }
    match page() {
        Ok(page) => response(StatusCode::OK, CONTENT_TYPE, page),
        Err(failure) => {
            let _ = writeln!(stderr(), "{failure}");
            response(
                StatusCode::SERVICE_UNAVAILABLE,
                CONTENT_TYPE,
                format!("{failure}\n"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpStream;

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
        let (server, url) = bind(any).expect("a port is free");
        let address = server.address();
        assert_eq!(url, format!("http://{address}/metrics"));
        std::thread::spawn(move || serve(server, || Ok("a 1\n".to_owned())));
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
}
