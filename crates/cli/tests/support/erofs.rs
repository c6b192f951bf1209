//! What tests of EROFS images share: who judges them, and what their superblocks say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{KernelMount, compare, run};

/// Finds fsck.erofs in `SINTER_PEER_EROFS` or in PATH; versions before 1.9 do not know what we
/// write.
pub fn fsck() -> Option<PathBuf> {
    let own = std::env::var_os("SINTER_PEER_EROFS").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&own).chain(std::env::split_paths(&path));
    let tool = dirs.find_map(|dir| Some(dir.join("fsck.erofs")).filter(|tool| tool.is_file()));
    let said = tool.as_ref().map(|tool| {
        let output = Command::new(tool).arg("-V").output().expect("fsck.erofs");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    });
    if said.is_some_and(|said| said.contains(" 1.9") || said.contains(" 2.")) {
        return tool;
    }
    eprintln!("NOT RUN: no fsck.erofs 1.9 (SINTER_PEER_EROFS)");
    None
}

/// Compares what the kernel, fsck.erofs and we read with the source.
pub fn check(shared: &Path, source: &Path, image: &Path, work: &Path, more: &[&str]) {
    let mounted = KernelMount::new("erofs", image, &work.join("mnt"));
    compare(shared, more, source, &mounted.0);
    if let Some(fsck) = fsck() {
        let output = Command::new(fsck).arg(image).output().expect("fsck.erofs");
        assert!(output.status.success(), "{output:?}");
    }
    run([Path::new("check"), Path::new("--deep"), image]);
}

/// Returns the features that a kernel must know, and the algorithms.
pub fn needs(image: &[u8]) -> (u32, u16) {
    let word = |at: usize| [image[1024 + at], image[1024 + at + 1]].map(u32::from);
    let [low, high] = [word(80), word(82)].map(|[a, b]| a | b << 8);
    let [a, b] = word(84);
    (low | high << 16, (a | b << 8) as u16)
}

/// Extracts an image by fsck.erofs, if it is there, and compares that with the source.
pub fn compare_extracted(shared: &Path, source: &Path, image: &Path, to: &Path) {
    let Some(fsck) = fsck() else { return };
    let mut command = Command::new(fsck);
    command
        .arg(format!("--extract={}", to.display()))
        .arg(image);
    let output = command.output().expect("fsck.erofs");
    assert!(output.status.success(), "{output:?}");
    compare(shared, &["--no-xattrs"], source, to);
    fs::remove_dir_all(to).expect("what was extracted");
}
