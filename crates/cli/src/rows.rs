//! Rows of listings, as `ls -l` and JSON show them: shared by the commands that list an image.

use serde_json::json;
use sinterfs::model::Image;
use sinterfs::ops::Row;
use sinterfs::{FileType, Result};

use crate::{calendar, size, text};

/// Removes slashes at both ends; `.` is the root.
pub fn trimmed(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    let end = path
        .iter()
        .rposition(|&b| b != b'/')
        .map_or(start, |last| last + 1);
    let path = path.get(start..end).unwrap_or_default();
    if path == b"." { b"" } else { path }
}

/// Formats a row as `ls -l` does, with numeric owners and the time in UTC; with `human`, sizes are
/// rounded.
pub fn long(row: &Row, human: bool) -> String {
    let size = match row.rdev {
        Some(rdev) => format!("{}, {}", rdev.major, rdev.minor),
        None if human => size::short(row.size),
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

/// Returns permission bits as `ls -l` shows them, without the letter of the type.
pub fn permissions(mode: u16) -> String {
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

/// Returns a row as a line of JSON for programs.
pub fn as_json(image: &dyn Image, row: &Row) -> Result<serde_json::Value> {
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
