//! The playground, a web page that contains the simulator. It can be exported as files for any web server ([`export`])
//! or served over HTTP on this machine ([`serve`]). The feature `page` embeds the files ([`page`]). The server ([`http`])
//! also serves the metrics of other commands.

#![forbid(unsafe_code)]

mod export;
pub mod http;
mod serve;

pub use export::export;
pub use serve::{Served, serve};

use std::io;
use std::path::PathBuf;

/// File of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Name within the page's folder.
    pub name: &'static str,
    /// Media type for the `Content-Type` header.
    pub media_type: &'static str,
    /// Content of the file.
    pub content: &'static [u8],
    /// Content compressed with gzip, or `None` if the file is served uncompressed only.
    pub gzip: Option<&'static [u8]>,
}

/// Reasons why the page cannot be served or exported. Messages name the value and the allowed ones.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The port is used by another program.
    #[error("port {0} is in use: choose another with --port, or 0 for a free port")]
    PortInUse(u16),
    /// The port is not allowed for this user.
    #[error(
        "port {0} is not allowed for this user: choose one above 1023 with --port, or 0 for a free port"
    )]
    PortForbidden(u16),
    /// Listening failed for another reason.
    #[error("127.0.0.1:{port}: cannot listen: {source}")]
    Listen {
        /// Requested port.
        port: u16,
        /// Underlying error.
        source: io::Error,
    },
    /// The server failed.
    #[error("the server stopped: {0}")]
    Serve(io::Error),
    /// The folder is not empty.
    #[error("{}: the folder is not empty; allowed: a folder that is empty or does not exist", .0.display())]
    NotEmpty(PathBuf),
    /// The path is a file.
    #[error("{}: not a folder; allowed: a folder that is empty or does not exist", .0.display())]
    NotFolder(PathBuf),
    /// A file could not be written. No files are left.
    #[error("{}: cannot write the page: {source}", path.display())]
    Write {
        /// Requested folder.
        path: PathBuf,
        /// Underlying error.
        source: io::Error,
    },
}

#[cfg(feature = "page")]
macro_rules! file {
    ($name:literal, $media_type:literal) => {
        File {
            name: $name,
            media_type: $media_type,
            content: include_bytes!(concat!("../../../playground/", $name)),
            gzip: None,
        }
    };
}

/// Files of the page, `index.html` first.
#[cfg(feature = "page")]
pub const PAGE: [File; 12] = [
    file!("index.html", "text/html; charset=utf-8"),
    file!("style.css", "text/css; charset=utf-8"),
    file!("app.js", "text/javascript; charset=utf-8"),
    file!("canvas.js", "text/javascript; charset=utf-8"),
    file!("drawing.js", "text/javascript; charset=utf-8"),
    file!("page.js", "text/javascript; charset=utf-8"),
    file!("share.js", "text/javascript; charset=utf-8"),
    file!("simulator.js", "text/javascript; charset=utf-8"),
    file!("story.js", "text/javascript; charset=utf-8"),
    file!("worker.js", "text/javascript; charset=utf-8"),
    file!("icon.svg", "image/svg+xml"),
    File {
        name: "duetime.wasm",
        media_type: "application/wasm",
        content: include_bytes!(concat!(env!("OUT_DIR"), "/duetime.wasm")),
        gzip: Some(include_bytes!(concat!(env!("OUT_DIR"), "/duetime.wasm.gz"))),
    },
];

/// Returns the files of the page, `index.html` first, or `None` without the feature `page`.
pub fn page() -> Option<&'static [File]> {
    #[cfg(feature = "page")]
    return Some(&PAGE);
    #[cfg(not(feature = "page"))]
    None
}
