//! Mounts an image until it is unmounted: `cargo run --example mount -- IMAGE DIR`.

#![allow(clippy::print_stderr, reason = "a program for the terminal")]

use std::path::Path;

use sinterfs::mount::{MountMethod, Mounted, Mounter};

/// Mounts an image through FUSE, which needs no privileges; threads of this process serve it.
pub fn run(image: &Path, dir: &Path) -> Result<Mounted, Box<dyn std::error::Error>> {
    let mounter = Mounter {
        method: MountMethod::Fuse,
        ..Mounter::default()
    };
    Ok(mounter.mount(&[image], dir)?)
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [image, dir] = &arguments[..] else {
        return Err("usage: mount IMAGE DIR".into());
    };
    let mut mounted = run(image.as_ref(), dir.as_ref())?;
    for warning in mounted.take_warnings() {
        eprintln!("{warning}");
    }
    if let Some(mut session) = mounted.session {
        session.serve()?;
    }
    Ok(())
}
