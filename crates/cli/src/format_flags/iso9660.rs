//! Flags of ISO 9660 images.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with("efi-boot", "FILE", "A boot image for UEFI. Can be repeated").repeated(),
    Flag::with(
        "boot-partition",
        "N",
        "Boot a BIOS from the appended partition with this number. Can be repeated",
    )
    .repeated(),
    Flag::with(
        "efi-partition",
        "N",
        "Boot UEFI from the appended partition with this number. Can be repeated",
    )
    .repeated(),
    Flag::with(
        "boot-load-size",
        "N",
        "The sectors of 512 bytes that are loaded of the boot image before this flag (default: \
         all)",
    )
    .repeated(),
    Flag::on(
        "boot-info-table",
        "Write the place of the boot image before this flag into it",
    )
    .repeated(),
    Flag::with(
        "system-area",
        "FILE",
        "The first 32 KiB of the image: a boot record of disks",
    ),
    Flag::on(
        "partitions",
        "Write a partition table that covers the image, and the boot image for UEFI",
    ),
    Flag::with(
        "append",
        "N:0xTYPE:FILE",
        "Append a file as partition N of this type. Can be repeated",
    )
    .repeated(),
    Flag::off("no-joliet", "joliet", "Write no names for Windows (Joliet)"),
    Flag::on(
        "joliet-long",
        "Allow 103 characters in names for Windows, instead of 64",
    ),
    Flag::with(
        "interchange-level",
        "N",
        "The level of interchange, 1 to 4 (default: 3)",
    ),
    Flag::on(
        "zisofs2",
        "Compress files by zisofs 2, which Linux does not read",
    ),
    Flag::on(
        "zisofs-marks",
        "Mark files that mkzftree compressed as compressed",
    ),
    Flag::with("system", "TEXT", "The identifier of the system"),
    Flag::with("volume-set", "TEXT", "The identifier of the set of volumes"),
    Flag::with("publisher", "TEXT", "The identifier of the publisher"),
    Flag::with(
        "preparer",
        "TEXT",
        "The identifier of who prepared the data",
    ),
    Flag::with("application", "TEXT", "The identifier of the application"),
    Flag::with(
        "date",
        "YYYYMMDDhhmmsscc",
        "The dates of creation and modification, instead of the time of creation",
    ),
];
