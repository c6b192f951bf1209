//! composefs images and dumps: what upstream's dumps become, what upstream refuses, what images of
//! mkcomposefs show, and random dumps beside mkcomposefs itself.

#![allow(clippy::unwrap_used, reason = "this is a test")]
#![allow(clippy::print_stdout, reason = "this is a test")]

mod support;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinterfs_block::verity::hex;
use sinterfs_erofs::composefs::{Versions, parse, write};
use sinterfs_erofs::dump::dump;
use support::read_file;

/// The digest of an image of nothing but the root.
const ROOT_DIGEST: &str = "8f589e8f57ecb88823736b0d857ddca1e1068a23e264fad164b28f7038eb3682";

/// The dumps of upstream's tests.
fn assets(root: &Path) -> Vec<PathBuf> {
    let dir = root.join("upstream/composefs/assets");
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.to_string_lossy();
        name.ends_with(".dump") || name.ends_with(".dump.gz")
    });
    paths.sort();
    paths
}

fn is_refused(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name.starts_with("should-fail")
}

fn beside(path: &Path, extension: &str) -> Option<String> {
    let mut name = path.as_os_str().to_owned();
    name.push(extension);
    let text = std::fs::read_to_string(name).ok()?;
    Some(text.trim().to_owned())
}

fn image_of(dump: &[u8], versions: Versions) -> sinterfs_model::Result<(Vec<u8>, String)> {
    let mut image = Vec::new();
    let written = write(parse(dump)?, versions, &mut image)?;
    assert_eq!(written.bytes, image.len() as u64);
    Ok((image, hex(&written.digest)))
}

fn dump_of(image: Vec<u8>) -> sinterfs_model::Result<Vec<u8>> {
    let mut text = Vec::new();
    dump(&support::open(image, &[])?, &mut text)?;
    Ok(text)
}

#[test]
fn dumps_of_upstream_give_the_published_images() {
    let Some(root) = support::vectors() else {
        return;
    };
    let mut count = 0;
    for path in assets(&root).iter().filter(|path| !is_refused(path)) {
        let version = beside(path, ".version").map(|text| text.parse().unwrap());
        let versions = version.map_or(Versions::default(), |version| Versions {
            min: version,
            max: version,
        });
        let (image, _) = image_of(&read_file(path), versions).unwrap();
        let sum = sha256(&image);
        assert_eq!(Some(sum), beside(path, ".sha256"), "{}", path.display());
        count += 1;
    }
    assert!(count >= 13, "only {count} dumps");
}

#[test]
fn dumps_that_upstream_refuses_are_errors_with_a_line() {
    let Some(root) = support::vectors() else {
        return;
    };
    let mut count = 0;
    for path in assets(&root).iter().filter(|path| is_refused(path)) {
        let error = image_of(&read_file(path), Versions::default()).unwrap_err();
        let words = error.to_string();
        assert!(words.starts_with("line "), "{}: {words}", path.display());
        count += 1;
    }
    assert!(count >= 14, "only {count} dumps");
}

#[test]
fn images_of_the_vectors_are_those_of_their_dumps() {
    let Some(root) = support::vectors() else {
        return;
    };
    let vectors = support::load(&root, "composefs");
    assert!(vectors.len() >= 7);
    for vector in vectors {
        let dump = root.join(format!("images/composefs/{}.dump.gz", vector.name));
        let dump = read_file(&dump);
        let printed = dump_of(vector.image.clone()).unwrap();
        assert!(printed == dump, "{}: another dump", vector.name);
        let max = u32::from(vector.name != "v0");
        let (image, _) = image_of(&dump, Versions { min: 0, max }).unwrap();
        assert!(image == vector.image, "{}: another image", vector.name);
    }
}

#[test]
fn the_digest_is_that_of_the_image() {
    let (image, digest) = image_of(b"/ 0 40755 2 0 0 0 0.0 - - -", Versions::default()).unwrap();
    assert_eq!(digest, hex(&sinterfs_block::verity::verity(&image)));
    // what `mkcomposefs --print-digest` says
    assert_eq!(digest, ROOT_DIGEST);
}

#[test]
fn broken_dumps_are_errors() {
    let Some(root) = support::vectors() else {
        return;
    };
    let fuzzed = std::fs::read_dir(root.join("upstream/composefs/fuzzing/data")).unwrap();
    for entry in fuzzed {
        let bytes = read_file(&entry.unwrap().path());
        let _ = image_of(&bytes, Versions::default());
    }
    let mut state = 7_u64;
    let mut below = |end: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % end
    };
    let dump = read_file(&root.join("upstream/composefs/fuzzing/data/dump-example"));
    let special = b"/ @.-=\\x0179\n\0\xff";
    for _ in 0..20_000 {
        let mut bytes = dump.clone();
        for _ in 0..=below(4) {
            let (at, byte) = (below(bytes.len()), special[below(special.len())]);
            match below(3) {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.drain(at..(at + below(40)).min(bytes.len()))),
            }
        }
        if let Ok((image, _)) = image_of(&bytes, Versions::default()) {
            dump_of(image).unwrap();
        }
    }
}

#[test]
fn random_dumps_match_mkcomposefs() {
    let Some(dir) = std::env::var_os("SINTER_PEER_COMPOSEFS").map(PathBuf::from) else {
        println!("SKIPPED: SINTER_PEER_COMPOSEFS names no directory with mkcomposefs");
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let (dump, theirs) = (work.path().join("dump"), work.path().join("image"));
    for seed in 0..60 {
        let text = random_dump(seed);
        std::fs::write(&dump, &text).unwrap();
        let max = (seed % 2).to_string();
        let status = Command::new(dir.join("mkcomposefs"))
            .arg(format!("--max-version={max}"))
            .arg("--from-file")
            .args([&dump, &theirs])
            .status()
            .unwrap();
        let versions = Versions {
            min: 0,
            max: max.parse().unwrap(),
        };
        let ours = image_of(&text, versions);
        assert_eq!(
            status.success(),
            ours.is_ok(),
            "seed {seed}: {:?}",
            ours.err()
        );
        let Ok((image, _)) = ours else { continue };
        assert!(image == std::fs::read(&theirs).unwrap(), "seed {seed}");
        let info = Command::new(dir.join("composefs-info"))
            .arg("dump")
            .arg(&theirs)
            .output()
            .unwrap();
        let printed = dump_of(image).unwrap();
        assert!(printed == info.stdout, "seed {seed}: another dump");
    }
}

/// Makes a dump in which all that decides about an image comes and goes.
fn random_dump(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = move |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % end
    };
    let times = ["0.0", "7.1", "1633950376.500000000", "-5.3"];
    let few = below(3) + 1;
    let meta = |below: &mut dyn FnMut(u64) -> u64| {
        let owner = [0, 1000, 70_000][below(3) as usize];
        let time = times[below(few) as usize];
        (owner, time)
    };
    let (owner, time) = meta(&mut below);
    let mut text = format!("/ 0 40755 2 {owner} 0 0 {time} - - - security.selinux=root\n");
    let mut dirs = vec![String::new()];
    let mut files: Vec<String> = Vec::new();
    let mut names = HashSet::new();
    for _ in 0..below(900) {
        let dir = dirs[below(dirs.len() as u64) as usize].clone();
        let stem = ["", "a", "Z", "\\xff", "longer-name-", "."][below(6) as usize];
        let path = format!(
            "{dir}/{stem}{:x}{}",
            below(250),
            "n".repeat(below(60) as usize)
        );
        if !names.insert(path.clone()) {
            continue;
        }
        let (owner, time) = meta(&mut below);
        let rest = match below(10) {
            0 | 1 => {
                dirs.push(path.clone());
                format!("0 40755 2 {owner} 7 0 {time} - - -")
            }
            2 => {
                let target = "t".repeat([1, 30, 800, 2500, 4095][below(5) as usize]);
                format!("0 120777 1 {owner} 7 0 {time} {target} - -")
            }
            3 => format!("0 20600 1 {owner} 7 {} {time} - - -", below(3) * 259),
            4 => format!("0 10600 2 {owner} 7 0 {time} - - -"),
            5 if !files.is_empty() => {
                let target = &files[below(files.len() as u64) as usize];
                text.push_str(&format!("{path} 0 @100644 1 0 0 0 0.0 {target} - -\n"));
                continue;
            }
            6 => {
                let len = [0, 1, 60, 2048, 2049, 5000][below(6) as usize];
                let content = match len {
                    0 => "-".to_owned(),
                    len => "c".repeat(len),
                };
                format!("{len} 100644 1 {owner} 7 0 {time} - {content} -")
            }
            _ => {
                let digest = format!("{:064x}", below(40) * 0x0123_4567_89ab);
                let size = [1_u64, 4096, 4097, 1 << 32, 1 << 45, 1 << 53][below(6) as usize];
                let path = format!("{}/{}", &digest[..2], &digest[2..]);
                format!("{size} 100644 1 {owner} 7 0 {time} {path} - {digest}")
            }
        };
        if !rest.starts_with("0 40755") {
            files.push(path.clone());
        }
        text.push_str(&format!("{path} {rest}"));
        for _ in 0..below(4) {
            let name = [
                "user.a",
                "user.bb",
                "trusted.overlay.x",
                "security.selinux",
                "zzz",
            ][below(5) as usize];
            let value = "v".repeat([0, 1, 3, 40, 3000][below(5) as usize]);
            if !text.ends_with('\n') && !text.rsplit('\n').next().unwrap().contains(name) {
                text.push_str(&format!(" {name}={value}"));
            }
        }
        text.push('\n');
    }
    text.into_bytes()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
