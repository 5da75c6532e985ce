//! Sockets that share their link through a file.
#![cfg(target_os = "linux")]

use duetime_due::{Message, Options, Rate, Socket};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);

/// File that is removed at the end.
struct LinkFile(PathBuf);

impl LinkFile {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("duetime-{name}-{}", std::process::id())))
    }
}

impl Drop for LinkFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn bind(path: &Path, gbps: u64) -> io::Result<Socket> {
    Socket::bind_shared("127.0.0.1:0", Options::new(Rate::from_gbps(gbps)), path)
}

/// Repeats `bind` until a dropped socket's thread has ended. Returns false after five seconds.
fn binds_soon(path: &Path, gbps: u64) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        bind(path, gbps).is_ok()
    })
}

#[test]
fn sockets_with_a_shared_link_receive_all_messages() {
    let file = LinkFile::new("all-messages");
    let receivers: Vec<Socket> = (0..4).map(|_| bind(&file.0, 1).unwrap()).collect();
    let source = Socket::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1))).unwrap();
    let mut receiving = Vec::new();
    for receiver in &receivers {
        let to = receiver.local_addr().unwrap();
        for index in 0..20_u8 {
            let message = Message::new(vec![index; 30_000]);
            let message = if index % 2 == 0 {
                message.within(LIMIT)
            } else {
                message
            };
            source.send(to, message).unwrap();
        }
        let receiver = receiver.clone();
        receiving.push(thread::spawn(move || {
            let next = || receiver.receive_timeout(LIMIT).unwrap().expect("a message");
            let mut indices: Vec<u8> = (0..20).map(|_| next().bytes[0]).collect();
            indices.sort_unstable();
            indices
        }));
    }
    for indices in receiving {
        assert!(indices.join().unwrap().into_iter().eq(0..20));
    }
}

/// 64 sockets can share a link. A closed socket frees its slot.
#[test]
fn number_of_sockets_is_limited() {
    let file = LinkFile::new("64-sockets");
    let mut sockets: Vec<Socket> = (0..64).map(|_| bind(&file.0, 1).unwrap()).collect();
    let error = bind(&file.0, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("64 sockets"), "{error}");
    drop(sockets.pop());
    assert!(binds_soon(&file.0, 1));
}

#[test]
fn rate_of_the_link_is_that_of_its_sockets() {
    let file = LinkFile::new("rate");
    let socket = bind(&file.0, 1).unwrap();
    let error = bind(&file.0, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let rates = "have a rate of 1000000000 bps, and this one of 10000000000 bps";
    assert!(error.to_string().contains(rates), "{error}");
    drop(socket);
    // Without sockets, the file is free for another rate.
    assert!(binds_soon(&file.0, 10));
}

#[test]
fn other_files_are_refused() {
    let file = LinkFile::new("other-file");
    for contents in [vec![b'x'; 10], vec![b'x'; 1 << 20]] {
        fs::File::create(&file.0)
            .unwrap()
            .write_all(&contents)
            .unwrap();
        let error = bind(&file.0, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(
            error.to_string().starts_with(file.0.to_str().unwrap()),
            "{error}"
        );
        assert_eq!(
            fs::read(&file.0).unwrap(),
            contents,
            "the file is unchanged"
        );
    }
    let error = bind(Path::new("/no/such/folder/link"), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
