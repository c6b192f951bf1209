//! Outputs until they are committed, and after.

use super::*;

fn write(path: &Path, replace: bool, text: &[u8], commit: bool) -> Result<()> {
    let output = Output::create(path, replace)?;
    output.writer().write_all(text).unwrap();
    if commit { output.commit() } else { Ok(()) }
}

#[test]
fn nothing_is_left_without_commit() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("image"), false, b"half", false).unwrap();
    let hidden = Output::hidden(&dir.path().join("image"), false, PUBLIC).unwrap();
    drop(hidden);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_beginning_is_written_last() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let output = Output::create(&path, false).unwrap();
    assert!(output.seeks());
    output.writer().write_all(b"header").unwrap();
    let mut image = output.writer();
    image.write_all(b"....content").unwrap();
    image.patch(0, b"SUPE").unwrap();
    output.commit().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"headerSUPEcontent");
}

#[test]
fn a_stream_gets_the_complete_image() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    std::fs::write(&path, b"before ").unwrap();
    let appending = File::options().append(true).open(&path).unwrap();
    let output = Output::with(OutputTarget::Stream, appending);
    assert!(!output.seeks());
    assert!(output.writer().patch(0, b"x").is_err());
    let scratch = tempfile::tempfile_in(dir.path()).unwrap();
    let output = output.behind(scratch).unwrap();
    let mut image = output.writer();
    image.write_all(b"....content").unwrap();
    image.patch(0, b"SUPE").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"before ");
    output.commit().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"before SUPEcontent");
}

#[test]
fn an_existing_image_is_kept_unless_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    write(&path, false, b"one", true).unwrap();
    assert!(write(&path, false, b"two", true).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
    write(&path, true, b"three", true).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"three");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_replacement_keeps_permissions_and_goes_through_a_symlink() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("image"), dir.path().join("link"));
    write(&path, false, b"one", true).unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, private).unwrap();
    std::os::unix::fs::symlink("image", &link).unwrap();
    write(&link, true, b"two", true).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o600
    );
}

#[test]
fn a_file_that_appears_meanwhile_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let hidden = |path: &Path, replace| Output::hidden(path, replace, PUBLIC);
    for make in [Output::create, hidden] {
        let output = make(&path, false).unwrap();
        std::fs::write(&path, b"theirs").unwrap();
        assert!(output.commit().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
