//! Mounts of images with one damaged entry: the other names are there, and it alone is an error.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::io::Errno;

use super::{files, has, patch};
use crate::support::{Mounted, build, is_root, kernel_serves, scratch, shell};

/// Returns the names that a listing shows, up to its end or an error.
fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap().map_while(Result::ok);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.collect()
}

/// Mounts an image whose file `d/f3` is damaged.
fn one_is_an_error(work: &Path, image: &str, options: &[&str]) {
    let mounted = Mounted::new(&work.join(image), &work.join("mnt"), options);
    let dir = mounted.0.join("d");
    let context = format!("{image} {options:?}");
    for _ in 0..2 {
        let found = names(&dir);
        for number in [1, 2, 4, 5, 6] {
            let name = format!("f{number}");
            assert!(found.contains(&name), "{context}: {found:?}");
            let content = fs::read(dir.join(&name)).unwrap();
            assert_eq!(content.len(), 1000 * number + 1, "{context}");
        }
    }
    let error = fs::read(dir.join("f3")).unwrap_err();
    // of an unknown layout of EROFS, FUSE and the kernel have errors of their own
    let known = [Errno::IO, Errno::OPNOTSUPP, Errno::UCLEAN].map(Errno::raw_os_error);
    let errno = error.raw_os_error().unwrap();
    assert!(known.contains(&errno), "{context}: {error}");
}

/// Makes an image of each format with a damaged inode; returns their names.
fn damaged_images(work: &Path) -> Vec<&'static str> {
    files(work);
    let tree = work.join("t");
    let mut made = vec!["i.erofs", "i.cramfs"];
    build("erofs", &tree, &work.join("i.erofs"), &[]);
    let script = "\
b[1032] &= ~1
at = next(at for at in range(1024, len(b) - 32, 32)
          if struct.unpack_from('<I', b, at + 8)[0] == 3001
          and struct.unpack_from('<H', b, at + 4)[0] & 0o170000 == 0o100000)
struct.pack_into('<H', b, at, 0xffff)";
    patch(work, "i.erofs", script);
    build("cramfs", &tree, &work.join("i.cramfs"), &[]);
    let script = "struct.pack_into('<H', b, b.find(b'f3\\0\\0') - 12, 0o644)";
    patch(work, "i.cramfs", script);
    if has("genromfs") {
        shell(work, "genromfs -d t -f i.romfs");
        let script = "\
at = b.find(b'f3\\0') - 16
next = struct.unpack_from('>I', b, at)[0]
struct.pack_into('>II', b, at, next & ~7, 0x7ffffff0)";
        patch(work, "i.romfs", script);
        made.push("i.romfs");
    }
    if has("mksquashfs") {
        shell(
            work,
            "mksquashfs t i.squashfs -noI -noD -noF -quiet -no-progress >/dev/null",
        );
        let script = "\
at = next(at for at in range(96, len(b) - 32)
          if struct.unpack_from('<H', b, at)[0] == 2
          and struct.unpack_from('<I', b, at + 28)[0] == 3001)
struct.pack_into('<H', b, at, 99)";
        patch(work, "i.squashfs", script);
        made.push("i.squashfs");
    }
    made
}

#[test]
fn a_damaged_inode_is_one_error_of_a_mount() {
    if !is_root() || !Path::new("/dev/fuse").exists() {
        return;
    }
    let work = scratch();
    for image in damaged_images(work.path()) {
        one_is_an_error(work.path(), image, &["--fuse"]);
    }
}

#[test]
fn a_damaged_inode_is_one_error_of_a_mount_of_the_kernel() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    for image in damaged_images(work.path()) {
        one_is_an_error(work.path(), image, &["--kernel"]);
    }
}

/// A directory whose entry is left out has the others, and then an error.
#[test]
fn a_listing_of_a_mount_ends_with_an_error_where_an_entry_is_left_out() {
    if !is_root() || !Path::new("/dev/fuse").exists() {
        return;
    }
    let work = scratch();
    let work = work.path();
    files(work);
    build("cramfs", &work.join("t"), &work.join("i.cramfs"), &[]);
    patch(
        work,
        "i.cramfs",
        "at = b.find(b'f3\\0\\0'); b[at:at + 2] = b'f/'",
    );
    let image = work.join("i.cramfs");
    let mounted = Mounted::new(&image, &work.join("mnt"), &["--fuse"]);
    let dir = mounted.0.join("d");
    assert_eq!(names(&dir).len(), 5);
    let errors = fs::read_dir(&dir).unwrap().filter(Result::is_err).take(1);
    assert_eq!(errors.count(), 1);
}
