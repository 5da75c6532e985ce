//! `duetime play`, as far as no browser is needed: `script/playground` opens the page.

mod sandbox;

use sandbox::Sandbox;

#[cfg(not(feature = "play"))]
#[test]
fn without_the_page_it_says_how_to_get_it() {
    let sandbox = Sandbox::new("play-without");
    let told = [
        "--features play",
        "rustup target add wasm32-unknown-unknown",
    ];
    sandbox.duetime("play --export page").refused(&told);
    assert!(sandbox.names().is_empty());
}

#[cfg(feature = "play")]
#[test]
fn the_export_is_whole_and_never_mixed_with_other_files() {
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
fn a_port_is_a_number() {
    let sandbox = Sandbox::new("play-port");
    sandbox
        .duetime("play --port 70000")
        .refused(&["70000", "65535"]);
    sandbox
        .duetime("play --port 1 --export page")
        .refused(&["cannot be used with"]);
}
