//! Flags of SquashFS images.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::on(
        "tailends",
        "Pack tails of large files into fragments, not only small files",
    )
    .sets("tails", "shared")
    .alias("always-use-fragments"),
    Flag::on("no-fragments", "Do not use fragments")
        .sets("tails", "alone")
        .conflicts(&["tailends"]),
    Flag::with(
        "no-compress",
        "PART,..",
        "Do not compress these parts: inodes, data, fragments, xattrs, ids, or all (also --noI, \
         --noD, --noF, --noX, --noId, --no-compression)",
    )
    .option("uncompressed"),
    part("noI", "inodes").alias("noInodeCompression"),
    part("noD", "data").alias("noDataCompression"),
    part("noF", "fragments").alias("noFragmentCompression"),
    part("noX", "xattrs").alias("noXattrCompression"),
    part("noId", "ids").alias("noIdTableCompression"),
    part("no-compression", "all"),
    Flag::off(
        "no-exports",
        "exports",
        "Do not write the export table, which NFS needs",
    ),
];

/// A part of `--no-compress`, as mksquashfs spells it.
const fn part(long: &'static str, part: &'static str) -> Flag {
    Flag::on(long, "").sets("uncompressed", part).hidden()
}
