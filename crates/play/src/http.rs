//! HTTP/1.1 server for small responses. A slow client cannot block it: connections are limited in number and time.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

pub use hyper::{Method, StatusCode};

/// Request, whose body is ignored.
pub type Request = hyper::Request<Incoming>;
/// Response.
pub type Response = hyper::Response<Full<Bytes>>;

/// Maximum number of simultaneous connections. Further ones wait.
pub const CONNECTIONS: usize = 64;
/// Maximum time until a client has sent the header of its request.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum duration of a connection, which serves one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(1);
/// Delay after a failed accept, for example because too many files are open.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Server with a bound port.
#[derive(Debug)]
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on `address`. Port 0 stands for a free port.
    ///
    /// # Errors
    /// If the address is in use or not allowed.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests on this thread until `stop` is ready.
    ///
    /// # Errors
    /// If the operating system provides no event queue.
    pub fn serve(
        self,
        stop: impl Future<Output = ()>,
        answer: impl Fn(&Request) -> Response + Clone + 'static,
    ) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::from_std(self.listener)?;
            tokio::task::spawn_local(accept(listener, answer));
            stop.await;
            Ok(())
        })
    }
}

async fn accept(listener: TcpListener, answer: impl Fn(&Request) -> Response + Clone + 'static) {
    let open = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&open).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(RETRY_DELAY).await;
            continue;
        };
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let response = answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::task::spawn_local(async move {
            // Clients may disconnect at any time.
            let _ = timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

/// Builds a response. For HEAD, hyper omits the body and states its length.
pub fn response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = hyper::Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}
