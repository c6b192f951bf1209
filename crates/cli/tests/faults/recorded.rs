//! What a command did to a directory, recorded by strace: writes to files, syncs, names.
//!
//! In: a command, run in the directory. Out: its steps in the order in which they ended.
//! **Invariant:** a call that changes the directory and is not understood is a failure of the test.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Output;

/// A file, whatever its names.
pub type FileId = usize;

/// A change that a power cut may lose, or the sync before which it may.
#[derive(Debug, Clone)]
pub enum Step {
    /// Bytes of a file.
    Write(FileId, u64, Vec<u8>),
    /// The length of a file.
    Truncate(FileId, u64),
    /// All of a file is durable.
    Sync(FileId),
    /// A new directory.
    MakeDir(PathBuf),
    /// A name gets a file, and another loses it if there is one: both happen, or none.
    Name {
        file: FileId,
        to: PathBuf,
        from: Option<PathBuf>,
    },
    /// A name is gone.
    Remove(PathBuf),
    /// The names in a directory are durable.
    SyncDir(PathBuf),
}

/// The steps of a command, and the files that were there before it.
pub struct Recorded {
    pub steps: Vec<Step>,
    pub before: BTreeMap<PathBuf, FileId>,
    pub contents: HashMap<FileId, Vec<u8>>,
    pub output: Output,
}

/// Calls that change files or names, or that say which descriptor is which.
const CALLS: &str = "openat,open,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,pwritev,\
    pwritev2,ftruncate,truncate,fallocate,copy_file_range,sendfile,splice,ioctl,fsync,fdatasync,\
    syncfs,sync,link,linkat,symlink,symlinkat,rename,renameat,renameat2,unlink,unlinkat,mkdir,\
    mkdirat,rmdir";

/// Runs a command in a directory and records it.
pub fn record(dir: &Path, args: &[&str]) -> Recorded {
    let mut recorder = Recorder {
        dir: dir.canonicalize().unwrap(),
        ..Recorder::default()
    };
    for (path, content) in super::files(dir) {
        let path = path.strip_prefix(dir).unwrap().to_owned();
        let file = recorder.new_file();
        recorder.contents.insert(file, content);
        recorder.names.insert(path, file);
    }
    let before = recorder.names.clone();
    // not in the directory that is recorded
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut strace = super::command("timeout", dir);
    strace.args(["120", "strace", "-f", "-qq", "-xx", "-s", "16777216", "-e"]);
    strace
        .arg(format!("trace={CALLS}"))
        .arg("-o")
        .arg(log.path());
    strace.arg(env!("CARGO_BIN_EXE_sinter")).args(args);
    let output = strace.output().unwrap();
    for line in whole_lines(&fs::read_to_string(log.path()).unwrap()) {
        recorder.call(&line);
    }
    Recorded {
        steps: recorder.steps,
        before,
        contents: recorder.contents,
        output,
    }
}

/// Puts calls together that strace shows in two parts, since another thread was shown in between.
fn whole_lines(log: &str) -> Vec<String> {
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let mut lines = Vec::new();
    for line in log.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        if let Some(begin) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, begin);
        } else if let Some((_, end)) = call
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            lines.push(format!("{}{end}", begun.remove(thread).unwrap_or_default()));
        } else {
            lines.push(call.to_owned());
        }
    }
    lines
}

#[derive(Default)]
struct Recorder {
    dir: PathBuf,
    steps: Vec<Step>,
    names: BTreeMap<PathBuf, FileId>,
    contents: HashMap<FileId, Vec<u8>>,
    files: FileId,
    open: HashMap<i64, Opened>,
}

/// What a descriptor is of.
#[derive(Debug, Clone)]
enum Opened {
    File(FileId, u64),
    Dir(PathBuf),
    Other,
}

/// An argument of a call.
fn text(argument: &str) -> Option<Vec<u8>> {
    let hex = argument.strip_prefix('"')?.split('"').next()?;
    let bytes = hex.split("\\x").skip(1);
    Some(
        bytes
            .map(|byte| u8::from_str_radix(byte, 16).unwrap())
            .collect(),
    )
}

impl Recorder {
    fn new_file(&mut self) -> FileId {
        self.files += 1;
        self.files
    }

    /// Returns a path relative to the recorded directory; `None` for one elsewhere.
    fn path(&self, at: &str, argument: &str) -> Option<PathBuf> {
        let bytes = text(argument)?;
        let path = PathBuf::from(String::from_utf8(bytes).unwrap());
        let base = match (
            path.is_absolute(),
            at.parse().ok().and_then(|fd: i64| self.open.get(&fd)),
        ) {
            (true, _) => PathBuf::new(),
            (false, Some(Opened::Dir(dir))) => self.dir.join(dir),
            (false, Some(_)) => return None,
            (false, None) => self.dir.clone(),
        };
        let mut whole = PathBuf::new();
        for part in base.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(whole.pop()),
                other => whole.push(other),
            }
        }
        whole.strip_prefix(&self.dir).ok().map(Path::to_owned)
    }

    fn call(&mut self, line: &str) {
        let Some((name, rest)) = line.split_once('(') else {
            return;
        };
        // a signal, or the end of a thread
        let Some((arguments, result)) = rest.rsplit_once(" = ") else {
            return;
        };
        let arguments = arguments.trim_end().trim_end_matches(')');
        let result = result.split_whitespace().next().unwrap();
        let Ok(result) = result.parse::<i64>() else {
            return;
        };
        if result < 0 {
            return;
        }
        let arguments: Vec<&str> = arguments.split(", ").collect();
        self.apply(line, name, &arguments, result);
    }

    fn apply(&mut self, line: &str, name: &str, arguments: &[&str], result: i64) {
        let fd = || arguments[0].parse::<i64>().unwrap_or(-1);
        match name {
            "openat" => self.opened(arguments[0], arguments[1], arguments[2], result),
            "open" => self.opened("AT_FDCWD", arguments[0], arguments[1], result),
            "close" => drop(self.open.remove(&fd())),
            "dup" | "dup2" | "dup3" => self.duplicate(fd(), result),
            "fcntl" if arguments[1].starts_with("F_DUPFD") => self.duplicate(fd(), result),
            "fcntl" => {}
            "lseek" => {
                if let Some(Opened::File(_, at)) = self.open.get_mut(&fd()) {
                    *at = result.unsigned_abs();
                }
            }
            "write" => {
                let bytes = text(arguments[1]).unwrap_or_default();
                if let Some(Opened::File(file, at)) = self.open.get_mut(&fd()) {
                    let bytes = bytes[..result as usize].to_vec();
                    self.steps.push(Step::Write(*file, *at, bytes));
                    *at += result.unsigned_abs();
                }
            }
            "pwrite64" => {
                if let Some(Opened::File(file, _)) = self.open.get(&fd()) {
                    let bytes = text(arguments[1]).unwrap()[..result as usize].to_vec();
                    let at = arguments[3].parse().unwrap();
                    self.steps.push(Step::Write(*file, at, bytes));
                }
            }
            "ftruncate" => {
                if let Some(Opened::File(file, _)) = self.open.get(&fd()) {
                    let len = arguments[1].parse().unwrap();
                    self.steps.push(Step::Truncate(*file, len));
                }
            }
            "fsync" | "fdatasync" => match self.open.get(&fd()) {
                Some(Opened::File(file, _)) => self.steps.push(Step::Sync(*file)),
                Some(Opened::Dir(dir)) => self.steps.push(Step::SyncDir(dir.clone())),
                _ => {}
            },
            "linkat" => self.linked(line, arguments),
            "link" => self.linked(line, &["AT_FDCWD", arguments[0], "AT_FDCWD", arguments[1]]),
            "renameat" | "renameat2" => self.renamed(line, arguments),
            "rename" => self.renamed(line, &["AT_FDCWD", arguments[0], "AT_FDCWD", arguments[1]]),
            "mkdirat" | "mkdir" => {
                let first = usize::from(name == "mkdirat");
                let at = if first == 1 { arguments[0] } else { "AT_FDCWD" };
                let dir = self.path(at, arguments[first]);
                self.steps.extend(dir.map(Step::MakeDir));
            }
            "unlinkat" | "unlink" => {
                let first = usize::from(name == "unlinkat");
                let at = if first == 1 { arguments[0] } else { "AT_FDCWD" };
                if let Some(path) = self.path(at, arguments[first]) {
                    self.names.remove(&path);
                    self.steps.push(Step::Remove(path));
                }
            }
            _ => self.not_of_a_file(line, arguments),
        }
    }

    /// Fails if a call that is not understood is about a file of the directory.
    fn not_of_a_file(&self, line: &str, arguments: &[&str]) {
        for argument in arguments {
            let opened = argument.parse().ok().and_then(|fd: i64| self.open.get(&fd));
            let is_harmless = line.starts_with("ioctl");
            assert!(
                is_harmless || !matches!(opened, Some(Opened::File(..))),
                "not understood: {line:.200}"
            );
        }
    }

    fn duplicate(&mut self, fd: i64, other: i64) {
        if let Some(opened) = self.open.get(&fd).cloned() {
            self.open.insert(other, opened);
        }
    }

    fn opened(&mut self, at: &str, path: &str, flags: &str, fd: i64) {
        let Some(path) = self.path(at, path) else {
            self.open.insert(fd, Opened::Other);
            return;
        };
        let opened = if flags.contains("O_TMPFILE") {
            Opened::File(self.new_file(), 0)
        } else if let Some(file) = self.names.get(&path) {
            let file = *file;
            if flags.contains("O_TRUNC") {
                self.steps.push(Step::Truncate(file, 0));
            }
            Opened::File(file, 0)
        } else if flags.contains("O_CREAT") {
            let file = self.new_file();
            self.names.insert(path.clone(), file);
            self.steps.push(Step::Name {
                file,
                to: path,
                from: None,
            });
            Opened::File(file, 0)
        } else {
            Opened::Dir(path)
        };
        self.open.insert(fd, opened);
    }

    fn linked(&mut self, line: &str, arguments: &[&str]) {
        let Some(to) = self.path(arguments[2], arguments[3]) else {
            return;
        };
        let from = text(arguments[1]).unwrap();
        let from = String::from_utf8(from).unwrap();
        let file = match from.strip_prefix("/proc/self/fd/") {
            Some(fd) => match self.open.get(&fd.parse().unwrap()) {
                Some(Opened::File(file, _)) => Some(*file),
                _ => None,
            },
            None => self
                .path(arguments[0], arguments[1])
                .and_then(|path| self.names.get(&path).copied()),
        };
        let file = file.unwrap_or_else(|| panic!("a name for what is not a file: {line:.200}"));
        self.names.insert(to.clone(), file);
        self.steps.push(Step::Name {
            file,
            to,
            from: None,
        });
    }

    fn renamed(&mut self, line: &str, arguments: &[&str]) {
        let from = self.path(arguments[0], arguments[1]);
        let to = self.path(arguments[2], arguments[3]);
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        assert!(!line.contains("RENAME_EXCHANGE"), "{line:.200}");
        let file = self.names.remove(&from);
        let file = file.unwrap_or_else(|| panic!("not a file: {line:.200}"));
        self.names.insert(to.clone(), file);
        self.steps.push(Step::Name {
            file,
            to,
            from: Some(from),
        });
    }
}
