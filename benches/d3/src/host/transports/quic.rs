//! One QUIC stream, using quinn with its defaults. Unlike the other transports, QUIC encrypts.

use super::super::network::Side;
use super::super::process::Meter;
use super::{CHUNK, address};
use quinn::{ClientConfig, Endpoint, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name in the receiver's certificate.
const NAME: &str = "receiver";

pub(super) fn send(
    certificate: &str,
    duration: Duration,
    meter: &mut Meter,
) -> Result<(u64, f64), Box<dyn Error>> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(from_hex(certificate)?))?;
    runtime()?.block_on(async {
        let mut endpoint = Endpoint::client(address(Side::Sender))?;
        endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
        let connection = endpoint.connect(address(Side::Receiver), NAME)?.await?;
        let mut stream = connection.open_uni().await?;
        meter.start()?;
        let (start, chunk) = (Instant::now(), vec![7; CHUNK]);
        let mut bytes = 0;
        while start.elapsed() < duration {
            bytes += stream.write(&chunk).await? as u64;
        }
        stream.finish()?;
        stream.stopped().await?;
        let seconds = start.elapsed().as_secs_f64();
        connection.close(0_u32.into(), &[]);
        endpoint.wait_idle().await;
        Ok((bytes, seconds))
    })
}

pub(super) fn receive(meter: &mut Meter) -> Result<(u64, f64), Box<dyn Error>> {
    let generated = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let certificate = generated.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(generated.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    runtime()?.block_on(async {
        let endpoint = Endpoint::server(config, address(Side::Receiver))?;
        meter.ready(&to_hex(&certificate))?;
        let connection = endpoint.accept().await.ok_or("no connection")?.await?;
        let mut stream = connection.accept_uni().await?;
        let mut chunk = vec![0; CHUNK];
        let mut bytes = stream.read(&mut chunk).await?.unwrap_or(0) as u64;
        let start = Instant::now();
        while let Some(more) = stream.read(&mut chunk).await? {
            bytes += more as u64;
        }
        let seconds = start.elapsed().as_secs_f64();
        // The sender closes the connection after learning that all data has arrived.
        connection.closed().await;
        Ok((bytes, seconds))
    })
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

/// Encodes bytes as hexadecimal digits.
fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn from_hex(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?))
        .collect()
}
