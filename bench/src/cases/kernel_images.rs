//! The images that the kernel's drivers are compared on, and the commands that make them.

use crate::recipe::Recipe;

/// The images that are read: each format by us and by its own tool, with one fast and one dense
/// codec, in units as alike as the formats allow.
pub const READ: [Recipe<'static>; 8] = [
    Recipe {
        name: "EROFS lz4hc 64K, sinter, for 6.1",
        driver: "erofs",
        tool: "sinter",
        command: "sinter build -q --force -f erofs -C lz4hc:level=12 -b 64k --target-kernel 6.1 \
                  {dir} -o {image}",
    },
    Recipe {
        name: "EROFS lz4hc 64K, mkfs.erofs",
        driver: "erofs",
        tool: "erofs",
        command: "mkfs.erofs --quiet -zlz4hc,12 -C65536 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS lz4 -Xhc 64K, sinter",
        driver: "squashfs",
        tool: "sinter",
        command: "sinter build -q --force -f squashfs -C lz4hc:level=12 -b 64k {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS lz4 -Xhc 64K, mksquashfs",
        driver: "squashfs",
        tool: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp lz4 -Xhc -b 64K",
    },
    Recipe {
        name: "EROFS zstd 128K, sinter",
        driver: "erofs",
        tool: "sinter",
        command: "sinter build -q --force -f erofs -C zstd:level=9 -b 128k {dir} -o {image}",
    },
    Recipe {
        name: "EROFS zstd 128K, mkfs.erofs",
        driver: "erofs",
        tool: "erofs",
        command: "mkfs.erofs --quiet -zzstd,9 -C131072 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS zstd 128K, sinter",
        driver: "squashfs",
        tool: "sinter",
        command: "sinter build -q --force -f squashfs -C zstd:level=9 -b 128k {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS zstd 128K, mksquashfs",
        driver: "squashfs",
        tool: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp zstd \
                  -Xcompression-level 9 -b 128K",
    },
];

/// Pairs of `READ` that are divided: ours by the format's own tool, and our EROFS by mksquashfs.
pub const BESIDE: [(usize, usize); 6] = [(0, 1), (4, 5), (2, 3), (6, 7), (0, 3), (4, 7)];

/// The images that are listed; their content is not read.
pub const LISTED: [Recipe<'static>; 4] = [
    Recipe {
        name: "EROFS, sinter",
        driver: "erofs",
        tool: "sinter",
        command: "sinter build -q --force -f erofs -C lz4 {dir} -o {image}",
    },
    Recipe {
        name: "EROFS, mkfs.erofs",
        driver: "erofs",
        tool: "erofs",
        command: "mkfs.erofs --quiet -zlz4 -C65536 -Efragments {image} {dir}",
    },
    Recipe {
        name: "SquashFS, sinter",
        driver: "squashfs",
        tool: "sinter",
        command: "sinter build -q --force -f squashfs -C lz4 {dir} -o {image}",
    },
    Recipe {
        name: "SquashFS, mksquashfs",
        driver: "squashfs",
        tool: "squashfs",
        command: "mksquashfs {dir} {image} -noappend -quiet -no-progress -comp lz4",
    },
];
