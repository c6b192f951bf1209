//! Chunks of solid resources of WIM, which are longer than those that the header names.

use std::fs;

use sinterfs_model::Quiet;
use sinterfs_testkit::noise;

use crate::open_options::OpenOptions;
use crate::output::destination::Destination;
use crate::write::build::build;
use crate::write::request::BuildRequest;

#[test]
fn a_chunk_is_kept_however_small_the_cache_is() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let mut content = noise(1, 9 << 20);
    content.iter_mut().for_each(|byte| *byte &= 3);
    fs::write(tree.join("f"), &content).unwrap();
    let path = dir.path().join("image.wim");
    let request = BuildRequest {
        destination: Destination::of(&path, false),
        format: Some("wim".to_owned()),
        compression: Some("lzms:solid:level=1".to_owned()),
        block_size: Some(16 << 20),
        ..BuildRequest::new(&tree)
    };
    build(&request, &Quiet).unwrap();
    // of the larger one, each part would be too small if it were divided for the header's chunks
    for cache_bytes in [1 << 20, 16 << 20] {
        let options = OpenOptions {
            cache_bytes,
            ..OpenOptions::default()
        };
        let opened = crate::open_with(&path, &options).unwrap();
        let image = opened.raw();
        let file = image.lookup(image.info().root, b"f").unwrap().unwrap();
        let mut buf = vec![0; 1 << 20];
        for at in [3 << 20, 0, 8 << 20, 3 << 20] {
            assert_eq!(image.read_at(file, at as u64, &mut buf).unwrap(), buf.len());
            assert!(buf == content[at..][..buf.len()]);
        }
        let stats = opened.handle().cache().stats();
        // once for the digest of the file, which is all of the chunk, and once for all reads
        assert_eq!(stats.misses, 2, "{cache_bytes}: {stats:?}");
    }
}
