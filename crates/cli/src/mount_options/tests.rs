//! Options of all kinds, and what becomes of them.

use std::time::Duration;

use super::*;

#[test]
fn no_name_has_two_rows() {
    let mut names: Vec<_> = OPTIONS.iter().flat_map(|(names, _)| *names).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn options_of_fstab_are_taken_and_others_are_not() {
    let line = "ro,nofail,users,x-systemd.automount,X-mount.mkdir,_netdev,lazytime,loop";
    for option in split(line) {
        apply(option, &mut Settings::default()).unwrap();
    }
    for option in [
        "nonsense",
        "uid=x",
        "umask=8",
        "max_read=1",
        "timeout=x",
        "mlock",
    ] {
        assert!(apply(option, &mut Settings::default()).is_err(), "{option}");
    }
    assert!(!is_known("nonsense") && is_known("x-anything=1") && is_known("mlock"));
}

#[test]
fn labels_may_contain_commas_in_quotes() {
    let all: Vec<_> = split(r#"ro,context="system_u:object_r:usr_t:s0:c1,c2",uid=3,"#).collect();
    assert_eq!(all.len(), 3);
    let mut to = Settings::default();
    for option in all {
        apply(option, &mut to).unwrap();
    }
    let label = (
        "context".to_owned(),
        "system_u:object_r:usr_t:s0:c1,c2".to_owned(),
    );
    assert_eq!(to.mounter.options.labels, [label]);
    assert_eq!(to.mounter.options.uid, Some(3));
}

#[test]
fn times_have_units() {
    let mut to = Settings::default();
    apply("tidy_max_age=2m", &mut to).unwrap();
    apply("timeout=60", &mut to).unwrap();
    assert_eq!(to.mounter.trim_after, Duration::from_secs(120));
    assert_eq!(to.mounter.unmount_after, Some(Duration::from_secs(60)));
}

#[test]
fn a_mount_is_writable_with_an_overlay_only() {
    let with = |options: &[&str]| {
        let mut to = Settings::default();
        for option in options {
            apply(option, &mut to).unwrap();
        }
        check_writable(&to).map_err(|error| error.to_string())
    };
    let refused = with(&["rw"]).unwrap_err();
    assert!(refused.contains("--overlay UPPER"), "{refused}");
    let refused = with(&["overlay=/changes", "ro"]).unwrap_err();
    assert!(refused.contains("contradicts the overlay"), "{refused}");
    with(&["ro"]).unwrap();
    with(&["rw", "overlay=tmpfs"]).unwrap();
    with(&["overlay=/changes"]).unwrap();
}
