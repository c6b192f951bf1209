//! Mounts an image until it is unmounted: `cargo run --example mount -- IMAGE DIR`.

use std::path::Path;

use sinterfs::mount::{MountMethod, MountOptions, Mounted, mount};

/// Mounts an image through FUSE, which needs no privileges; threads of this process serve it.
pub fn run(image: &Path, dir: &Path) -> Result<Mounted, Box<dyn std::error::Error>> {
    let image = sinterfs::open(image)?;
    image.decode_ahead();
    let options = MountOptions::default();
    Ok(mount(&image, dir, &options, MountMethod::Fuse)?)
}

#[allow(dead_code, reason = "a test includes this file as a module")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [image, dir] = &arguments[..] else {
        return Err("usage: mount IMAGE DIR".into());
    };
    let mut mounted = run(image.as_ref(), dir.as_ref())?;
    mounted.session.serve()?;
    Ok(())
}
