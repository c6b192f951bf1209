//! The tools of others that ours is measured against: a row each, and nothing elsewhere.

use super::tool::{Tool, Variant, level, variant};

/// All rivals, in the order of tables.
pub const RIVALS: &[Tool] = &[
    Tool {
        name: "mkdwarfs",
        format: "dwarfs",
        build: "mkdwarfs --log-level=error --no-progress --force --with-devices --with-specials \
                [-N {jobs}] {args} -i {dir} -o {image}",
        extract: "mkdir {out} && dwarfsextract --log-level=error [-n {jobs}] -i {image} -o {out}",
        mount: "dwarfs {image} {mountpoint} -f [-o workers={jobs}]",
        version: "mkdwarfs --help",
        variants: &[
            level(1, "1", "-l1"),
            level(2, "2", "-l2"),
            level(3, "3", "-l3"),
            level(4, "4", "-l4"),
            level(5, "5", "-l5"),
            level(6, "6", "-l6"),
            level(7, "7", "-l7"),
            level(8, "8", "-l8"),
            level(9, "9", "-l9"),
            Variant {
                sets: &["media-mix"],
                ..level(7, "7 categorize", "-l7 --categorize")
            },
        ],
    },
    Tool {
        name: "squashfs",
        format: "squashfs",
        build: "mksquashfs {dir} {image} -noappend -quiet -no-progress [-processors {jobs}] {args}",
        extract: "unsquashfs -quiet -no-progress [-processors {jobs}] -d {out} {image}",
        mount: "",
        version: "mksquashfs -version",
        variants: &[
            variant("zstd", "-comp zstd"),
            variant("xz", "-comp xz -b 1M"),
        ],
    },
    Tool {
        name: "squashfuse",
        format: "squashfs",
        build: "",
        extract: "",
        mount: "squashfuse_ll -f {image} {mountpoint}",
        version: "squashfuse_ll --help",
        variants: &[],
    },
    Tool {
        name: "squashfs-kernel",
        format: "squashfs",
        build: "",
        extract: "",
        // only root may; stays until it is unmounted, as the others do
        mount: "sh -ec \"mount -t squashfs -o loop,ro {image} {mountpoint}; \
                while mountpoint -q {mountpoint}; do sleep 0.05; done\"",
        version: "uname -r",
        variants: &[],
    },
    Tool {
        name: "erofs",
        format: "erofs",
        build: "mkfs.erofs --quiet [--workers={jobs}] {args} {image} {dir}",
        extract: "fsck.erofs --extract={out} {image}",
        mount: "erofsfuse -f {image} {mountpoint}",
        version: "mkfs.erofs -V",
        variants: &[
            variant("lz4hc", "-zlz4hc,12"),
            variant("zstd", "-zzstd,15 -C131072 -Efragments"),
            variant("lzma", "-zlzma,6 -C1048576 -Efragments"),
        ],
    },
    Tool {
        name: "tar+zstd",
        format: "tar.zst",
        build: "tar -C {dir} --sort=name -c . | zstd -q -f --long=27 -T{jobs} {args} -o {image}",
        extract: "mkdir {out} && zstd -q -d --long=27 -c {image} | tar -C {out} -xp",
        mount: "",
        version: "zstd --version",
        variants: &[variant("3", "-3"), variant("19", "-19")],
    },
    Tool {
        name: "tar+xz",
        format: "tar.xz",
        build: "tar -C {dir} --sort=name -c . | xz -T{jobs} {args} -c > {image}",
        extract: "mkdir {out} && xz -T{jobs} -d -c {image} | tar -C {out} -xp",
        mount: "",
        version: "xz --version",
        variants: &[variant("6", "-6")],
    },
];
