//! C interface, used from C and Python.

#![expect(clippy::print_stderr, reason = "tests print why they are skipped")]

#[path = "../../udp/tests/clibrary/mod.rs"]
mod clibrary;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn c_programs_exchange_data() {
    let library = clibrary::build("d3", "c-d3");
    library.check_symbols();
    let output = library.run(&Path::new(FOLDER).join("tests/exchange.c"));
    assert_eq!(output, "300000 bytes, in order\n");
    let output = library.run(&Path::new(FOLDER).join("tests/streams.c"));
    assert_eq!(output, "50 streams each\n");
}

#[test]
fn python_programs_exchange_data() {
    let examples = Path::new(FOLDER).join("examples/python");
    if clibrary::python(&examples, Path::new(SCRATCH)).is_none() {
        eprintln!("skipped: Python is not installed");
        return;
    }
    let library = clibrary::build("d3", "python-d3").path();
    let python = |program: &str| {
        let program = examples.join(program);
        let mut python = clibrary::python(&program, Path::new(SCRATCH)).expect("Python");
        python.env("DUETIME_D3", &library);
        python
    };
    let mut server = python("server.py")
        .args(["127.0.0.1:0", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut port = String::new();
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    output.read_line(&mut port).expect("the server's port");
    let address = format!("127.0.0.1:{}", port.trim());
    for _ in 0..2 {
        let client = python("client.py")
            .args([&address, "better never than late"])
            .output()
            .expect("python3 runs");
        assert!(
            client.status.success(),
            "{}",
            String::from_utf8_lossy(&client.stderr)
        );
        let output = String::from_utf8_lossy(&client.stdout);
        assert!(
            output.starts_with("88000 bytes: BETTER NEVER THAN LATE…; "),
            "{output}"
        );
    }
    assert!(server.wait().expect("ended").success());

    // Waits have a limit, and end at an interrupt. Many streams do not wait for a slow one.
    for program in ["waits.py", "streams.py"] {
        let run = python(&format!("../../tests/{program}")).output();
        let run = run.expect("python3 runs");
        let error = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{program}: {error}");
    }

    // Failures raise an exception with the library's message.
    let refused = python("client.py")
        .args(["nonsense", "query"])
        .output()
        .expect("python3 runs");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && error.contains("D3Error: (1, 'invalid socket address"),
        "{error}"
    );
}
