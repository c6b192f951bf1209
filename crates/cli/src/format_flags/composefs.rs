//! Flags of composefs images, whose content is in an object directory.

use super::flag::Flag;

pub(super) const FLAGS: &[Flag] = &[
    Flag::with(
        "digest-store",
        "DIR",
        "Store the content of files of more than 64 bytes in this object directory, named by its \
         fs-verity digest; existing objects are kept (default: the content is only hashed). With \
         --from-dump and another format, read content from this object directory",
    ),
    Flag::with(
        "min-version",
        "VERSION",
        "The lowest version of the format, 0 or 1 (default: 0)",
    ),
    Flag::with(
        "max-version",
        "VERSION",
        "The highest version of the format, 0 or 1, which is used if there are whiteouts (default: \
         1)",
    ),
    Flag::on("skip-devices", "Exclude device nodes"),
    Flag::on(
        "user-xattrs",
        "Keep only extended attributes that begin with `user.`",
    )
    .conflicts(&["no_xattrs"]),
];
