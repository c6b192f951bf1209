//! `sinter ls`: lists an image in the form of `ls`, `ls -l`, `find` or JSON lines.

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use serde_json::json;
use sinterfs::model::Image;
use sinterfs::ops::{Follow, ListOptions, Row, WalkStep, list, resolve, row};
use sinterfs::{Error, FileType, Result};

use crate::args::input::ImageArgs;
use crate::{calendar, text};

/// List the files of an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter ls image.dwarfs
      List the root directory.
  sinter ls -lR image.dwarfs usr/bin
      List everything below a directory, with attributes.
  sinter ls -R --json image.dwarfs
      Print a line of JSON for every path.
  sinter ls -R0 image.dwarfs
      Print names for scripts, ended by NUL.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The paths to list (default: the root directory).
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,

    /// Show type, permissions, links, owner, size and time.
    #[arg(short, long)]
    long: bool,

    /// List directories recursively.
    #[arg(short = 'R', long)]
    recursive: bool,

    /// List directories themselves, not their contents.
    #[arg(short, long)]
    directory: bool,

    /// Print a line of JSON for each path. In paths and targets a backslash is doubled, and a byte
    /// that is not UTF-8 becomes \xNN.
    #[arg(long)]
    json: bool,

    /// Print unescaped paths, each ended by NUL (for xargs -0).
    #[arg(short = '0', long, conflicts_with_all = ["json", "long"])]
    null: bool,
}

/// Prints the listing.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open()?;
    let image = &**opened.raw();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let options = ListOptions {
        recursive: args.recursive,
        itself: args.directory,
    };
    let root = [OsString::new()];
    let paths = if args.paths.is_empty() {
        &root[..]
    } else {
        &args.paths
    };
    for path in paths {
        let path = trimmed(path.as_bytes());
        let start = resolve(image, path, Follow::Parents)?;
        if args.recursive && !args.directory {
            let itself = row(image, start, if path.is_empty() { b"." } else { path })?;
            if itself.kind == FileType::Directory {
                show(args, image, &itself, &mut out)?;
            }
        }
        let shown = if args.directory && path.is_empty() {
            b".".as_slice()
        } else {
            path
        };
        list(image, start, shown, options, &mut |row| {
            show(args, image, row, &mut out)?;
            Ok(WalkStep::On)
        })?;
    }
    out.flush()
        .map_err(|e| Error::io("cannot print the listing", e))?;
    Ok(ExitCode::SUCCESS)
}

/// Removes slashes at both ends; `.` is the root.
fn trimmed(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    let end = path
        .iter()
        .rposition(|&b| b != b'/')
        .map_or(start, |last| last + 1);
    let path = path.get(start..end).unwrap_or_default();
    if path == b"." { b"" } else { path }
}

fn show(args: &Args, image: &dyn Image, row: &Row, out: &mut dyn Write) -> Result<()> {
    let failed = |e| Error::io("cannot print the listing", e);
    if args.null {
        return out
            .write_all(&row.path)
            .and_then(|()| out.write_all(&[0]))
            .map_err(failed);
    }
    let line = if args.json {
        as_json(image, row)?.to_string()
    } else if args.long {
        long(row)
    } else {
        text::name(&row.path)
    };
    writeln!(out, "{line}").map_err(failed)
}

/// Formats a row as `ls -l` does, with numeric owners and the time in UTC.
fn long(row: &Row) -> String {
    let size = match row.rdev {
        Some(rdev) => format!("{}, {}", rdev.major, rdev.minor),
        None => row.size.to_string(),
    };
    let mut line = format!(
        "{}{} {:>3} {:>6} {:>6} {:>12} {} {}",
        row.kind.letter(),
        permissions(row.mode),
        row.nlink,
        row.uid,
        row.gid,
        size,
        calendar::utc(row.times.modified.secs),
        text::name(&row.path),
    );
    if let Some(target) = &row.target {
        line += " -> ";
        line += &text::name(target);
    }
    line
}

fn permissions(mode: u16) -> String {
    let special = [(0o4000, 's', 'S'), (0o2000, 's', 'S'), (0o1000, 't', 'T')];
    let mut shown = String::with_capacity(9);
    for (class, (bit, with_x, without_x)) in special.into_iter().enumerate() {
        let bits = mode >> (6 - 3 * class);
        shown.push(if bits & 4 != 0 { 'r' } else { '-' });
        shown.push(if bits & 2 != 0 { 'w' } else { '-' });
        shown.push(match (mode & bit != 0, bits & 1 != 0) {
            (true, true) => with_x,
            (true, false) => without_x,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    shown
}

fn as_json(image: &dyn Image, row: &Row) -> Result<serde_json::Value> {
    let letter = if row.kind == FileType::File {
        'f'
    } else {
        row.kind.letter()
    };
    let modified = row.times.modified;
    let mut line = json!({
        "path": text::json_name(&row.path),
        "type": letter.to_string(),
        "mode": format!("{:04o}", row.mode),
        "uid": row.uid,
        "gid": row.gid,
        "ino": row.ino.0,
    });
    let nanoseconds = i128::from(modified.secs) * 1_000_000_000 + i128::from(modified.nanos);
    // beyond 64 bits of nanoseconds (the year 2262) JSON readers would round
    line["mtime"] =
        i64::try_from(nanoseconds).map_or_else(|_| json!(nanoseconds.to_string()), |n| json!(n));
    if row.kind != FileType::Directory {
        line["nlink"] = json!(row.nlink);
        if row.nlink > 1 {
            line["link"] = json!(text::json_name(row.link.as_ref().unwrap_or(&row.path)));
        }
    }
    if row.kind == FileType::File {
        line["size"] = json!(row.size);
        line["allocated"] = json!(row.allocated);
    }
    if let Some(target) = &row.target {
        line["target"] = json!(text::json_name(target));
    }
    if let Some(rdev) = row.rdev {
        line["rdev"] = json!(format!("{}:{}", rdev.major, rdev.minor));
    }
    let xattrs = image.xattrs(row.ino)?.into_iter();
    let xattrs: serde_json::Map<_, _> = xattrs
        .map(|(name, value)| (text::json_name(&name), json!(text::base64(&value))))
        .collect();
    if !xattrs.is_empty() {
        line["xattrs"] = xattrs.into();
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_as_ls_shows_them() {
        for (mode, shown) in [
            (0o755, "rwxr-xr-x"),
            (0o4755, "rwsr-xr-x"),
            (0o2644, "rw-r-Sr--"),
            (0o1777, "rwxrwxrwt"),
            (0o7000, "--S--S--T"),
        ] {
            assert_eq!(permissions(mode), shown);
        }
    }

    #[test]
    fn slashes_and_dots() {
        assert_eq!(trimmed(b"/usr/bin/"), b"usr/bin");
        assert_eq!(trimmed(b"/"), b"");
        assert_eq!(trimmed(b"."), b"");
        assert_eq!(trimmed(b""), b"");
    }
}
