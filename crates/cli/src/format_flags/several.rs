//! Flags that a few formats have.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with(
        "label",
        "NAME",
        "The name of the volume: up to 16 bytes (EROFS, CRAMFS), up to 32 (ISO 9660), or the name \
         of the image (WIM)",
    ),
    Flag::off(
        "no-sparse",
        "holes",
        "Store holes as zeros (SquashFS, EROFS, CRAMFS)",
    ),
    Flag::off(
        "no-pad",
        "padding",
        "Do not pad the image to a multiple of 4 KiB (SquashFS, CRAMFS)",
    )
    .alias("nopad"),
    Flag::with(
        "boot",
        "FILE",
        "A boot image for a BIOS (ISO 9660), which can be repeated; the boot code after the \
         superblock (CRAMFS)",
    )
    .repeated(),
];
