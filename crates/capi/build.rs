//! Names the shared library for the dynamic loader: by the stable interface.

#![allow(clippy::print_stdout, reason = "cargo reads it")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsinterfs.so.0");
    }
}
