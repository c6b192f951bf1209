//! The options of mkisofs, genisoimage 1.1 and xorrisofs 1.5 that need no translation: those that
//! change nothing here, and those that are refused, beside the ones that [`super::mkisofs`] has.
//!
//! **Invariant:** no spelling here is one of an option that is translated.

use super::table::Meaning::{Already, Noted, Refused};
use super::table::{Rule, rule};

const SESSIONS: &str = "an image has one session";
const NAMES: &str = "identifiers keep to ISO 9660; Rock Ridge has the names as they are";
const HFS: &str = "HFS trees are not written";
const JOLIET: &str = "only -J: names are UCS-2 of level 3, made of UTF-8";
const OTHER_MACHINES: &str = "boot images are for a BIOS (-b) and for UEFI (-e); -G FILE fills the \
                              system area";
const BOOT_ENTRY: &str = "entries of the boot catalog have no further fields";
const PARTITIONS: &str = "-isohybrid-mbr makes the partition tables";
const JIGDO: &str = "jigdo-file(1) makes its files of the image";
const FILES: &str = "the descriptor names no files";
const ATTRIBUTES: &str = "`sinter build -f iso` keeps extended attributes and ACLs";
const SORT: &str = "`sinter build --sort FILE` takes lines of a path and a weight";
const ZISOFS: &str = "`sinter build -f iso` compresses files itself";
const ROOT: &str = "-graft-points takes DIR/=SOURCE";

pub(super) const OTHERS: &[Rule] = &[
    rule(
        &["-hide-rr-moved"],
        "",
        Already("directories are never moved"),
    ),
    rule(
        &["-rr_reloc_dir"],
        "NAME",
        Already("directories are never moved"),
    ),
    rule(&["--hardlinks"], "", Already("hard links are kept")),
    rule(
        &["--boot-catalog-hide"],
        "",
        Already("the boot catalog has no name"),
    ),
    rule(
        &["-hide-joliet-trans-tbl"],
        "",
        Already("there are no translation tables"),
    ),
    rule(&["--no-emul-toc"], "", Already(SESSIONS)),
    rule(&["--no_rc"], "", Already("there are no startup files")),
    rule(&["-gui"], "", Noted("progress is shown only on terminals")),
    rule(&["-debug"], "", Noted("there are no further messages")),
    rule(
        &["--stdio_sync"],
        "X",
        Noted("the system writes the image when it wants to"),
    ),
    rule(
        &["-log-file"],
        "FILE",
        Refused("messages are on standard error"),
    ),
    rule(
        &["-print-size"],
        "",
        Refused("the size is known when the image is there"),
    ),
    rule(
        &["--quoted_path_list"],
        "FILE",
        Refused("-path-list takes a path a line"),
    ),
    rule(
        &["-no-cache-inodes"],
        "",
        Noted("hard links are found by inode"),
    ),
    rule(&["--norock"], "", Refused("Rock Ridge is always written")),
    rule(&["-file_name_limit"], "N", Noted("names are never cut")),
    rule(
        &["-no-split-symlink-components", "-no-split-symlink-fields"],
        "",
        Noted("long targets of symlinks are split, as Rock Ridge has it"),
    ),
    rule(
        &[
            "-disallow_dir_id_ext",
            "-no-iso-translate",
            "-untranslated_name_len",
            "-use-fileversion",
        ],
        "N",
        Refused(NAMES),
    ),
    rule(
        &["-table-name"],
        "NAME",
        Refused("Rock Ridge has the real names"),
    ),
    rule(
        &["-jcharset", "-ucs-level", "-joliet-utf16"],
        "X",
        Refused(JOLIET),
    ),
    rule(
        &["-abstract", "-biblio", "-copyright"],
        "FILE",
        Refused(FILES),
    ),
    rule(
        &["--application_use"],
        "X",
        Refused("that field of the descriptor is zero"),
    ),
    rule(
        &["-volset-size", "-volset-seqno"],
        "N",
        Refused("a set has one volume"),
    ),
    rule(
        &["-XA", "-xa", "-s", "-sectype"],
        "TYPE",
        Refused("sectors have 2048 bytes of data and nothing else"),
    ),
    rule(&["-split-output"], "", Refused("split(1) divides an image")),
    rule(
        &["-stream-file-name", "-stream-media-size"],
        "X",
        Refused("an image is made only from files"),
    ),
    rule(&["-root"], "DIR", Refused(ROOT)),
    rule(&["-new-dir-mode"], "MODE", Refused("-dir-mode is for all")),
    rule(
        &[
            "-check-oldnames",
            "-check-session",
            "-force-rr",
            "-no-rr",
            "-old-root",
            "--old-root-no-md5",
            "--old-root-no-ino",
            "--old-root-devno",
            "--emul-toc",
        ],
        "X",
        Refused(SESSIONS),
    ),
    rule(
        &["--old-empty"],
        "",
        Noted("entries without content have no address"),
    ),
    rule(
        &["--acl", "--xattr", "--xattr-any", "--for_backup"],
        "",
        Refused(ATTRIBUTES),
    ),
    rule(
        &["--md5", "--scdbackup_tag"],
        "X",
        Refused("an image has no checksums of files"),
    ),
    rule(
        &["--set_all_file_dates"],
        "TIME",
        Refused("`sinter build -f iso --set-time TIME`"),
    ),
    rule(&["--sort-weight"], "N PATH", Noted(SORT)),
    rule(
        &["--sort-weight-list", "--sort-weight-patterns"],
        "X",
        Refused(SORT),
    ),
    rule(
        &[
            "--zisofs-version-2",
            "--zisofs2-susp-z2",
            "--zisofs2-susp-zf",
        ],
        "X",
        Refused(ZISOFS),
    ),
    rule(
        &[
            "-jigdo-jigdo",
            "-jigdo-template",
            "-jigdo-min-file-size",
            "-jigdo-force-checksum",
            "-jigdo-force-md5",
            "-jigdo-exclude",
            "-jigdo-map",
            "-checksum-list",
            "-md5-list",
            "-jigdo-checksum-algorithm",
            "-jigdo-template-compress",
            "-checksum_algorithm_iso",
            "-checksum_algorithm_template",
        ],
        "X",
        Refused(JIGDO),
    ),
    rule(
        &[
            "-alpha-boot",
            "-hppa-cmdline",
            "-hppa-kernel-32",
            "-hppa-kernel-64",
            "-hppa-bootloader",
            "-hppa-ramdisk",
            "-hppa-hdrversion",
            "-mips-boot",
            "-mipsel-boot",
            "-B",
            "-sparc-boot",
            "-sparc-label",
            "--grub2-sparc-core",
            "-sunx86-boot",
            "-sunx86-label",
            "-prep-boot",
            "-prep-boot-part",
            "-chrp-boot",
            "-chrp-boot-part",
        ],
        "X",
        Refused(OTHER_MACHINES),
    ),
    rule(
        &["-eltorito-platform", "-eltorito-id", "-eltorito-selcrit"],
        "X",
        Refused(BOOT_ENTRY),
    ),
    rule(
        &["--grub2-boot-info"],
        "",
        Refused("-boot-info-table fills in the table that isolinux reads"),
    ),
    rule(
        &[
            "-part_like_isohybrid",
            "--gpt_disk_guid",
            "-partition_sec_hd",
            "-partition_hd_cyl",
            "-partition_cyl_align",
            "-isohybrid-gpt-hfsplus",
            "-isohybrid-apm-hfsplus",
            "-apm-block-size",
        ],
        "X",
        Refused(PARTITIONS),
    ),
    rule(&["-dvd-video"], "", Refused("UDF trees are not written")),
    rule(
        &[
            "-apple",
            "-auto",
            "-boot-hfs-file",
            "-cluster-size",
            "-g",
            "-H",
            "-h",
            "-hfs-bless",
            "-hfs-bless-by",
            "-hfs-creator",
            "-hfs-parms",
            "-hfs-type",
            "-hfs-unlock",
            "-hfs-volid",
            "-hfsplus-block-size",
            "-hfsplus-file-creator-type",
            "-hfsplus-serial-no",
            "-hide-hfs",
            "-hide-hfs-list",
            "-hide-hfsplus",
            "-hide-hfsplus-list",
            "-icon-position",
            "-input-hfs-charset",
            "-mac-name",
            "-magic",
            "-map",
            "-no-desktop",
            "-no-mac-files",
            "-output-hfs-charset",
            "-part",
            "-probe",
            "-root-info",
            "--cap",
            "--dave",
            "--double",
            "--ethershare",
            "--exchange",
            "--macbin",
            "--netatalk",
            "--osx-double",
            "--osx-hfs",
            "--sfm",
            "--sgi",
            "--single",
            "--ushare",
            "--xinet",
        ],
        "X",
        Refused(HFS),
    ),
    rule(
        &["-i"],
        "FILE",
        Refused("the real programs do not take it, either"),
    ),
];
