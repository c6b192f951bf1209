//! What a verification is asked for and what it found: plain data.

use sinterfs_block::digest::Root;
use sinterfs_model::{Findings, InodeReport};

/// What a verification found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// Sections whose checksums were verified, where a format has sections.
    pub sections: Option<u64>,
    /// Inodes that were examined one by one, where a format stores them so.
    pub inodes: Option<u64>,
    /// Blocks that were decoded.
    pub blocks: u64,
    /// Bytes behind the image, which are no part of it.
    pub after: u64,
    /// Files that were read.
    pub files: u64,
    /// The root of the digests with which all bytes of the image were compared.
    pub root_digest: Option<Root>,
    /// The trusted comment of the root's signature, if it was signed.
    pub signed: Option<String>,
    /// The paths that cannot be read whole, as far as they are known; of a deep verification, all.
    pub damaged: Vec<Vec<u8>>,
    /// Everything that is wrong, each with its place.
    pub problems: Vec<String>,
    /// What is unusual but harmless.
    pub notes: Vec<String>,
}

impl From<Findings> for CheckReport {
    /// Describes what a check found, without how much it examined.
    fn from(findings: Findings) -> Self {
        let (problems, notes) = findings.into_messages();
        Self {
            problems,
            notes,
            ..Self::default()
        }
    }
}

impl From<InodeReport> for CheckReport {
    fn from(report: InodeReport) -> Self {
        Self {
            inodes: Some(report.inodes),
            ..report.findings.into()
        }
    }
}

/// How much is verified, and with how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// Whether every block is decoded and every file read.
    pub deep: bool,
    /// Threads that work; 0 means as many as the machine runs at once.
    pub threads: usize,
}
