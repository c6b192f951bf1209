//! `sinter mounts`: lists the images that are mounted.

use std::process::ExitCode;

use serde_json::json;
use sinterfs::Result;
use sinterfs::platform::names;

use crate::text;

/// List the mounted images (also: `sinter mount` without arguments).
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter mounts\n  sinter mounts --json | jq -r '.[].dir'")]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints a line for each mounted image.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mounts = sinterfs::mount::mounted_images()?;
    let bytes = |path: &std::path::Path| names::bytes(path).into_owned();
    if args.json {
        let list: Vec<_> = mounts
            .iter()
            .map(|mount| {
                json!({
                    "image": text::json_name(&bytes(&mount.source)),
                    "dir": text::json_name(&bytes(&mount.point)),
                    "type": mount.kind,
                })
            })
            .collect();
        text::print(&format!("{:#}\n", json!(list)))?;
    } else {
        for mount in mounts {
            let (image, dir) = (bytes(&mount.source), bytes(&mount.point));
            text::print(&format!(
                "{} on {} ({})\n",
                text::name(&image),
                text::name(&dir),
                mount.kind
            ))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
