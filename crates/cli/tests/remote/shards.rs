//! Many images as one tree.

use std::path::{Path, PathBuf};
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

/// What the script of the documentation imports, without its cluster.
const CLUSTER: &str = r#"
from concurrent.futures import ThreadPoolExecutor

class Client:
    def __init__(self, *_, **__): self.pool = ThreadPoolExecutor(2)
    def __enter__(self): return self
    def __exit__(self, *_): self.pool.shutdown()
    def map(self, work, *all): return [self.pool.submit(work, *one) for one in zip(*all)]
    def gather(self, futures): return [future.result() for future in futures]
"#;

/// Compares all of two trees, and that parts have each entry once, and all directories.
const COMPARE: &str = r#"
import os, stat, sys

def found(top):
    all = {}
    for at, dirs, files in os.walk(top):
        for path in [at] + [os.path.join(at, name) for name in dirs + files]:
            s = os.lstat(path)
            is_dir = stat.S_ISDIR(s.st_mode)
            content = open(path, "rb").read() if stat.S_ISREG(s.st_mode) else None
            names = os.listxattr(path, follow_symlinks=False)
            all[os.path.relpath(path, top)] = (
                s.st_mode, s.st_uid, s.st_gid, s.st_mtime_ns, s.st_rdev, content,
                None if is_dir else s.st_nlink,
                os.readlink(path) if stat.S_ISLNK(s.st_mode) else None,
                {n: os.getxattr(path, n, follow_symlinks=False) for n in names if n[:5] == "user."},
            )
    return all

tree, whole, *parts = map(found, sys.argv[1:])
for path in sorted(tree.keys() | whole.keys()):
    assert tree.get(path) == whole.get(path), (path, tree.get(path), whole.get(path))
is_dir = lambda about: stat.S_ISDIR(about[0])
for path, about in tree.items():
    count = sum(path in part for part in parts)
    assert count == (len(parts) if is_dir(about) else 1), (path, count)
    assert path == "." or all(part[path] == about for part in parts if path in part), path
"#;

#[test]
fn the_documented_script_loses_nothing() {
    let has_python = std::process::Command::new("python3").arg("-V").output();
    if !support::is_root() || !Path::new("/dev/fuse").exists() || has_python.is_err() {
        support::skip("overlayfs needs root, and the script Python");
        return;
    }
    let dir = scratch();
    let page = include_str!("../../../../docs/remote.md");
    let script = page.split("```python\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    std::fs::write(dir.path().join("script.py"), script).unwrap();
    std::fs::create_dir(dir.path().join("dask")).unwrap();
    std::fs::write(dir.path().join("dask/distributed.py"), CLUSTER).unwrap();
    std::fs::write(dir.path().join("compare.py"), COMPARE).unwrap();
    // files at every depth, links to directories, hard links, what is no file, attributes
    shell(
        dir.path(),
        "mkdir -p tree/usr/bin tree/usr/lib/deep/er tree/empty target mnt && cd tree && \
         for i in $(seq 40); do echo $i > usr/bin/b$i; echo $i > usr/lib/deep/er/d$i; done && \
         echo top > 'at the top' && echo one > usr/one && ln -s usr/bin bin && \
         ln usr/one usr/lib/deep/two && ln usr/one three && mkfifo usr/fifo && \
         mknod usr/null c 1 3 && chmod 4711 usr/bin/b7 && chown 12:34 usr/bin/b8 usr/lib && \
         chmod 0751 usr/lib/deep && chmod 1777 empty && \
         python3 -c 'import os; os.setxattr(\"usr/lib/deep\", \"user.a\", b\"b\")' && \
         python3 -c 'import os; os.setxattr(\"usr/bin/b9\", \"user.c\", b\"d\")' && \
         find . -depth -exec touch -h -d '2020-02-02 02:02:02' {} +",
    );
    let mut command = std::process::Command::new("python3");
    let program = sinter();
    let programs = Path::new(program.get_program()).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", programs.display()));
    command
        .env("PYTHONPATH", dir.path())
        .current_dir(dir.path());
    let output = command.args(["script.py", "tree", "target", "4"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let list = std::fs::read_to_string(dir.path().join("shards.txt")).unwrap();
    let shards: Vec<_> = list.lines().map(|one| dir.path().join(one)).collect();
    assert_eq!(shards.len(), 4);
    let mut compare = vec!["tree".to_owned(), "mnt".to_owned()];
    for (number, shard) in shards.iter().enumerate() {
        let part = format!("part-{number}");
        let to = dir.path().join(&part);
        run([Path::new("extract"), shard, Path::new("-o"), &to]);
        compare.push(part);
    }
    let point = dir.path().join("mnt");
    let mut words = vec![Path::new("mount")];
    words.extend(shards.iter().map(PathBuf::as_path));
    words.push(&point);
    run(words);
    let mounted = Mounted(point);
    shell(
        dir.path(),
        &format!("python3 compare.py {}", compare.join(" ")),
    );
    shell(
        dir.path(),
        "diff -r --no-dereference --exclude=fifo --exclude=null tree mnt",
    );
    drop(mounted);
    // counted from 1 it is the same part
    for (number, part) in ["0/4", "4/4"].iter().enumerate() {
        let to = dir.path().join(format!("again-{number}.dwarfs"));
        let tree = dir.path().join("tree");
        let words = [
            Path::new("build"),
            Path::new("-q"),
            Path::new("--shard"),
            Path::new(part),
        ];
        run(words.into_iter().chain([&*tree, Path::new("-o"), &*to]));
        assert!(std::fs::read(&to).unwrap() == std::fs::read(&shards[0]).unwrap());
    }
    for wrong in ["5/4", "1/0", "1", "-1/4", "a/b"] {
        let shard = format!("--shard={wrong}");
        let output = sinter().args(["build", &shard, "tree", "-o", "-"]).output();
        assert_eq!(output.unwrap().status.code(), Some(2), "{wrong}");
    }
}
