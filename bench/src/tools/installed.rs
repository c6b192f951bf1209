//! Which tools are at hand: where their programs are, their versions, what tells builds apart.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::options::Options;
use crate::tools::peers::{self, PEERS, Peer};

/// The tools that can be measured.
#[derive(Debug)]
pub struct Tools {
    /// What commands find their programs with.
    pub path: OsString,
    /// The peers whose images can be built, and readers of others' images; ours first.
    pub found: Vec<&'static Peer>,
    versions: BTreeMap<&'static str, String>,
    fingerprints: BTreeMap<&'static str, u64>,
}

impl Tools {
    /// Looks for the programs of all peers that are asked for, and says what is missing.
    pub fn find(options: &Options, sinter: &Path) -> Result<Self, String> {
        for name in &options.peer {
            peers::named(name).ok_or_else(|| {
                let known: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
                format!("--peer: `{name}` is none of {}", known.join(", "))
            })?;
        }
        let mut dirs: Vec<PathBuf> = sinter.parent().map(PathBuf::from).into_iter().collect();
        dirs.extend(options.peers.iter().flat_map(|dir| bins(dir)));
        dirs.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let mut tools = Self {
            path: std::env::join_paths(&dirs).map_err(|e| e.to_string())?,
            found: Vec::new(),
            versions: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
        };
        for peer in PEERS {
            let wanted = peer.is_ours()
                || options.peer.is_empty()
                || options.peer.iter().any(|name| name == peer.name);
            if wanted {
                tools.add(peer);
            }
        }
        match tools.found.first() {
            Some(first) if first.is_ours() => Ok(tools),
            _ => Err(format!("{} is no program `sinter`", sinter.display())),
        }
    }

    fn add(&mut self, peer: &'static Peer) {
        for (does, command) in [
            ("build", peer.build),
            ("extract", peer.extract),
            ("mount", peer.mount),
        ] {
            let missing = self.missing(command);
            if !missing.is_empty() {
                let missing = missing.join(", ");
                println!("{}: cannot {does}: no {missing} at hand", peer.name);
                if does == "build" {
                    return;
                }
            }
        }
        let said = Command::new("bash")
            .args(["-c", peer.version])
            .env("PATH", &self.path)
            .stdin(Stdio::null())
            .output();
        let said = said.map_or_else(|_| Vec::new(), |said| [said.stdout, said.stderr].concat());
        let said = String::from_utf8_lossy(&said).into_owned();
        let version = peers::version(&said).unwrap_or("of unknown version");
        let mut hasher = DefaultHasher::new();
        version.hash(&mut hasher);
        for command in [peer.build, peer.extract, peer.mount] {
            for program in peers::programs(command) {
                let bytes = which(&self.path, program).and_then(|file| std::fs::read(file).ok());
                bytes.hash(&mut hasher);
            }
        }
        self.versions.insert(peer.name, version.to_owned());
        self.fingerprints.insert(peer.name, hasher.finish());
        self.found.push(peer);
    }

    /// Returns whether a command line can run: it does something, and its programs are there.
    pub fn can(&self, command: &str) -> bool {
        !command.is_empty() && self.missing(command).is_empty()
    }

    fn missing<'a>(&self, command: &'a str) -> Vec<&'a str> {
        let mut programs = peers::programs(command);
        programs.retain(|program| which(&self.path, program).is_none());
        programs
    }

    /// Returns a found peer's version.
    pub fn version(&self, peer: &Peer) -> &str {
        self.versions.get(peer.name).map_or("", String::as_str)
    }

    /// Returns a number that differs between builds of a tool.
    pub fn fingerprint(&self, peer: &Peer) -> u64 {
        self.fingerprints.get(peer.name).copied().unwrap_or(0)
    }
}

/// Lists the directories of programs below a directory of peers, each once.
fn bins(peers: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(peers).into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        // a whole system's root has programs, too, but they want its libraries
        .filter(|dir| !dir.join("etc").is_dir())
        .filter_map(|dir| dir.join("bin").canonicalize().ok())
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs
}

fn which(path: &OsStr, program: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .map(|dir| dir.join(program))
        .find(runs)
}
