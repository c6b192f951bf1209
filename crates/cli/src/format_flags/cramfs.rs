//! Flags of CRAMFS images.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with(
        "byte-order",
        "ORDER",
        "The byte order of the machine that reads the image (default: little)",
    )
    .one_of(&["little", "big"]),
    Flag::on(
        "front-padding",
        "Begin with 512 bytes before the superblock, for boot code",
    ),
    Flag::with("edition", "N", "The number that the superblock records"),
];
