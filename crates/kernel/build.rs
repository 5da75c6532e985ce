//! Compiles the programs for the kernel, with the feature `bpf`.

fn main() {
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-changed=include");
    #[cfg(feature = "bpf")]
    programs();
}

#[cfg(feature = "bpf")]
fn programs() {
    let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let built = libbpf_cargo::SkeletonBuilder::new()
        .source("src/bpf/duetime.bpf.c")
        .obj(out.join("duetime.o"))
        .clang_args(["-mcpu=v3", "-Wall", "-Wextra", "-Werror"])
        .build();
    assert!(
        built.is_ok(),
        "the programs for the kernel do not compile; they need clang 14 or newer, libelf-dev and zlib1g-dev \
         (script/bootstrap --lab): {built:?}"
    );
}
