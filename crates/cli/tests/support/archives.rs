//! Other programs that read archives: GNU tar, bsdtar, GNU cpio, bsdcpio and Python.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{sinter, skip};

/// A program that unpacks an archive from standard input into its directory.
pub struct Reader {
    /// The command and its arguments.
    pub words: &'static [&'static str],
    /// What the manifest's comparison leaves out, since the program does.
    pub options: &'static [&'static str],
}

/// Restores everything.
pub const GNU_TAR: Reader = Reader {
    words: &[
        "tar",
        "--acls",
        "--xattrs",
        "--xattrs-include=*",
        "-xpf",
        "-",
    ],
    options: &["--skip", "special/socket"],
};
/// Restores everything but fractions of seconds before 1970, whose sign it takes for that of the
/// seconds alone (libarchive 3.6).
pub const BSDTAR: Reader = Reader {
    words: &["bsdtar", "-xpf", "-"],
    options: &["--skip", "special/socket"],
};
/// Restores neither attributes, holes nor links of symlinks, and times in floating point.
pub const PYTHON: Reader = Reader {
    words: &[
        "python3",
        "-c",
        "import io, sys, tarfile; \
         tarfile.open(fileobj=io.BytesIO(sys.stdin.buffer.read())).extractall('.')",
    ],
    options: &[
        "--skip",
        "special/socket",
        "--no-xattrs",
        "--no-mtime",
        "--drop",
        "link,nlink:l",
    ],
};
/// Makes no hard links of symlinks, and sets no times of these and of directories.
pub const GNU_CPIO: Reader = Reader {
    words: &["cpio", "-idm", "--quiet"],
    options: &[
        "--no-xattrs",
        "--mtime-seconds",
        "--drop",
        "mtime:dl",
        "--drop",
        "link,nlink:l",
    ],
};
/// Makes files of sockets.
pub const BSDCPIO: Reader = Reader {
    words: &["bsdcpio", "-idm", "--quiet"],
    options: &[
        "--no-xattrs",
        "--mtime-seconds",
        "--drop",
        "mtime:dl",
        "--skip",
        "special/socket",
    ],
};

impl Reader {
    /// Makes the command, in a directory and a locale of UTF-8.
    pub fn command(&self, dir: &Path) -> Command {
        let (program, words) = self.words.split_first().expect("a program");
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(dir)
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Unpacks what `sinter extract` writes with arguments into a new directory, through a pipe.
    pub fn unpack<S: AsRef<OsStr>>(&self, args: &[S], dir: &Path) {
        std::fs::create_dir(dir).expect("a directory");
        let mut ours = sinter();
        ours.arg("extract").args(args).stdout(Stdio::piped());
        let mut ours = ours.stderr(Stdio::piped()).spawn().expect("sinter");
        let pipe = ours.stdout.take().expect("a pipe");
        let theirs = self.command(dir).stdin(pipe).output().expect("the reader");
        let ours = ours.wait_with_output().expect("sinter");
        // no tar has sockets, which are named
        let has_sockets = ours.status.code() == Some(1) && words_of(&ours).contains("sockets");
        let is_done = ours.status.success() || has_sockets;
        assert!(is_done, "{}", words_of(&ours));
        assert!(theirs.status.success(), "{}", words_of(&theirs));
    }
}

/// Returns whether a program is there; a test that needs it skips otherwise.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$0\"", program])
        .stdout(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{program} is missing"));
    }
    found
}

/// What a program said.
pub fn words_of(output: &Output) -> String {
    format!(
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Builds from sources with flags, fast and quietly, whatever comes of it.
pub fn build_from(sources: &[&OsStr], image: &Path, flags: &[&str]) -> Output {
    let mut command = sinter();
    command.args(["build", "--force", "-l1", "-q"]);
    command.args(flags).args(sources).arg("-o").arg(image);
    command.output().expect("sinter starts")
}
