//! The program called as genisoimage and xorrisofs: what is packed and where (graft points,
//! patterns to exclude), levels of interchange, dates and partitions, beside the real tools.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::archives::words_of;
use support::{called, run, scratch, skip, try_run};

/// Runs a script in a directory; returns what it prints, or `None` where a tool is missing.
fn printed(work: &Path, script: &str) -> Option<String> {
    let script = format!("export PATH=$PATH:/usr/sbin; {script}");
    let mut command = Command::new("sh");
    let output = command.current_dir(work).args(["-ec", &script]).output();
    let output = output.unwrap();
    if output.status.code() == Some(127) {
        skip(&format!("no tool of: {script}"));
        return None;
    }
    assert!(output.status.success(), "{script}: {}", words_of(&output));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes an image by the program under another name.
fn made(work: &Path, name: &str, words: &str) -> PathBuf {
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = called(work, name, &[&["-o", "ours"], &words[..]].concat());
    assert!(output.status.success(), "{words:?}: {}", words_of(&output));
    work.join("ours")
}

/// Compares an image of ours with one of the real tool, by what is in them.
fn as_the_real_tool(work: &Path, name: &str, words: &str) {
    let image = made(work, name, words);
    // xorriso takes paths below /dev for drives
    let theirs = work.join("theirs");
    let _ = fs::remove_file(&theirs);
    let to = match name {
        "xorrisofs" => format!("stdio:{}", theirs.display()),
        _ => "theirs".to_owned(),
    };
    let real = Command::new(name)
        .current_dir(work)
        .args(["-quiet", "-o", &to])
        .args(words.split_whitespace())
        .output();
    let Ok(real) = real else {
        return skip(&format!("no {name}"));
    };
    assert!(real.status.success(), "{words}: {}", words_of(&real));
    for (image, to) in [(&image, "a"), (&theirs, "b")] {
        let _ = fs::remove_dir_all(work.join(to));
        let words = ["extract", "-q", "-o", to].map(Path::new);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sinter"));
        let output = command.current_dir(work).args(words).arg(image).output();
        assert!(output.unwrap().status.success());
    }
    let differ = printed(work, "diff -r --no-dereference a b && rm -r a b");
    assert_eq!(differ.as_deref(), Some(""), "{name} {words}");
}

fn make_trees(work: &Path) {
    let script = "mkdir -p tree/boot tree/a/b other/boot
        echo x >tree/x.o; echo z >tree/a/z.o; echo y >tree/a/b/y.o; echo f >tree/a/foo
        echo efi >tree/boot/efi; echo other >other/boot/more; echo same >other/x.o
        ln -s x.o tree/link; echo alone >alone; echo tree/x.o >list";
    printed(work, script);
}

#[test]
fn graft_points_and_several_sources_are_those_of_the_real_tools() {
    let work = scratch();
    let work = work.path();
    make_trees(work);
    let absolute = format!("-graft-points /srv/w={}/tree/a", work.display());
    for words in [
        "tree alone",
        "tree/boot tree/a alone",
        "-graft-points tree /srv/=other",
        "-graft-points /srv/x=alone /y=tree/x.o z/w=tree/a",
        "-graft-points a\\=b=alone c\\\\d=alone tree/boot",
        "-graft-points /deep/er/and/deeper=tree/link tree/boot",
        "-path-list list alone",
        "-graft-points -m *.o /srv=tree alone",
        &absolute,
    ] {
        for name in ["genisoimage", "xorrisofs"] {
            as_the_real_tool(work, name, &format!("-R {words}"));
        }
    }
    // a file and a directory to be: the tools differ
    as_the_real_tool(
        work,
        "genisoimage",
        "-R -graft-points /srv/=alone tree/boot",
    );
    as_the_real_tool(work, "xorrisofs", "-R -graft-points /srv/=alone tree/boot");
}

#[test]
fn exclude_patterns_match_the_real_tools() {
    let work = scratch();
    let work = work.path();
    make_trees(work);
    fs::write(work.join("patterns"), "foo\ntree/boot\n").unwrap();
    let absolute = format!("{}/tree/a/z.o", work.display());
    for pattern in [
        "*.o",
        "foo",
        "tree/a",
        "tree/*.o",
        "tree/a/*",
        "*/x.o",
        "tree/*/y.o",
        "a/z.o",
    ] {
        as_the_real_tool(work, "genisoimage", &format!("-R -m {pattern} tree"));
        as_the_real_tool(work, "genisoimage", &format!("-R -x {pattern} tree"));
    }
    for pattern in ["*.o", "foo", "tree/a", "tree/a/*", &absolute] {
        as_the_real_tool(work, "xorrisofs", &format!("-m {pattern} tree"));
        as_the_real_tool(
            work,
            "xorrisofs",
            &format!("-old-exclude {pattern} tree other"),
        );
    }
    for name in ["genisoimage", "xorrisofs"] {
        as_the_real_tool(work, name, "-R -exclude-list patterns tree");
    }
}

#[test]
fn levels_have_the_names_of_the_standard() {
    let work = scratch();
    let work = work.path();
    let script = "mkdir -p tree/directory.with.dots
        cd tree; for i in 1 2 3 4 5 6 7 8 9 10 11; do echo $i >\"a long name $i.html\"; done
        echo x >directory.with.dots/.hidden; echo y >UPPER.txt; echo z >upper.TXT";
    printed(work, script);
    let listed = |image: &Path| {
        let found = printed(work, &format!("isoinfo -f -i {}", image.display()))?;
        let names = found
            .lines()
            .map(|line| line.rsplit('/').next().unwrap().to_owned());
        Some(names.collect::<Vec<_>>())
    };
    let image = made(work, "genisoimage", "-R -iso-level 1 tree");
    let Some(names) = listed(&image) else {
        return;
    };
    assert_eq!(names.len(), 15, "{names:?}");
    for name in &names {
        let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
        let extension = rest.strip_suffix(";1").unwrap_or(rest);
        let is_allowed = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        assert!(stem.len() <= 8 && extension.len() <= 3, "{name}");
        assert!(
            stem.chars().chain(extension.chars()).all(is_allowed),
            "{name}"
        );
    }
    let image = made(work, "genisoimage", "-R -iso-level 2 tree");
    assert!(
        listed(&image)
            .unwrap()
            .contains(&"A_LONG_NAME_1.HTML;1".to_owned())
    );
    let image = made(work, "xorrisofs", "-J -iso-level 4 tree");
    let names = listed(&image).unwrap();
    for name in ["a long name 11.html", ".hidden", "UPPER.txt", "upper.TXT"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    let facts = printed(work, "isoinfo -d -i ours").unwrap();
    assert!(facts.contains("ISO 9660:1999"), "{facts}");
    // without Rock Ridge and Joliet
    let script = "mkdir plain; bsdtar -x -f ours -C plain --options '!rockridge,!joliet'
        diff -r tree plain; 7zz t ours; xorriso -indev ours -find / -type f 2>&1";
    printed(work, script);
    run([Path::new("check"), Path::new("--deep"), &image]);
    let output = called(work, "mkisofs", &["-o", "no", "-iso-level", "5", "tree"]);
    assert!(
        words_of(&output).contains("must be from 1 to 4"),
        "{}",
        words_of(&output)
    );
}

#[test]
fn the_date_of_modification_is_literal() {
    let work = scratch();
    let work = work.path();
    make_trees(work);
    let words = "--modification-date=2023111422132055 tree";
    let image = fs::read(made(work, "xorrisofs", words)).unwrap();
    let dates = |image: &[u8]| image[32768 + 813..32768 + 881].to_vec();
    assert_eq!(&dates(&image)[..17], b"2023111422132055\0");
    let script = format!("xorrisofs -quiet {words} >theirs");
    if printed(work, &script).is_some() {
        assert_eq!(
            dates(&image),
            dates(&fs::read(work.join("theirs")).unwrap())
        );
    }
    for wrong in ["20231114", "2023133322132055", "x023111422132055"] {
        let option = format!("--modification-date={wrong}");
        let output = called(work, "xorrisofs", &["-o", "no", &option, "tree"]);
        assert!(
            !output.status.success() && !work.join("no").exists(),
            "{wrong}"
        );
    }
}

/// The start, the length and the type of each partition that sfdisk finds.
fn partitions(work: &Path) -> Option<Vec<(String, u64, u64, String)>> {
    let text = printed(work, "sfdisk --dump ours 2>/dev/null")?;
    let rows = text.lines().filter(|line| line.starts_with("ours"));
    let row = |line: &str| {
        let (name, rest) = line.split_once(" : ").unwrap();
        let field = |key: &str| {
            let found = rest
                .split(',')
                .find_map(|part| part.trim().strip_prefix(key));
            found.unwrap().trim().to_owned()
        };
        let number = |key: &str| field(key).parse().unwrap();
        (
            name.to_owned(),
            number("start="),
            number("size="),
            field("type="),
        )
    };
    Some(rows.map(row).collect())
}

#[test]
fn partitions_follow_the_image() {
    let work = scratch();
    let work = work.path();
    make_trees(work);
    let part: Vec<u8> = sinterfs_testkit::noise(3, 100_000);
    fs::write(work.join("part"), &part).unwrap();
    fs::write(work.join("mbr"), vec![b'M'; 440]).unwrap();
    let image = fs::read(made(
        work,
        "xorrisofs",
        "-append_partition 2 0x83 part tree",
    ))
    .unwrap();
    let Some(found) = partitions(work) else {
        return;
    };
    let [(_, 0, size, first), (name, start, 196, second)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (first.as_str(), second.as_str(), name.as_str()),
        ("83", "83", "ours2")
    );
    assert_eq!(start, size);
    assert!(image[*start as usize * 512..].starts_with(&part));
    // the size of the volume is that of the image
    let blocks = u32::from_le_bytes(image[32768 + 80..][..4].try_into().unwrap());
    assert_eq!(u64::from(blocks) * 4, *size);
    // a boot image that is a partition, as El Torito and the partition tables have it
    let words = "-b boot/efi -no-emul-boot -boot-load-size 4 -isohybrid-mbr mbr -eltorito-alt-boot \
                 -e --interval:appended_partition_3:all:: -no-emul-boot \
                 -append_partition 3 C12A7328-F81F-11D2-BA4B-00A0C93EC93B part tree";
    made(work, "xorrisofs", words);
    let found = partitions(work).unwrap();
    let start = found.iter().find(|row| row.0 == "ours3").unwrap().1;
    let report = "xorriso -indev ours -report_el_torito plain 2>/dev/null | grep UEFI";
    let report = printed(work, report).unwrap();
    let sector: u64 = report.split_whitespace().last().unwrap().parse().unwrap();
    assert_eq!(start, sector * 4, "{report}");
    let mbr = printed(work, "fdisk -l -t dos ours").unwrap();
    assert!(
        mbr.contains("ours1") && mbr.contains("ours3") && !mbr.contains("ours2"),
        "{mbr}"
    );
    let wrong = [
        ("-append_partition 5 0x83 part tree", "must be from 1 to 4"),
        ("-append_partition 1 zero part tree", "0xTYPE"),
        (
            "-append_partition 1 0x83 part -append_partition 1 0x83 mbr tree",
            "two partitions 1",
        ),
        ("-append_partition 1 0x83 none tree", "none"),
        ("-append_partition 1 0x83", "needs a value: FILE"),
        (
            "-e --interval:appended_partition_2:all:: -no-emul-boot tree",
            "not appended",
        ),
    ];
    for (words, hint) in wrong {
        let words: Vec<&str> = words.split(' ').collect();
        let output = called(work, "xorrisofs", &[&["-o", "no"], &words[..]].concat());
        let said = words_of(&output);
        assert!(
            !output.status.success() && said.contains(hint),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn an_image_in_a_partition_is_no_session() {
    let work = scratch();
    let work = work.path();
    make_trees(work);
    printed(work, "mkdir inner; echo inner >inner/inner");
    made(work, "xorrisofs", "inner");
    fs::rename(work.join("ours"), work.join("part")).unwrap();
    let words = "-append_partition 2 0x83 part tree";
    let image = made(work, "xorrisofs", words);
    let listed = run([Path::new("ls"), &image]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("x.o"));
    let partition = ["--partition", "2", "inner"].map(Path::new);
    let shown = try_run([&[Path::new("cat"), &image], &partition[..]].concat());
    assert_eq!(shown.stdout, b"inner\n", "{}", words_of(&shown));
    if printed(work, &format!("xorrisofs -quiet {words} >theirs")).is_some() {
        let listed = run([Path::new("ls"), &work.join("theirs")]);
        assert!(String::from_utf8_lossy(&listed.stdout).contains("x.o"));
    }
}

#[test]
fn files_that_mkzftree_compressed_are_marked() {
    let work = scratch();
    let work = work.path();
    let script = "mkdir tree; seq 1 30000 >tree/numbers; echo short >tree/short
        head -c 70000 /dev/zero >tree/zeros; mkzftree tree packed";
    if printed(work, script).is_none() {
        return;
    }
    for name in ["genisoimage", "xorrisofs"] {
        let image = made(work, name, "-R -z packed");
        for tool in [
            format!("{} extract -q -o got ours", env!("CARGO_BIN_EXE_sinter")),
            "mkdir got; bsdtar -xf ours -C got".to_owned(),
        ] {
            let script = format!("{tool}; diff -r tree got; rm -r got");
            assert_eq!(printed(work, &script).as_deref(), Some(""), "{tool}");
        }
        run([Path::new("check"), Path::new("--deep"), &image]);
        as_the_real_tool(work, name, "-R -z packed");
    }
    let image = made(work, "genisoimage", "-R packed");
    assert!(
        fs::read(image)
            .unwrap()
            .windows(4)
            .all(|bytes| bytes != b"ZF\x10\x01")
    );
}
