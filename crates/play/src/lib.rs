//! The playground: a page with the simulator in it, as files that any web server takes ([`export`]), and over HTTP on this
//! machine alone ([`serve`]). With the feature `page` the files are in the program ([`page`]).

#![forbid(unsafe_code)]

mod export;
mod serve;

pub use export::export;
pub use serve::{Served, serve};

use std::io;
use std::path::PathBuf;

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, in the page's one folder.
    pub name: &'static str,
    /// What a browser must be told that it is.
    pub media_type: &'static str,
    /// Its content.
    pub content: &'static [u8],
    /// The content with gzip, for browsers that accept it; `None` for a file that is served plain only.
    pub gzip: Option<&'static [u8]>,
}

/// Why the page cannot be served or exported. Each message names the value and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// Another program listens there.
    #[error("port {0} is in use: choose another by --port, or 0 for any that is free")]
    PortInUse(u16),
    /// The system does not give it to this user.
    #[error(
        "port {0} is not allowed for this user: choose one above 1023 by --port, or 0 for any that is free"
    )]
    PortForbidden(u16),
    /// Listening fails for another reason.
    #[error("127.0.0.1:{port}: cannot listen: {source}")]
    Listen {
        /// The port asked for.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The server cannot go on.
    #[error("the server stopped: {0}")]
    Serve(io::Error),
    /// There is something in the folder.
    #[error("{}: the folder is not empty; allowed: a folder that is empty or does not exist", .0.display())]
    NotEmpty(PathBuf),
    /// There is a file of that name.
    #[error("{}: not a folder; allowed: a folder that is empty or does not exist", .0.display())]
    NotFolder(PathBuf),
    /// A file cannot be written; none is left there.
    #[error("{}: cannot write the page there: {source}", path.display())]
    Write {
        /// The folder asked for.
        path: PathBuf,
        /// Why.
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

/// The files of the page, `index.html` first.
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

/// The files of the page, `index.html` first; `None` if this program was built without the feature `page`.
pub fn page() -> Option<&'static [File]> {
    #[cfg(feature = "page")]
    return Some(&PAGE);
    #[cfg(not(feature = "page"))]
    None
}
