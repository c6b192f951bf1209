//! `--prefetch` and `--fill` of `sinter mount`: what of a remote image is fetched before anybody
//! reads it.
//!
//! In: flags and mount options. Out: wishes for the remote image. **Invariant:** of an image in a
//! file they are refused.

#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only mounts fetch ahead")
)]

use std::path::{Path, PathBuf};

use sinterfs::{Error, Result};

use crate::size;

/// The ranges to fetch.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Remote images")]
pub struct FetchArgs {
    /// Fetch at once the ranges that an earlier --record of the same remote image wrote to this
    /// list.
    #[arg(long, value_name = "LIST")]
    prefetch: Option<PathBuf>,

    /// Fetch the rest of a remote image into the cache while it is mounted, as fast as it comes or
    /// at this many bytes a second, until the cache is full. Reads go first.
    #[arg(long, value_name = "RATE", num_args = 0..=1, require_equals = true,
          default_missing_value = "max", value_parser = fill_rate)]
    fill: Option<FillRate>,
}

/// How fast the rest is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillRate {
    /// Bytes a second; `None` for no limit.
    #[cfg_attr(
        not(feature = "remote"),
        allow(dead_code, reason = "nothing is fetched then")
    )]
    pub rate: Option<u64>,
}

/// The requested prefetch.
#[derive(Debug, Clone, Default)]
pub struct FetchWishes {
    pub prefetch: Option<PathBuf>,
    pub fill: Option<FillRate>,
}

/// Parses a rate: a size, or `max`.
pub fn fill_rate(text: &str) -> std::result::Result<FillRate, String> {
    match text {
        "" | "max" => Ok(FillRate { rate: None }),
        text => match size::parse(text)? {
            0 => Err("a rate of 0 fetches nothing".to_owned()),
            rate => Ok(FillRate { rate: Some(rate) }),
        },
    }
}

impl FetchArgs {
    /// Returns the prefetch that the flags request.
    pub fn wishes(&self) -> FetchWishes {
        FetchWishes {
            prefetch: self.prefetch.clone(),
            fill: self.fill,
        }
    }
}

impl FetchWishes {
    /// Sets the prefetch that a mount option requests: `prefetch=LIST`, or `fill` with or without a
    /// rate.
    pub fn set(&mut self, option: &str) -> std::result::Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "fill" => self.fill = Some(fill_rate(value)?),
            _ if value.is_empty() => return Err("the path is missing".to_owned()),
            _ => self.prefetch = Some(value.into()),
        }
        Ok(())
    }

    /// Returns whether anything is wished. `Invalid` if that cannot be had of these images.
    pub fn are_of<'a>(&self, images: impl Iterator<Item = &'a Path>) -> Result<bool> {
        if self.prefetch.is_none() && self.fill.is_none() {
            return Ok(false);
        }
        let images: Vec<_> = images.collect();
        if !images.iter().all(|image| sinterfs::is_url(image)) {
            return Err(Error::invalid(
                "--prefetch and --fill are for remote images, and an image is a local file",
            ));
        }
        if self.prefetch.is_some() && images.len() > 1 {
            return Err(Error::invalid("--prefetch can be given for one image only"));
        }
        Ok(true)
    }
}
