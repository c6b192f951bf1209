//! `sinter cache`: what is kept of remote images on disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;
use sinterfs::cache::{self, CacheOptions, CachedObject};
use sinterfs::{Error, FillOptions, OpenOptions, RemoteOptions, Result};

use crate::args::fetch::{FillRate, fill_rate};
use crate::args::remote::{self, ServerArgs};
use crate::{calendar, exit, size, text};

/// List, check and shrink the cache of remote images.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter cache ls
      List the images in the cache, the one used last first.
  sinter cache gc --limit 2G
      Remove images that nobody has open, until the rest takes at most 2 GiB.
  sinter cache warm https://host/image.dwarfs
      Fetch an image into the cache; then --offline needs no server.
  sinter cache warm --rate 10M https://host/image.dwarfs
      Leave others something of the line.
  sinter cache warm --prefetch list https://host/image.dwarfs
      Fetch what a start reads: the list is of `sinter mount --record`.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Verb {
    /// List the images.
    Ls {
        #[command(flatten)]
        at: At,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove images that nobody has open, those used longest ago first.
    Gc {
        #[command(flatten)]
        at: At,
        /// The size that the rest may have.
        #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = size::parse)]
        limit: u64,
    },
    /// Compare everything with its checksums, and drop what does not match.
    Verify {
        #[command(flatten)]
        at: At,
    },
    /// Download images.
    Warm(WarmArgs),
    /// Remove all images that nobody has open.
    Clear {
        #[command(flatten)]
        at: At,
    },
}

/// The image to download, and how.
#[derive(Debug, clap::Args)]
struct WarmArgs {
    #[command(flatten)]
    at: At,

    /// The size of the cache.
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = size::parse)]
    cache_limit: u64,

    /// Bytes a second (default: as fast as they come).
    #[arg(long, value_name = "RATE", value_parser = fill_rate)]
    rate: Option<FillRate>,

    /// Download only the ranges that were read when this list was recorded (`sinter mount
    /// --record`).
    #[arg(long, value_name = "LIST", conflicts_with = "rate")]
    prefetch: Option<PathBuf>,

    #[command(flatten)]
    servers: ServerArgs,

    /// The images.
    #[arg(value_name = "URL", required = true)]
    urls: Vec<PathBuf>,
}

/// Where the cache is.
#[derive(Debug, clap::Args)]
struct At {
    /// The directory of the cache (default: as for other commands).
    #[arg(long, value_name = "DIR")]
    cache: Option<OsString>,
}

impl At {
    fn directory(&self) -> Result<PathBuf> {
        let none = || Error::invalid("no cache in use: name a directory with --cache");
        remote::directory(self.cache.as_ref()).ok_or_else(none)
    }
}

/// Runs one of the verbs.
pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.verb {
        Verb::Ls { at, json } => list(&cache::list(&at.directory()?)?, *json)?,
        Verb::Gc { at, limit } => freed(cache::collect(&at.directory()?, *limit)?)?,
        Verb::Clear { at } => freed(cache::clear(&at.directory()?)?)?,
        Verb::Warm(args) => {
            let mut is_whole = true;
            for url in &args.urls {
                is_whole &= warm(url, args)?;
            }
            return Ok(ExitCode::from(if is_whole { 0 } else { exit::PARTIAL }));
        }
        Verb::Verify { at } => return verify(&at.directory()?),
    }
    Ok(ExitCode::SUCCESS)
}

fn freed(bytes: u64) -> Result<()> {
    text::print(&format!("freed {}\n", size::human(bytes)))
}

fn list(objects: &[CachedObject], as_json: bool) -> Result<()> {
    let seconds = |object: &CachedObject| {
        let since = object.used.duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| {
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
        })
    };
    if as_json {
        let row = |object: &CachedObject| {
            json!({
                "url": object.url,
                "length": object.len,
                "stored": object.stored,
                "used": seconds(object),
            })
        };
        let rows: Vec<_> = objects.iter().map(row).collect();
        return text::print(&format!("{:#}\n", json!(rows)));
    }
    for object in objects {
        let url = object.url.as_deref().unwrap_or("(damaged)");
        text::print(&format!(
            "{:>8} of {:>8}  {}  {}\n",
            size::human(object.stored),
            size::human(object.len),
            calendar::utc(seconds(object)),
            text::name(url.as_bytes()),
        ))?;
    }
    Ok(())
}

/// Fetches an image, or only recorded ranges; returns whether all of that is in the cache.
fn warm(url: &Path, how: &WarmArgs) -> Result<bool> {
    if !sinterfs::is_url(url) {
        return Err(Error::invalid("not a URL of a remote image").path(url));
    }
    let cache = CacheOptions {
        limit: how.cache_limit,
        warn: |error| text::warn(&format!("not cached: {error}")),
        ..CacheOptions::new(how.at.directory()?)
    };
    let options = OpenOptions {
        remote: RemoteOptions {
            cache: Some(cache),
            ..how.servers.options()
        },
        ..OpenOptions::default()
    };
    let shown = sinterfs::shown(url);
    let shown = text::name(shown.as_os_str().as_encoded_bytes());
    let is_whole = match &how.prefetch {
        Some(list) => {
            let reads = remote::recorded(list)?;
            let (bytes, is_whole) = sinterfs::warm_start(url, &reads, &options)?;
            text::print(&format!("{shown}: {} of a start\n", size::human(bytes)))?;
            is_whole
        }
        None => {
            let rate = how.rate.and_then(|rate| rate.rate);
            let (filled, len) = sinterfs::warm(url, FillOptions { rate }, &options)?;
            text::print(&format!("{shown}: {}\n", size::human(len)))?;
            filled.is_whole
        }
    };
    if !is_whole {
        text::warn(&format!("{shown}: the cache takes no more of the image"));
    }
    Ok(is_whole)
}

fn verify(directory: &Path) -> Result<ExitCode> {
    let (mut checked, mut damaged) = (0_u64, 0_u64);
    for (object, damage) in cache::verify(directory)? {
        checked = checked.saturating_add(damage.checked);
        damaged = damaged.saturating_add(damage.damaged);
        if damage.damaged > 0 {
            let url = object.url.as_deref().unwrap_or("(damaged)");
            text::warn(&format!(
                "{url}: {} of {} leaves damaged",
                damage.damaged, damage.checked
            ));
        }
    }
    text::print(&format!("{checked} leaves of 64 KiB, {damaged} damaged\n"))?;
    Ok(ExitCode::from(if damaged == 0 { 0 } else { exit::PARTIAL }))
}
