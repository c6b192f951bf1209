//! The scripts of the actions in `.github/actions`, run as a forge runs them: an image of a
//! directory, and a directory that one run saves and the next one restores.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{is_root, scratch, try_run};

/// Runs the script of an action with its inputs.
fn action(work: &Path, name: &str, inputs: &[(&str, &str)]) -> Output {
    let actions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/actions");
    let mut command = Command::new("bash");
    command
        .arg(actions.join(name).join("run.sh"))
        .current_dir(work);
    command.env("SINTER", env!("CARGO_BIN_EXE_sinter"));
    command.env("GITHUB_OUTPUT", work.join("outputs"));
    command
        .envs(inputs.iter().copied())
        .env_remove("SOURCE_DATE_EPOCH");
    command.output().unwrap()
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_action_builds_an_image_and_outputs_its_digest() {
    let work = scratch();
    fs::create_dir(work.path().join("a tree")).unwrap();
    fs::write(work.path().join("a tree/file"), "content").unwrap();
    let inputs = [
        ("SOURCE", "a tree"),
        ("IMAGE", "an image.sqfs"),
        ("OPTIONS", "-l3 --all-root"),
    ];
    succeeds(&action(work.path(), "build-image", &inputs));
    let mut sum = Command::new("sha256sum");
    let sum = sum
        .arg("an image.sqfs")
        .current_dir(work.path())
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let outputs = fs::read_to_string(work.path().join("outputs")).unwrap();
    assert_eq!(outputs, format!("digest={}\n", &sum[..64]));
    // it exists
    let again = action(work.path(), "build-image", &inputs);
    assert!(!again.status.success(), "{again:?}");
}

#[test]
fn a_directory_is_saved_and_restored() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let (first, second) = (work.path().join("first"), work.path().join("second"));
    let inputs = |directory| [("DIRECTORY", directory), ("IMAGE", "saved.dwarfs")];
    let told = succeeds(&action(work.path(), "restore-directory", &inputs("first")));
    assert!(told.contains("nothing was saved"), "{told}");
    fs::write(first.join("a"), "1").unwrap();
    succeeds(&action(work.path(), "save-directory", &inputs("first")));
    let full = action(work.path(), "restore-directory", &inputs("first"));
    assert!(
        String::from_utf8_lossy(&full.stderr).contains("is not empty"),
        "{full:?}"
    );

    let told = succeeds(&action(work.path(), "restore-directory", &inputs("second")));
    assert_eq!(fs::read(second.join("a")).unwrap(), b"1");
    fs::write(second.join("b"), "2").unwrap();
    // while the older image is mounted
    succeeds(&action(work.path(), "save-directory", &inputs("second")));
    if told.contains("mounted") {
        let output = try_run(["umount".as_ref(), second.as_os_str()]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(fs::read_dir(&second).unwrap().count(), 0);
    }
    let image = work.path().join("saved.dwarfs");
    for (name, content) in [("a", "1"), ("b", "2")] {
        let output = try_run(["cat".as_ref(), image.as_os_str(), name.as_ref()]);
        assert_eq!(output.stdout, content.as_bytes(), "{name}");
    }
}
