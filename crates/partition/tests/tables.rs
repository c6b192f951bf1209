//! Tables that sfdisk makes, compared with what it says of them, and damaged ones.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Kind, Result};
use sinterfs_partition::{PartitionTable, TableKind};
use sinterfs_testkit::{Random, skip};

/// Makes a disk of 16 MiB by a script of sfdisk; returns it with the start, the size and the type
/// of each partition, as sfdisk lists them.
fn disk(script: &str) -> Option<(Vec<u8>, Vec<String>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    fs::write(&path, vec![0; 16 << 20]).unwrap();
    let path_env = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
    let sfdisk = |option: &str| {
        let mut command = Command::new("sfdisk");
        command
            .arg(option)
            .arg(&path)
            .env("PATH", &path_env)
            .env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let Ok(mut child) = sfdisk("--quiet").spawn() else {
        skip("no sfdisk");
        return None;
    };
    let mut input = child.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let listed = sfdisk("--dump").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let rows = listed.lines().filter(|line| line.contains("start="));
    let rows = rows.map(|row| {
        let (device, rest) = row.split_once(" : ").unwrap();
        let number = device.rsplit("disk").next().unwrap();
        let value = |name: &str| {
            let rest = rest.split_once(name).map_or("", |(_, rest)| rest);
            rest.split(',')
                .next()
                .unwrap()
                .trim()
                .trim_matches('"')
                .to_owned()
        };
        let values = ["start=", "size=", "type=", "name="].map(value);
        format!("{number} {}", unescaped(&values.join(" ")).to_uppercase())
    });
    Some((fs::read(&path).unwrap(), rows.collect()))
}

/// A disk that is not copied.
struct Disk<'a>(&'a [u8]);

impl ReadAt for Disk<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let from = self.0.get(offset as usize..).unwrap_or_default();
        let bytes = from.get(..buf.len());
        buf.copy_from_slice(bytes.ok_or_else(|| Error::corrupt("beyond the end"))?);
        Ok(())
    }
}

/// Replaces what sfdisk writes for bytes that are not ASCII: `\x` and two digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).unwrap()
}

fn read(bytes: &[u8]) -> Result<Option<PartitionTable>> {
    sinterfs_partition::read(&Disk(bytes))
}

/// Lists a table as `disk` does.
fn listed(table: &PartitionTable) -> Vec<String> {
    let rows = table.partitions.iter().map(|part| {
        let sectors = (part.start / 512, part.len / 512);
        let (start, size) = sectors;
        let kind = match part.kind.len() {
            2 => part.kind.trim_start_matches('0').to_uppercase(),
            _ => part.kind.clone(),
        };
        let name = part.name.to_uppercase();
        format!("{} {start} {size} {kind} {name}", part.number)
    });
    rows.collect()
}

const GPT: &str = "label: gpt\n\
    start=2048, size=4096, name=\"first\"\n\
    start=8192, size=2048, type=U\n\
    4 : start=12288, size=1024, name=\"größer\"\n";

const MBR: &str = "label: dos\n\
    start=2048, size=2048, type=83\n\
    start=4096, size=20000, type=5\n\
    5 : size=1000, type=83\n\
    6 : size=2000, type=82\n\
    7 : size=300, type=7\n";

#[test]
fn tables_of_sfdisk_are_read_as_it_lists_them() {
    for (script, kind) in [(GPT, TableKind::Gpt), (MBR, TableKind::Mbr)] {
        let Some((bytes, expected)) = disk(script) else {
            return;
        };
        let table = read(&bytes).unwrap().unwrap();
        assert_eq!((table.kind, table.sector), (kind, 512));
        // what holds logical partitions is none
        let expected: Vec<_> = expected
            .into_iter()
            .filter(|row| kind == TableKind::Gpt || !row.starts_with("2 "))
            .collect();
        assert!(expected.len() >= 3);
        assert_eq!(listed(&table), expected);
        assert!(table.partitions.iter().all(|part| part.problem.is_none()));
        let error = table.partition(77).unwrap_err();
        assert_eq!(error.kind(), Kind::NotFound);
    }
}

#[test]
fn the_second_copy_of_a_gpt_stands_in_for_the_first() {
    let Some((bytes, expected)) = disk(GPT) else {
        return;
    };
    let last = bytes.len() - 512;
    // in the header, in its checksum, in the entries, in the signature
    for at in [512 + 40, 512 + 16, 1024 + 33, 512] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let table = read(&damaged).unwrap().unwrap();
        assert!(table.note.is_some(), "{at}");
        assert_eq!(listed(&table), expected, "{at}");
        damaged[last + 40] ^= 1;
        let error = read(&damaged).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{at}: {error}");
    }
    assert_eq!(read(&bytes).unwrap().unwrap().note, None);
}

#[test]
fn unusable_ranges_are_named() {
    let Some((bytes, _)) = disk(MBR) else {
        return;
    };
    let problem = |bytes: &[u8], number: u32| {
        let table = read(bytes).unwrap().unwrap();
        table.partition(number).unwrap_err().what().to_owned()
    };
    // beyond the end
    let mut long = bytes.clone();
    long[446 + 12..446 + 16].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(problem(&long, 1).contains("ends at byte"));
    // on the first logical partition
    let mut wide = bytes.clone();
    wide[446 + 12..446 + 16].copy_from_slice(&5000_u32.to_le_bytes());
    assert!(problem(&wide, 1).contains("overlaps partition 5"));
    assert!(problem(&wide, 5).contains("overlaps partition 1"));
    read(&wide).unwrap().unwrap().partition(7).unwrap();
    // the chain of logical partitions begins anew
    let mut circle = bytes.clone();
    let second = 4096 * 512 + 446 + 16;
    circle[second + 8..second + 12].fill(0);
    assert!(read(&circle).unwrap_err().what().contains("no end"));
    circle[second + 8..second + 12].fill(0xff);
    assert!(read(&circle).unwrap_err().what().contains("leaves it"));
}

#[test]
fn the_first_partition_of_a_disc_is_all_of_it() {
    let Some((mut bytes, _)) = disk(MBR) else {
        return;
    };
    let sectors = u32::try_from(bytes.len() / 512).unwrap();
    bytes[446 + 8..446 + 12].fill(0);
    bytes[446 + 12..446 + 16].copy_from_slice(&sectors.to_le_bytes());
    // what begins in front of its own table is something else
    assert_eq!(read(&bytes).unwrap(), None);
    bytes[0x8001..0x8006].copy_from_slice(b"CD001");
    let table = read(&bytes).unwrap().unwrap();
    assert_eq!(table.partition(1).unwrap().start, 0);
    assert!(table.partitions.iter().all(|part| part.problem.is_none()));
}

#[test]
fn other_files_have_no_table() {
    assert_eq!(read(b"").unwrap(), None);
    assert_eq!(read(&[0; 4096]).unwrap(), None);
    // the boot sector of a file system
    let mut boot = vec![0x90; 4096];
    boot[510..512].copy_from_slice(&[0x55, 0xaa]);
    assert_eq!(read(&boot).unwrap(), None);
}

#[test]
fn damaged_tables_end_in_errors_or_in_ranges_within_the_disk() {
    let mut random = Random(7);
    for script in [GPT, MBR] {
        let Some((bytes, _)) = disk(script) else {
            return;
        };
        let places: Vec<usize> = (0..2048)
            .chain(4096 * 512..4097 * 512)
            .chain(bytes.len() - 512..bytes.len())
            .collect();
        let mut damaged = bytes.clone();
        for _ in 0..1000 {
            let changed: Vec<usize> = (0..=random.below(4))
                .map(|_| places[random.below(places.len())])
                .collect();
            for &at in &changed {
                damaged[at] = random.number() as u8;
            }
            if let Ok(Some(table)) = read(&damaged) {
                for part in &table.partitions {
                    if let Ok(part) = table.partition(part.number) {
                        assert!(part.start + part.len <= damaged.len() as u64);
                    }
                }
            }
            for &at in &changed {
                damaged[at] = bytes[at];
            }
        }
    }
}
