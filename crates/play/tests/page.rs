//! The server and the export, with a page of two small files.

use duetime_play::{File, PlayError, export, serve};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FILES: &[File] = &[
    File {
        name: "index.html",
        media_type: "text/html; charset=utf-8",
        content: b"<p>hello",
    },
    File {
        name: "m.wasm",
        media_type: "application/wasm",
        content: b"\0asm",
    },
];

/// A folder of its own for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn files_are_served_as_what_they_are_until_it_is_told_to_stop() {
    let served = serve(0).expect("a free port");
    let url = served.url();
    let place = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    assert!(place.starts_with("127.0.0.1:"), "{url}");
    let port: u16 = place
        .rsplit(':')
        .next()
        .and_then(|of| of.parse().ok())
        .expect("a port");
    assert!(matches!(serve(port), Err(PlayError::PortInUse(taken)) if taken == port));
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let server = std::thread::spawn(move || served.until(&told, FILES));
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(&place).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("it answers and closes");
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
    server.join().expect("no panic").expect("it stops");
}

#[test]
fn an_export_is_whole_or_not_there() {
    let folder = folder("export");
    let to = folder.join("new/page");
    export(FILES, &to).expect("a new folder");
    assert_eq!(fs::read(to.join("m.wasm")).expect("a file"), b"\0asm");
    let error = export(FILES, &to).expect_err("files are there").to_string();
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

#[test]
fn without_its_feature_there_is_no_page() {
    assert_eq!(duetime_play::page().is_some(), cfg!(feature = "page"));
}
