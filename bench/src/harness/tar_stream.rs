//! A tar stream of many small files, made as it is written: inputs that no disk has to hold.
//!
//! A process of its own writes it (`bench-tar COUNT`), so that it can be piped into a build.
//! POSIX ustar headers (POSIX.1-2017, pax, "ustar Interchange Format"), a thousand files a
//! directory. **Invariant:** the same count gives the same bytes.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use super::texts::small_text;

/// The first argument of the process that writes a stream.
pub const CHILD: &str = "bench-tar";

/// Bytes of each file.
pub const FILE_BYTES: usize = 64;

/// Files of a directory.
const DIRECTORY_FILES: u64 = 1000;

const BLOCK: usize = 512;

/// Writes a stream to standard output.
pub fn child(args: &[String]) -> ExitCode {
    let count = args.first().and_then(|count| count.parse().ok());
    let written = count.map(|count| write(count, BufWriter::new(io::stdout().lock())));
    match written {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Writes a stream of `count` files.
fn write(count: u64, mut out: impl Write) -> io::Result<()> {
    for number in 0..count {
        let directory = number / DIRECTORY_FILES;
        let file = number % DIRECTORY_FILES;
        if file == 0 {
            out.write_all(&header(&format!("{directory:05}/"), 0, b'5'))?;
        }
        let name = format!("{directory:05}/{file:03}.txt");
        out.write_all(&header(&name, FILE_BYTES, b'0'))?;
        let mut content = small_text(number, FILE_BYTES);
        content.resize(BLOCK, 0);
        out.write_all(&content)?;
    }
    // the end of an archive
    out.write_all(&[0; 2 * BLOCK])?;
    out.flush()
}

/// Makes a header: octal numbers, and a checksum that counts its own field as spaces.
fn header(name: &str, size: usize, kind: u8) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mode = if kind == b'5' { 0o755 } else { 0o644 };
    let fields = [
        (0, name.to_owned()),
        (100, format!("{mode:07o}")),
        (108, format!("{:07o}", 0)),
        (116, format!("{:07o}", 0)),
        (124, format!("{size:011o}")),
        (136, format!("{:011o}", 1_700_000_000)),
        (148, " ".repeat(8)),
        (156, char::from(kind).to_string()),
        (257, "ustar\u{0}00".to_owned()),
    ];
    for (at, text) in fields {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\u{0}").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process::Command;

    use super::*;

    #[test]
    fn tar_lists_and_extracts_it() {
        let name = format!("bench-tar-stream-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        write(1001, BufWriter::new(File::create(&path).unwrap())).unwrap();
        let tar = |args: &[&str]| {
            let mut command = Command::new("tar");
            let output = command.args(args).stdin(File::open(&path).unwrap());
            let output = output.output().unwrap();
            assert!(output.status.success());
            output.stdout
        };
        let listed = String::from_utf8(tar(&["-t"])).unwrap();
        assert_eq!(listed.lines().count(), 1003);
        assert!(listed.ends_with("00001/\n00001/000.txt\n"), "{listed}");
        let content = tar(&["-x", "-O", "00001/000.txt"]);
        assert_eq!(content, small_text(1000, FILE_BYTES));
        fs::remove_file(path).unwrap();
    }
}
