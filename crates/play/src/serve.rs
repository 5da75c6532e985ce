//! The page over HTTP, for this machine only.

use crate::http::{self, Method, Request, Response, Server, StatusCode};
use crate::{File, PlayError};
use hyper::header::{self, HeaderMap, HeaderValue};
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval of checks for the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Policy that allows only the page's own files and compiling the module.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";

/// Server of the page.
pub struct Served(Server);

/// Listens on 127.0.0.1 at `port`, or at a free port for 0. [`Served::until`] answers the requests.
///
/// # Errors
/// If the port is in use or not allowed.
pub fn serve(port: u16) -> Result<Served, PlayError> {
    let bound = Server::bind((Ipv4Addr::LOCALHOST, port).into());
    bound.map(Served).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => PlayError::PortInUse(port),
        io::ErrorKind::PermissionDenied => PlayError::PortForbidden(port),
        _ => PlayError::Listen { port, source },
    })
}

impl Served {
    /// Returns the URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.0.address())
    }

    /// Serves these files until `stop` is set.
    pub fn until(self, stop: &AtomicBool, files: &'static [File]) -> Result<(), PlayError> {
        let stopped = async {
            while !stop.load(Ordering::SeqCst) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let served = self.0.serve(stopped, move |request| answer(request, files));
        served.map_err(PlayError::Serve)
    }
}

fn answer(request: &Request, files: &'static [File]) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD are supported\n",
        );
    }
    let name = match request.uri().path().trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    match files.iter().find(|file| file.name == name) {
        Some(file) => content(file, accepts_gzip(request.headers())),
        None => plain(StatusCode::NOT_FOUND, "no such file\n"),
    }
}

/// Responds with the file, compressed if the client accepts gzip.
fn content(file: &File, gzip: bool) -> Response {
    let Some(packed) = file.gzip else {
        return with(StatusCode::OK, file.media_type, file.content);
    };
    let body = if gzip { packed } else { file.content };
    let mut response = with(StatusCode::OK, file.media_type, body);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Returns true if `Accept-Encoding` lists gzip, or any encoding, with a weight above zero (RFC 9110 §12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let codings = values.filter_map(|value| value.to_str().ok());
    let weights = codings.flat_map(|value| value.split(',')).map(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().trim_start_matches(['q', 'Q', '=', ' ']);
        (name.trim(), weight.parse::<f64>().unwrap_or(0.0))
    });
    let weights: Vec<(&str, f64)> = weights.collect();
    let find = |coding_name: &str| {
        let mut all = weights.iter();
        all.find(|(name, _)| name.eq_ignore_ascii_case(coding_name))
    };
    // `*` matches encodings that are not listed.
    let found = find("gzip").or_else(|| find("*"));
    found.is_some_and(|&(_, weight)| weight > 0.0)
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    with(status, "text/plain; charset=utf-8", text.as_bytes())
}

fn with(status: StatusCode, media_type: &'static str, body: &'static [u8]) -> Response {
    let mut response = http::response(status, media_type, body);
    for (name, value) in [
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
