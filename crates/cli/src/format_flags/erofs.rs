//! Flags of EROFS images.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with(
        "target-kernel",
        "VERSION",
        "The oldest version of Linux that can mount the image: 5.4, 5.10, 5.15, 5.17, 6.1, 6.6, \
         6.10, 6.12, 6.15, 6.17 or 6.18 (default: 6.15)",
    ),
    Flag::with(
        "chunk-size",
        "SIZE",
        "Divide files into chunks of this size, a power of two from 4k to 4m, and store equal \
         chunks once. Not with compression; needs Linux 5.15",
    )
    .size()
    .alias("chunksize"),
    Flag::with(
        "blob-device",
        "FILE",
        "Store all data in a separate file, whose name the image records. Such an image is mounted \
         with `-o device=FILE`; needs Linux 5.16",
    )
    .alias("blobdev"),
    Flag::with(
        "xattr-prefix",
        "NAME",
        "Store this prefix of names of extended attributes once, as in `user.name.`. Can be \
         repeated; needs Linux 6.4 (default: prefixes that save space)",
    )
    .repeated()
    .conflicts(&["no_xattrs"]),
    Flag::with(
        "extended",
        "OPTION,..",
        "Extended features, as mkfs.erofs -E: dedupe (repeated data is stored once; needs Linux \
         6.1), ztailpacking (tails are stored after inodes; needs 5.17, default), fragments (tails \
         are packed together; needs 6.1, default), all-fragments (whole files are packed together; \
         needs 6.1), legacy-compress (LZ4 for Linux before 5.4), inline_data (tails of \
         uncompressed files are stored after inodes; default), index (no content, only references \
         to the tar archive; with block=512), block=N (EROFS blocks of 512, 1024, 2048 or 4096 \
         bytes; sizes other than 4096 without compression). A ^ in front disables a feature",
    )
    .short('E'),
    Flag::with(
        "uuid",
        "UUID",
        "The UUID of the volume (default: derived from the content)",
    ),
];
