//! Links the program so that an idle hub needs less memory. Relative relocations are a table that the loader reads from end to
//! end; packed, it has 12 KiB instead of 1.4 MiB. Linkers that do not know the word leave it.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
