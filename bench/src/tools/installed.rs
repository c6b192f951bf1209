//! Tools found on this machine: their programs, versions, and fingerprints that change with them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::catalog;
use super::command::{programs, version};
use super::tool::Tool;
use crate::options::BenchOptions;

/// The tools that can be measured.
#[derive(Debug)]
pub struct Installed {
    /// The value of PATH for all commands.
    pub path: OsString,
    /// The tools that were found, `sinter` first.
    pub found: Vec<&'static Tool>,
    versions: BTreeMap<&'static str, String>,
    /// Hashes of programs by name: they are large, and asked for often.
    hashes: RefCell<BTreeMap<String, u64>>,
}

impl Installed {
    /// Looks for the programs of all tools that are asked for, and prints what is missing.
    pub fn find(options: &BenchOptions, sinter: &Path) -> Result<Self, String> {
        for name in &options.tools {
            catalog::named(name).ok_or_else(|| {
                let known: Vec<_> = catalog::all().map(|tool| tool.name).collect();
                format!("--tools: `{name}` is none of {}", known.join(", "))
            })?;
        }
        let mut dirs: Vec<PathBuf> = sinter.parent().map(PathBuf::from).into_iter().collect();
        dirs.extend(options.peers.iter().flat_map(|dir| program_dirs(dir)));
        let of_system = std::env::var_os("PATH").unwrap_or_default();
        dirs.extend(std::env::split_paths(&of_system));
        let mut installed = Self {
            path: std::env::join_paths(&dirs).map_err(|e| e.to_string())?,
            found: Vec::new(),
            versions: BTreeMap::new(),
            hashes: RefCell::default(),
        };
        let is_named = |tool: &Tool| options.tools.iter().any(|name| name == tool.name);
        for tool in catalog::all() {
            if tool.is_sinter() || options.tools.is_empty() || is_named(tool) {
                installed.add(tool);
            }
        }
        match installed.found.first() {
            Some(first) if first.is_sinter() => Ok(installed),
            _ => Err(format!("{} is no program `sinter`", sinter.display())),
        }
    }

    fn add(&mut self, tool: &'static Tool) {
        for (action, command) in [
            ("build", tool.build),
            ("extract", tool.extract),
            ("mount", tool.mount),
        ] {
            let missing = self.missing(command);
            if !missing.is_empty() {
                println!(
                    "{}: cannot {action}, not installed: {}",
                    tool.name,
                    missing.join(", ")
                );
                if action == "build" {
                    return;
                }
            }
        }
        self.versions.insert(tool.name, self.ask_version(tool));
        self.found.push(tool);
    }

    fn ask_version(&self, tool: &Tool) -> String {
        let mut command = Command::new("bash");
        command.args(["-c", tool.version]).env("PATH", &self.path);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_or_else(|_| Vec::new(), |done| [done.stdout, done.stderr].concat());
        let output = String::from_utf8_lossy(&output);
        version(&output).unwrap_or("of unknown version").to_owned()
    }

    /// Returns whether a command line can run: it is not empty and its programs are installed.
    pub fn can_run(&self, command: &str) -> bool {
        !command.is_empty() && self.missing(command).is_empty()
    }

    fn missing<'a>(&self, command: &'a str) -> Vec<&'a str> {
        let mut programs = programs(command);
        programs.retain(|program| which(&self.path, program).is_none());
        programs
    }

    /// Returns the version of the tool that a command line runs, or an empty text.
    pub fn version(&self, name: &str) -> &str {
        self.versions.get(name).map_or("", String::as_str)
    }

    /// Returns a number that differs between builds of the programs of a command line.
    pub fn fingerprint(&self, command: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        for program in programs(command) {
            let mut hashes = self.hashes.borrow_mut();
            let hash = hashes.entry(program.to_owned()).or_insert_with(|| {
                let file = which(&self.path, program);
                let bytes = file.and_then(|file| std::fs::read(file).ok());
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                hasher.finish()
            });
            hash.hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// Returns the directories of programs (`*/bin`) below a directory, each once.
fn program_dirs(below: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        // the root of a whole system has programs, too, but they need its libraries
        .filter(|dir| !dir.join("etc").is_dir())
        .filter_map(|dir| dir.join("bin").canonicalize().ok())
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

fn which(path: &OsStr, program: &str) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .map(|dir| dir.join(program))
        .find(is_program)
}
