//! Compiles the kernel programs, with the feature `bpf`.

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-changed=include");
    println!("cargo::rerun-if-changed=tests/wire/wire.bpf.c");
    #[cfg(feature = "bpf")]
    {
        compile("src/bpf/duetime.bpf.c", "duetime.o");
        compile("tests/wire/wire.bpf.c", "wire.o");
    }
}

#[cfg(feature = "bpf")]
fn compile(source: &str, object: &str) {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let built = libbpf_cargo::SkeletonBuilder::new()
        .source(source)
        .obj(out.join(object))
        .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Werror"])
        .build();
    assert!(
        built.is_ok(),
        "the kernel programs do not compile; they require clang 14 or newer, libelf-dev and zlib1g-dev \
         (script/bootstrap --lab): {built:?}"
    );
}
