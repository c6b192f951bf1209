//! Flags of DwarFS images.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with(
        "for",
        "PURPOSE",
        "The purpose of the image: `mount` (default) to read single files from it; `archive` to \
         keep it and unpack it, as small as it gets; `remote` to read it over a network (blocks of \
         1 MiB; name the files that are needed first with --hot)",
    )
    .option("purpose")
    .one_of(&["mount", "archive", "remote"]),
    Flag::with(
        "metadata-compression",
        "CODEC[:KEY=VALUE]..",
        "The codec of metadata, instead of the level's",
    )
    .codec(),
    Flag::with(
        "lookback",
        "BLOCKS",
        "Search for repeated data only in this number of preceding blocks, not in all of them",
    )
    .short('B'),
    Flag::with(
        "read-cost",
        "COST",
        "How much reads of the image may cost, instead of the choice of --for: `free` packs \
         smallest; `mount` refers to data in another block only where that saves more than it \
         costs readers; `remote` also keeps the files of a directory together, and begins blocks \
         with large ones",
    )
    .one_of(&["free", "mount", "remote"]),
    Flag::with(
        "time-resolution",
        "UNIT",
        "The resolution of timestamps: 1ns, 1us, 100ms, 1s, 2s, 1min, 1h ... (default: 1s; if the \
         source is an image, one that loses nothing)",
    ),
    Flag::on(
        "keep-all-times",
        "Keep access and change times, not only modification times",
    ),
    Flag::with(
        "pack-metadata",
        "TABLE,..",
        "The tables of metadata to pack: `all` (the default), `none`, `plain`, or a list of \
         chunk_table, directories, shared_files, names, names_index, symlinks, symlinks_index",
    ),
    Flag::off(
        "no-history",
        "history",
        "Do not record how the image was made (version and settings)",
    ),
    Flag::off(
        "no-section-index",
        "section_index",
        "Do not write a section index",
    ),
    Flag::on(
        "with-digest",
        "Store digests of all bytes in the image and print the root digest, for --digest of other \
         commands",
    ),
    Flag::on(
        "metadata-copy",
        "Store the metadata twice. The copy is used where the first is damaged. `recompress` keeps \
         it, unless with --rebuild",
    ),
];
