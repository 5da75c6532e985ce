//! `duetime play` without a browser. `script/browser playground` tests the page.

use crate::sandbox::Sandbox;

#[cfg(not(feature = "play"))]
#[test]
fn build_without_page_is_refused() {
    let sandbox = Sandbox::new("play-without");
    let parts = [
        "--features play",
        "rustup target add wasm32-unknown-unknown",
    ];
    sandbox.duetime("play --export page").refused(&parts);
    assert!(sandbox.names().is_empty());
}

#[cfg(feature = "play")]
#[test]
fn export_requires_an_empty_folder() {
    let sandbox = Sandbox::new("play-export");
    sandbox.duetime("play --export page").ok();
    assert!(sandbox.read("page/index.html").contains("app.js"));
    let module = std::fs::read(sandbox.0.join("page/duetime.wasm")).expect("the module");
    assert_eq!(&module[..4], b"\0asm");
    sandbox
        .duetime("play --export page")
        .refused(&["page: the folder is not empty", "allowed"]);
    assert_eq!(sandbox.names(), ["page"]);
}

#[test]
fn invalid_port_is_refused() {
    let sandbox = Sandbox::new("play-port");
    sandbox
        .duetime("play --port 70000")
        .refused(&["70000", "65535"]);
    sandbox
        .duetime("play --port 1 --export page")
        .refused(&["cannot be used with"]);
}
