//! Options that readers of some formats only have: with any other file they are an error that says
//! what they are for.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use support::archives::words_of;
use support::{build, is_root, run, scratch, shell, sinter, try_run};

const DEVICE: (&str, &str) = ("--device", "erofs, composefs and wim images");
const IMAGE: (&str, &str) = ("--image", "wim, udf and iso9660 images");
const OBJECTS: (&str, &str) = ("--objects", "erofs and composefs images");

/// Images and archives of the same tree.
struct Files {
    work: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let work = scratch();
        fs::create_dir(work.path().join("tree")).unwrap();
        fs::write(work.path().join("tree/text"), "some text").unwrap();
        fs::write(work.path().join("other"), "nothing of an image").unwrap();
        fs::create_dir(work.path().join("store")).unwrap();
        let files = Self { work };
        for format in ["dwarfs", "squashfs", "cramfs", "iso9660", "wim", "erofs"] {
            build(format, &files.path("tree"), &files.path(format), &[]);
        }
        let script = "tar -cf tar -C tree . && (cd tree && echo text | cpio -o -H newc) > cpio";
        shell(files.work.path(), script);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// Returns what `sinter` says with an option, which must be a refusal.
    fn refused(&self, words: &[&str], (option, formats): (&str, &str)) -> String {
        let value = match option {
            "--device" => "other",
            "--image" | "--partition" => "1",
            "--offset" => "512",
            _ => "store",
        };
        let mut program = sinter();
        program.current_dir(self.work.path());
        if words.contains(&"-") {
            program.stdin(File::open(self.path("tar")).unwrap());
        }
        let output = program.args(words).args([option, value]).output().unwrap();
        let said = words_of(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?} {option}: {said}");
        let expected = format!("{option} is for {formats}; this is ");
        assert!(said.contains(&expected), "{words:?} {option}: {said}");
        said
    }
}

#[test]
fn an_option_of_other_formats_is_refused() {
    let files = Files::new();
    for format in ["dwarfs", "squashfs", "cramfs", "iso9660"] {
        for option in [DEVICE, IMAGE, OBJECTS] {
            if format == "iso9660" && option == IMAGE {
                continue;
            }
            for command in ["ls", "info", "check", "convert", "extract"] {
                let mut words = vec![command, format];
                if let "convert" | "extract" = command {
                    words.extend(["-o", "new"]);
                }
                let said = files.refused(&words, option);
                let is = format!("this is a {format} image").replace("a iso", "an iso");
                assert!(said.contains(&is), "{said}");
            }
        }
    }
    files.refused(&["ls", "erofs"], IMAGE);
    files.refused(&["ls", "wim"], OBJECTS);
    let words = ["ls", "--image", "1"].map(Path::new);
    let output = try_run(words.into_iter().chain([&*files.path("iso9660")]));
    let said = words_of(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("no tree \"1\""), "{said}");
    assert!(!files.path("new").exists());
}

#[test]
fn archives_and_directories_take_no_reader_options() {
    let files = Files::new();
    let (offset, partition) = (("--offset", "images"), ("--partition", "images"));
    for archive in ["tar", "cpio"] {
        for option in [DEVICE, IMAGE, OBJECTS] {
            for command in [
                &["ls", archive][..],
                &["cat", archive, "text"],
                &["convert", archive, "-o", "new"],
            ] {
                let said = files.refused(command, option);
                assert!(said.contains("this is an archive"), "{said}");
            }
        }
    }
    for option in [DEVICE, IMAGE, OBJECTS, offset, partition] {
        files.refused(&["ls", "-"], option);
        files.refused(&["convert", "tree", "-o", "new"], option);
    }
    assert!(!files.path("new").exists());
}

#[test]
fn the_image_inside_a_device_decides() {
    let files = Files::new();
    for inside in ["wim", "squashfs"] {
        let device = files.path(&format!("{inside}.cloop"));
        run([
            Path::new("cloop"),
            &files.path(inside),
            Path::new("-o"),
            &device,
        ]);
    }
    let words = ["ls", "--image", "1"].map(Path::new);
    let listed = run(words.into_iter().chain([&*files.path("wim.cloop")]));
    assert_eq!(listed.stdout, b"text\n");
    let wrong = ["ls", "--image", "2"].map(Path::new);
    let output = try_run(wrong.into_iter().chain([&*files.path("wim.cloop")]));
    assert_eq!(output.status.code(), Some(5), "{}", words_of(&output));
    for option in [DEVICE, IMAGE, OBJECTS] {
        let said = files.refused(&["ls", "squashfs.cloop"], option);
        assert!(said.contains("this is a squashfs image"), "{said}");
    }
}

#[test]
fn of_several_images_one_may_have_it() {
    let files = Files::new();
    files.refused(&["diff", "dwarfs", "tree"], OBJECTS);
    files.refused(&["diff", "tar", "cpio"], OBJECTS);
    let store = files.path("store");
    let composefs = files.path("composefs");
    let digests = ["--digest-store", store.to_str().unwrap()];
    fs::write(files.path("tree/text"), "some text ".repeat(9_000)).unwrap();
    build("composefs", &files.path("tree"), &composefs, &digests);
    build("dwarfs", &files.path("tree"), &files.path("dwarfs"), &[]);
    for other in ["tree", "dwarfs"] {
        let words = ["diff", "--objects"].map(PathBuf::from);
        let trees = [store.clone(), composefs.clone(), files.path(other)];
        run(words.into_iter().chain(trees));
    }
    if !is_root() {
        return;
    }
    fs::create_dir(files.path("mnt")).unwrap();
    files.refused(&["mount", "dwarfs", "mnt"], OBJECTS);
    files.refused(&["mount", "dwarfs", "squashfs", "mnt"], OBJECTS);
    let mount = |more: &[&str]| {
        let mut program = sinter();
        program.current_dir(files.work.path()).args(["mount"]);
        words_of(&program.args(more).output().unwrap())
    };
    let names_directory =
        |said: &str| said.contains("--objects") && said.contains("their directory");
    for more in [&["--verify"][..], &["-o", "verify"], &["-o", "ro,verity"]] {
        let said = mount(&[&["dwarfs", "mnt"], more].concat());
        assert!(names_directory(&said), "{more:?}: {said}");
    }
    fs::write(files.path("list"), "dwarfs mnt verify\n").unwrap();
    let said = mount(&["--all", "list"]);
    assert!(said.contains("list:1:") && names_directory(&said), "{said}");
    fs::write(files.path("list"), "dwarfs mnt\n").unwrap();
    for more in [&["--verify"][..], &["-o", "verify"]] {
        let said = mount(&[&["--all", "list"], more].concat());
        assert!(said.contains("no line has"), "{more:?}: {said}");
    }
    fs::write(files.path("list"), "dwarfs mnt\n").unwrap();
    let said = mount(&["--all", "list", "--objects", "store"]);
    assert!(
        said.contains("--objects can be given for one image"),
        "{said}"
    );
}
