//! Options of all kinds, and what becomes of them.

use super::*;

fn settings() -> Settings {
    Settings {
        fetch: FetchWishes::default(),
        image: OpenOptions::default(),
        mount: MountOptions::default(),
        record: None,
        preload: None,
        idle: Duration::from_secs(300),
        unmount_after: None,
        upper: None,
        read_only: None,
        is_proved: false,
    }
}

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
        apply(option, &mut settings()).unwrap();
    }
    for option in [
        "nonsense",
        "uid=x",
        "umask=8",
        "max_read=1",
        "timeout=x",
        "mlock",
    ] {
        assert!(apply(option, &mut settings()).is_err(), "{option}");
    }
    assert!(!is_known("nonsense") && is_known("x-anything=1") && is_known("mlock"));
}

#[test]
fn labels_may_contain_commas_in_quotes() {
    let all: Vec<_> = split(r#"ro,context="system_u:object_r:usr_t:s0:c1,c2",uid=3,"#).collect();
    assert_eq!(all.len(), 3);
    let mut to = settings();
    for option in all {
        apply(option, &mut to).unwrap();
    }
    let label = (
        "context".to_owned(),
        "system_u:object_r:usr_t:s0:c1,c2".to_owned(),
    );
    assert_eq!(to.mount.labels, [label]);
    assert_eq!(to.mount.uid, Some(3));
}

#[test]
fn times_have_units() {
    let mut to = settings();
    apply("tidy_max_age=2m", &mut to).unwrap();
    apply("timeout=60", &mut to).unwrap();
    assert_eq!(to.idle, Duration::from_secs(120));
    assert_eq!(to.unmount_after, Some(Duration::from_secs(60)));
}

#[test]
fn a_mount_is_writable_with_an_overlay_only() {
    let with = |options: &[&str]| {
        let mut to = settings();
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
