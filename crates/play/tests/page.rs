//! Server and export of a page with two small files.

use duetime_play::http::{CONNECTIONS, HEADER_TIMEOUT, Server, StatusCode, response};
use duetime_play::{File, PlayError, export, serve};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const FILES: &[File] = &[
    File {
        name: "index.html",
        media_type: "text/html; charset=utf-8",
        content: b"<p>hello",
        gzip: None,
    },
    File {
        name: "m.wasm",
        media_type: "application/wasm",
        content: b"\0asm",
        gzip: Some(b"packed"),
    },
];

/// Creates an empty folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn serves_files_until_stopped() {
    let served = serve(0).expect("a free port");
    let url = served.url();
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{url}");
    let port: u16 = address
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    assert!(matches!(serve(port), Err(PlayError::PortInUse(taken)) if taken == port));
    let stop = Arc::new(AtomicBool::new(false));
    let stop_flag = Arc::clone(&stop);
    let server = std::thread::spawn(move || served.until(&stop_flag, FILES));
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(&address).expect("the server listens");
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("the server answers and closes");
        answer
    };
    let get = |line: &str| {
        ask(&format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ))
    };
    let page = get("GET /");
    assert!(
        page.starts_with("HTTP/1.1 200") && page.ends_with("<p>hello"),
        "{page}"
    );
    assert!(
        page.contains("content-type: text/html") && page.contains("default-src 'none'"),
        "{page}"
    );
    assert!(get("GET /m.wasm?x=1").contains("content-type: application/wasm"));
    for (accepted, body, encoded) in [
        ("gzip, deflate, br, zstd", "packed", true),
        ("br;q=1.0, GZIP ; q=0.5", "packed", true),
        ("*", "packed", true),
        ("identity", "\0asm", false),
        ("", "\0asm", false),
        ("*;q=0.1, gzip;q=0", "\0asm", false),
        ("gzip;q=nonsense", "\0asm", false),
    ] {
        let module = ask(&format!(
            "GET /m.wasm HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: {accepted}\r\n\r\n"
        ));
        assert!(module.ends_with(&format!("\r\n\r\n{body}")), "{module}");
        assert_eq!(
            module.contains("content-encoding: gzip"),
            encoded,
            "{module}"
        );
        assert!(module.contains("vary: Accept-Encoding"), "{module}");
        assert!(
            module.contains("content-type: application/wasm"),
            "{module}"
        );
    }
    let plain = get("GET /m.wasm");
    assert!(
        plain.ends_with("\0asm") && !plain.contains("content-encoding"),
        "{plain}"
    );
    let head = get("HEAD /index.html");
    assert!(
        head.contains("content-length: 8") && !head.contains("hello"),
        "{head}"
    );
    for path in ["/none", "/../Cargo.toml", "/%2e%2e/x", "//etc/passwd"] {
        assert!(
            get(&format!("GET {path}")).starts_with("HTTP/1.1 404"),
            "{path}"
        );
    }
    assert!(get("POST /").starts_with("HTTP/1.1 405"));
    assert!(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    stop.store(true, Ordering::SeqCst);
    server.join().expect("no panic").expect("the server stops");
}

#[test]
fn slow_clients_do_not_block_the_server() {
    let server = Server::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let address = server.address();
    std::thread::spawn(move || {
        let answer = |_: &_| response(StatusCode::OK, "text/plain", "hello");
        server.serve(std::future::pending(), answer)
    });
    // As many clients as the server accepts at once; each second one sends nothing, the others a part of a request.
    let slow: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|number| {
            let mut stream = TcpStream::connect(address).expect("the server listens");
            let sent = &b"GET / HTTP"[..5 * (number % 2)];
            stream.write_all(sent).expect("the server reads");
            stream
        })
        .collect();
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).expect("the server listens");
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    assert!(began.elapsed() < 5 * HEADER_TIMEOUT);
    drop(slow);
}

#[test]
fn export_is_complete_or_absent() {
    let folder = folder("export");
    let to = folder.join("new/page");
    export(FILES, &to).expect("a new folder");
    assert_eq!(fs::read(to.join("m.wasm")).expect("a file"), b"\0asm");
    assert_eq!(fs::read(to.join("m.wasm.gz")).expect("a file"), b"packed");
    assert!(!to.join("index.html.gz").exists());
    let error = export(FILES, &to)
        .expect_err("the folder is not empty")
        .to_string();
    assert!(
        error.contains("not empty") && error.contains("allowed"),
        "{error}"
    );
    let empty = folder.join("empty");
    fs::create_dir(&empty).expect("a folder");
    export(FILES, &empty).expect("an empty folder");
    let file = folder.join("file");
    fs::write(&file, "").expect("a file");
    let error = export(FILES, &file).expect_err("a file").to_string();
    assert!(error.contains("not a folder"), "{error}");
    let below = file.join("page");
    assert!(export(FILES, &below).is_err());
    let names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(
        names.iter().filter(|name| name.contains("partial")).count(),
        0,
        "{names:?}"
    );
}

/// The page is served without the documents, so its links lead to the repository.
#[test]
fn links_lead_to_repository_documents() {
    let page = include_str!("../../../playground/index.html");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let links = page.split("href=\"https").skip(1);
    let links: Vec<String> = links
        .map(|rest| format!("https{}", rest.split('"').next().expect("an address")))
        .collect();
    assert!(links.len() >= 4, "{links:?}");
    for link in links {
        let place = link.strip_prefix(repository);
        let place = place.unwrap_or_else(|| panic!("{link}: not in {repository}"));
        let path = ["/blob/main/", "/tree/main/"].map(|kind| place.strip_prefix(kind));
        if let Some(path) = path.into_iter().flatten().next() {
            assert!(root.join(path).exists(), "{link}: no such document");
        }
    }
}

#[test]
fn page_requires_its_feature() {
    assert_eq!(duetime_play::page().is_some(), cfg!(feature = "page"));
}
