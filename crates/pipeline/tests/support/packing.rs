//! Packing made-up files into memory, and a tree with everything that content can be.

use sinterfs_model::Quiet;
use sinterfs_pipeline::{Options, Report, build};

use super::{File, Image, MemoryWriter, Mock, Part, data, noise, text};

pub const BLOCK: u32 = 64 << 10;

pub fn options(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

pub fn pack(source: &Mock, options: &Options) -> (Image, Report) {
    pack_observed(source, options, &Quiet)
}

pub fn pack_observed(
    source: &Mock,
    options: &Options,
    observer: &dyn sinterfs_model::Observer,
) -> (Image, Report) {
    let (writer, image) = MemoryWriter::new(BLOCK);
    let report = build(source, writer, options, observer).unwrap();
    let image = std::mem::take(&mut *image.lock().unwrap());
    (image, report)
}

/// A tree with everything that content can be.
pub fn mixed() -> Mock {
    let middle = text(30_000, 99);
    let around = |seed| [text(3000, seed), middle.clone(), text(3000, seed + 50)].concat();
    let mut files: Vec<(String, File)> = Vec::new();
    for index in 0..40 {
        files.push((
            format!("dir{}/text{index}.txt", index % 5),
            data(text(1 + index * 977, index as u64)),
        ));
        files.push((
            format!("dir{}/same{index}", index % 7),
            data(text(5000, (index % 3) as u64 + 500)),
        ));
        files.push((
            format!("noise/{index}.gz"),
            data(noise(index as u64, index * 1311)),
        ));
        files.push((format!("middle/{index}"), data(around(index as u64))));
    }
    for index in 0..3 {
        let large = [
            text(1_500_000, 7),
            noise(8 + index, 1 << 20),
            text(700_000, 7),
        ]
        .concat();
        files.push((format!("large/{index}"), data(large)));
        files.push((format!("empty/{index}"), data("")));
        let parts = vec![
            Part::Hole(100_000),
            Part::Data(text(5000, 3)),
            Part::Hole(1 << 20),
            Part::Data(text(70_000, 4)),
            Part::Hole(5),
        ];
        files.push((
            format!("sparse/{index}"),
            File {
                parts: parts.clone(),
                ..File::default()
            },
        ));
        let zeros = Mock::new([(
            "x",
            File {
                parts,
                ..File::default()
            },
        )])
        .files["x"]
            .bytes();
        files.push((format!("sparse/{index}.dense"), data(zeros)));
        files.push((
            format!("sparse/{index}.hole"),
            File {
                parts: vec![Part::Hole(9_000_000)],
                ..File::default()
            },
        ));
    }
    Mock::new(files)
}
