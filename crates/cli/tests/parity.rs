//! `sinter parity`, `repair` and `check --parity`: images of every format come back byte by byte,
//! and where that is not possible nothing is changed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;

use sinterfs_testkit::{Random, noise};
use support::{build, run, scratch, shell, try_run};

#[test]
fn images_of_every_format_are_repaired() {
    let work = scratch();
    let dir = work.path();
    shell(
        dir,
        "mkdir tree; seq 30000 >tree/text; ln -s text tree/link",
    );
    fs::write(dir.join("tree/noise"), noise(3, 200_000)).unwrap();
    let mut random = Random(11);
    for format in ["dwarfs", "squashfs", "erofs", "cramfs"] {
        let (image, new) = (dir.join("image"), dir.join("new"));
        let sound = build(format, &dir.join("tree"), &image, &[]);
        let (path, new_path) = (image.to_str().unwrap(), new.to_str().unwrap());
        run(["parity", "-q", "--force", path]);
        let parity_file = dir.join("image.parity");
        let parity = fs::read(&parity_file).unwrap();
        assert!(parity.len() < sound.len() / 10 + 3000, "{}", parity.len());
        let nothing = run(["repair", path]);
        assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing is damaged"));
        for round in 0..8 {
            let mut bytes = sound.clone();
            let at = random.below(bytes.len());
            let end = (at + random.below(sound.len() / 30)).min(bytes.len());
            match round % 4 {
                0 => bytes[at..end].fill(0),
                1 => bytes.truncate(bytes.len() - sound.len() / 30),
                2 => drop(bytes.drain(at..end)),
                _ => bytes[at] ^= 0x80,
            }
            if bytes == sound {
                continue;
            }
            let mut damaged_parity = parity.clone();
            if round > 3 {
                damaged_parity[random.below(parity.len())] ^= 1;
            }
            fs::write(&image, &bytes).unwrap();
            fs::write(&parity_file, &damaged_parity).unwrap();
            let checked = try_run(["check", "--parity", path]);
            assert_ne!(checked.status.code(), Some(0), "{format} {round}");
            let words = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(words.contains("sinter repair"), "{words}");
            run(["repair", "-q", "--force", path, "-o", new_path]);
            assert!(
                fs::read(&new).unwrap() == sound,
                "{format} {round}: other bytes"
            );
            assert!(fs::read(&image).unwrap() == bytes, "the image was changed");
            run(["repair", "-q", path]);
            assert!(
                fs::read(&image).unwrap() == sound,
                "{format} {round}: other bytes"
            );
            assert!(
                fs::read(&parity_file).unwrap() == parity,
                "another parity file"
            );
            run(["check", "-q", "--parity", path]);
        }
    }
}

#[test]
fn what_cannot_be_repaired_is_left_as_it_is() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(4, 300_000)).unwrap();
    let image = dir.join("image");
    let sound = build("squashfs", &dir.join("tree"), &image, &[]);
    let path = image.to_str().unwrap();
    let missing = try_run(["repair", path]);
    assert_eq!(missing.status.code(), Some(5));
    run(["parity", "-q", path]);
    assert_eq!(
        try_run(["parity", path]).status.code(),
        Some(2),
        "it exists"
    );
    let mut bytes = sound.clone();
    bytes[10_000..50_000].fill(0xaa);
    fs::write(&image, &bytes).unwrap();
    for words in [&["repair", path][..], &["repair", path, "-o", "new"]] {
        let output = try_run(words);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("too few"), "{said}");
    }
    assert!(fs::read(&image).unwrap() == bytes);
    let names = fs::read_dir(dir).unwrap().count();
    assert_eq!(names, 3, "the tree, the image and its parity");
    fs::write(dir.join("image.parity"), noise(5, 10_000)).unwrap();
    let output = try_run(["repair", path]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
