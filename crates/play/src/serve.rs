//! HTTP server of the page, for this machine only.

use crate::{File, PlayError};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Maximum number of simultaneous connections. Further ones wait.
const CONNECTIONS: usize = 64;
/// Interval of checks for the stop flag, and delay after a failed accept.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Policy that allows only the page's own files and compiling the module.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";

/// Server of the page.
pub struct Served {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

/// Listens on 127.0.0.1 at `port`, or at a free port for 0. [`Served::until`] answers the requests.
///
/// # Errors
/// If the port is in use or not allowed.
pub fn serve(port: u16) -> Result<Served, PlayError> {
    let bound = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Served { listener, address })
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => PlayError::PortInUse(port),
        io::ErrorKind::PermissionDenied => PlayError::PortForbidden(port),
        _ => PlayError::Listen { port, source },
    })
}

impl Served {
    /// Returns the URL of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves these files until `stop` is set.
    pub fn until(self, stop: &AtomicBool, files: &'static [File]) -> Result<(), PlayError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(PlayError::Serve)?;
        runtime.block_on(async {
            let listener = TcpListener::from_std(self.listener).map_err(PlayError::Serve)?;
            tokio::spawn(accept(listener, files));
            stopped(stop).await;
            Ok(())
        })
    }
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn accept(listener: TcpListener, files: &'static [File]) {
    let open = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&open).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // A temporary error, such as too many open files.
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        tokio::spawn(async move {
            let answer =
                service_fn(
                    move |request| async move { Ok::<_, Infallible>(answer(&request, files)) },
                );
            // Browsers may disconnect at any time.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(permit);
        });
    }
}

fn answer(request: &Request<Incoming>, files: &'static [File]) -> Response<Full<Bytes>> {
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
fn content(file: &File, gzip: bool) -> Response<Full<Bytes>> {
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

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    with(status, "text/plain; charset=utf-8", text.as_bytes())
}

/// Builds a response. For HEAD, hyper omits the body and states its length.
fn with(
    status: StatusCode,
    media_type: &'static str,
    body: &'static [u8],
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
