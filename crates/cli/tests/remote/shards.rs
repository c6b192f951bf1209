//! Many images as one tree.

use std::path::Path;
use std::time::Duration;

use sinterfs_testkit::http_server::HttpServer;

use super::support::{self, Mounted, run, scratch, shell, sinter};
use super::tree;

#[test]
fn shards_that_workers_build_are_one_tree_by_url() {
    if !support::is_root() || !Path::new("/dev/fuse").exists() {
        support::skip("overlayfs needs root");
        return;
    }
    let dir = scratch();
    let tree = tree(dir.path());
    // each worker packs every fourth directory, all at once, as jobs of any engine would
    let part = |number: usize| dir.path().join(format!("shard-{number}"));
    let workers = (0..4).map(|number| {
        let shard = part(number);
        std::fs::create_dir(&shard).unwrap();
        for directory in (number..40).step_by(4) {
            let name = format!("part-{directory:02}");
            std::fs::rename(tree.join(&name), shard.join(&name)).unwrap();
        }
        let mut worker = sinter();
        worker.args(["build", "-q", "-l2"]).arg(&shard).arg("-o");
        let worker = worker.arg(shard.with_extension("dwarfs"));
        worker.spawn().unwrap()
    });
    let workers: Vec<_> = workers.collect();
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let mut shards = Vec::new();
    for (number, mut worker) in workers.into_iter().enumerate() {
        assert!(worker.wait().unwrap().success());
        let image = std::fs::read(part(number).with_extension("dwarfs")).unwrap();
        let path = format!("/shard-{number}.dwarfs");
        server.put(&path, image, "\"1\"");
        shards.push(server.url(&path));
    }
    let point = dir.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    let mut words = vec!["mount", "--cache", "none"];
    words.extend(shards.iter().map(String::as_str));
    words.push(point.to_str().unwrap());
    run(words);
    let mounted = Mounted(point);
    for number in 0..4 {
        let same =
            format!("for d in shard-{number}/*; do diff -r $d mnt/${{d#*/}} || exit 1; done");
        shell(dir.path(), &same);
    }
    shell(dir.path(), "test $(ls mnt | wc -l) = 40");
    drop(mounted);
}
