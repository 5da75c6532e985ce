//! Asynchronous streams with tokio's traits.

use crate::endpoint::accept;
use crate::{Endpoint, Flow, Listener, Policy, Stream, StreamError};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

impl Endpoint {
    /// Opens a stream and waits for the peer's reply.
    pub async fn connect_async(
        &self,
        peer: SocketAddr,
        flow: Flow,
        policy: &Policy,
    ) -> io::Result<Stream> {
        let stream = self.start(peer, flow, policy)?;
        let id = stream.id();
        poll_fn(|context| {
            let shared = &self.shared;
            shared.poll(Some(id), context, |endpoint, _| endpoint.connection(id))
        })
        .await?;
        Ok(stream)
    }
}

impl Listener {
    /// Waits for the next stream.
    pub async fn accept_async(&self) -> io::Result<(Stream, SocketAddr)> {
        let shared = &self.endpoint().shared;
        let accepted = poll_fn(|context| shared.poll(None, context, accept)).await?;
        Ok(self.stream(accepted))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let id = self.id();
        let read = self.shared().poll(Some(id), context, |endpoint, now| {
            endpoint.read(now, id, buffer.initialize_unfilled())
        });
        buffer.advance(ready!(read)?);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let id = self.id();
        self.shared().poll(Some(id), context, |endpoint, now| {
            endpoint.write(now, id, data)
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the outgoing flow and waits until the peer has received it.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let id = self.id();
        self.shared().poll(Some(id), context, |endpoint, now| {
            endpoint.finish(now, id)?;
            match endpoint.delivery(id) {
                Err(StreamError::NoStream) => Ok(()),
                delivery => delivery,
            }
        })
    }
}
