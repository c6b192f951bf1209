//! Named streams of WIM, which are extended attributes while they are in a tree.

use std::fs;
use std::process::Command;

use sinterfs_model::Quiet;
use sinterfs_testkit::{Fault, skip};

use super::{FaultySink, of_image, open, request};
use crate::write::build::prepare;
use crate::write::job::Prepared;
use crate::write::pack::Work;
use crate::write::report::PipelineReport;

/// Writes a format; the attributes `streams` are named streams.
fn write(
    format: &'static str,
    solid: bool,
    prepared: &Prepared,
    streams: &[&str],
) -> (Vec<u8>, PipelineReport) {
    let mut request = request("unused".as_ref(), format);
    request.compression = solid.then(|| "lzx:level=1:solid".to_owned());
    let options = request.format().unwrap();
    let work = Work {
        name: format,
        format: options.by_pipeline().unwrap(),
        request: &request,
        prepared,
    };
    let mut resolved = work.resolve().unwrap();
    let streams = streams.iter().map(|name| name.as_bytes().to_vec());
    resolved.0.streams.extend(streams);
    let sink = FaultySink::new(&Fault::never());
    let report = work
        .write(Box::new(sink.clone()), None, &resolved, &Quiet)
        .unwrap();
    let report = work.report(report).pipeline;
    (sink.bytes(), report)
}

#[test]
fn they_stay_what_they_are_in_wim_and_are_counted_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "content").unwrap();
    fs::write(tree.join("empty"), "").unwrap();
    fs::hard_link(tree.join("file"), tree.join("linked")).unwrap();
    std::os::unix::fs::symlink("file", tree.join("symlink")).unwrap();
    let mut asked = request(&tree, "wim");
    asked.xattrs_add = vec!["user.stream=content".into(), "user.other=1".into()];
    let prepared = prepare(&asked, &asked.format().unwrap(), &Quiet).unwrap();
    for solid in [false, true] {
        let (first, _) = write("wim", solid, &prepared, &["user.stream"]);
        let (again, report) = write(
            "wim",
            solid,
            &of_image(&first, &Fault::never()).unwrap(),
            &[],
        );
        assert_eq!(first, again, "solid: {solid}");
        assert_eq!(report.image.losses, []);
        let opened = open(&first, &Fault::never()).unwrap();
        let (names, count) = opened.handle().streams_as_attributes();
        // of the root, of a file and of an empty one
        assert_eq!((names.len(), count), (1, 3));
        let image = opened.raw();
        for name in [&b"file"[..], b"empty", b"linked"] {
            let file = image.lookup(image.info().root, name).unwrap().unwrap();
            let found = image.xattrs(file).unwrap();
            let stream = (b"user.stream".to_vec(), b"content".to_vec());
            assert_eq!(found, [(b"user.other".to_vec(), b"1".to_vec()), stream]);
        }
        let (_, report) = write(
            "squashfs",
            false,
            &of_image(&first, &Fault::never()).unwrap(),
            &[],
        );
        let counted = report.image.losses.iter();
        let mut counted = counted.filter(|loss| loss.what.contains("named streams"));
        assert_eq!(counted.next().unwrap().count, 3);
        let path = dir.path().join("image.wim");
        fs::write(&path, &first).unwrap();
        let wimlib = Command::new("wimlib-imagex")
            .arg("verify")
            .arg(&path)
            .output();
        match wimlib {
            Ok(output) => assert!(output.status.success(), "{output:?}"),
            Err(_) => skip("no wimlib-imagex"),
        }
    }
}
