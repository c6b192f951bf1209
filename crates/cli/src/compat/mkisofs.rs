//! The options of mkisofs, genisoimage 1.1 and xorrisofs 1.5, translated to options of `sinter
//! build -f iso`.

use std::ffi::{OsStr, OsString};

use sinterfs::{Error, Result};

use super::mkisofs_boot::{appended, boot_images, word};
use super::mkisofs_others::OTHERS;
use super::mkisofs_sources::{self, PathSpecs, SlashAtEnd};
use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};

pub(super) const MKISOFS: Tool = tool("mkisofs", genisoimage);
pub(super) const GENISOIMAGE: Tool = tool("genisoimage", genisoimage);
pub(super) const XORRISOFS: Tool = tool("xorrisofs", xorrisofs);

/// xorriso, with the options of xorrisofs after `-as mkisofs`.
pub(super) const XORRISO: Tool = Tool {
    usage: "-as mkisofs [OPTIONS] [-o IMAGE] DIR|FILE..",
    rules: &[OF_XORRISO, RULES, OTHERS],
    ..tool("xorriso", xorriso)
};

/// What xorriso has before `-as mkisofs`.
const OF_XORRISO: &[Rule] = &[
    rule(
        &["-as"],
        "mkisofs",
        Combined("the options behind it are those of xorrisofs"),
    ),
    rule(
        &["-volume_date"],
        "TYPE TIME",
        Combined("all_file_dates: --set-time; uuid: --extended date; others have no effect"),
    ),
    rule(
        &["-boot_image"],
        "TYPE SETTING",
        Combined("any gpt_disk_guid has no effect: GUIDs are made of the content"),
    ),
];

const fn tool(name: &'static str, translate: fn(Parsed) -> Result<Vec<OsString>>) -> Tool {
    Tool {
        name,
        usage: "[OPTIONS] [-o IMAGE] DIR|FILE..",
        about: "\
Packs directories and files into an ISO 9660 image with Rock Ridge, as `sinter build -f iso` and
`sinter merge -f iso` do. Boot images are files of the image, which are stored once more in front of
the content; their table is filled in there, not in the file. The boot catalog has no name. Each
line shows the equivalent option of these commands.",
        style: Style::Words,
        help: &["-help"],
        version: &["-version"],
        rules: &[RULES, OTHERS],
        translate,
    }
}

const NAMES: &str = "identifiers keep to ISO 9660; Rock Ridge has the names as they are";
const SESSIONS: &str = "an image has one session";

const RULES: &[Rule] = &[
    rule(&["-o", "-output"], "IMAGE", Combined("--output (-)")),
    rule(
        &["-R", "-rock"],
        "",
        Already("owners and permissions are kept unless -r"),
    ),
    rule(
        &["-r", "-rational-rock"],
        "",
        Combined("--all-root --chmod a=rX"),
    ),
    rule(
        &["-J", "-joliet"],
        "",
        Combined("unless given: --extended no-joliet"),
    ),
    rule(
        &["-joliet-long"],
        "",
        Combined("with -J: --extended joliet-long"),
    ),
    rule(
        &["-allow-limited-size"],
        "",
        Already("files of 4 GiB and more are stored whole, in several sections"),
    ),
    rule(&["-V", "-volid"], "NAME", Same("--label")),
    rule(
        &["-A", "-appid"],
        "TEXT",
        Combined("--extended application=TEXT"),
    ),
    rule(
        &["-p", "-preparer"],
        "TEXT",
        Combined("--extended preparer=TEXT"),
    ),
    rule(
        &["-P", "-publisher"],
        "TEXT",
        Combined("--extended publisher=TEXT"),
    ),
    rule(&["-sysid"], "TEXT", Combined("--extended system=TEXT")),
    rule(&["-volset"], "TEXT", Combined("--extended volume-set=TEXT")),
    rule(
        &["-b", "-eltorito-boot"],
        "PATH",
        Combined("--extended boot=DIR/PATH, with -no-emul-boot"),
    ),
    rule(
        &["-e", "-efi-boot", "--efi-boot"],
        "PATH",
        Combined("--extended efi-boot=DIR/PATH"),
    ),
    rule(
        &["-eltorito-alt-boot"],
        "",
        Combined("another boot image follows"),
    ),
    rule(&["-no-emul-boot"], "", Combined("images emulate nothing")),
    rule(
        &["-boot-load-size"],
        "N",
        Combined("--extended boot-load-size=N"),
    ),
    rule(
        &["-boot-info-table"],
        "",
        Combined("--extended boot-info-table"),
    ),
    rule(
        &["-c", "-eltorito-catalog"],
        "PATH",
        Already("the catalog is there, without a name"),
    ),
    rule(
        &["-isohybrid-mbr"],
        "FILE",
        Combined("--extended system-area=FILE,partitions"),
    ),
    rule(
        &["-isohybrid-gpt-basdat"],
        "",
        Combined("with -isohybrid-mbr: there is a GPT if there is an image for UEFI"),
    ),
    rule(
        &["-G", "-generic-boot", "--embedded-boot"],
        "FILE",
        Combined("--extended system-area=FILE"),
    ),
    rule(
        &["-m", "-exclude", "-x", "-old-exclude"],
        "GLOB",
        Combined("--exclude, of a path from the root of the image"),
    ),
    rule(
        &["-nobak", "-no-bak"],
        "",
        Combined("--exclude '*[~#]*' --exclude '*.bak', as genisoimage; xorrisofs packs these"),
    ),
    rule(
        &["-exclude-list"],
        "FILE",
        Combined("--exclude, for each line"),
    ),
    rule(
        &["-graft-points"],
        "",
        Combined("PATH=SOURCE: merge --at and --file"),
    ),
    rule(
        &["-path-list"],
        "FILE",
        Combined("each line is another DIR or FILE"),
    ),
    rule(
        &["-append_partition"],
        "N TYPE FILE",
        Combined("--extended append=N:TYPE:FILE"),
    ),
    rule(
        &["--modification-date"],
        "=DIGITS",
        Combined("--extended date=DIGITS"),
    ),
    rule(
        &["-z", "-transparent-compression"],
        "",
        Combined("--extended zisofs-marks: files that mkzftree compressed are marked"),
    ),
    rule(&["-uid"], "UID", Same("--set-owner")),
    rule(&["-gid"], "GID", Same("--set-group")),
    rule(&["-file-mode"], "MODE", Combined("--chmod FMODE")),
    rule(&["-dir-mode"], "MODE", Combined("--chmod DMODE")),
    rule(&["-iso-level"], "N", Combined("--extended level=N")),
    rule(
        &["-input-charset", "-output-charset"],
        "utf-8",
        Combined("names are UTF-8 where characters matter"),
    ),
    rule(&["-quiet"], "", Same("--quiet")),
    rule(
        &["-l", "-full-iso9660-filenames"],
        "",
        Combined("identifiers have up to 31 characters, with -iso-level 1, too"),
    ),
    rule(
        &["-D", "-disable-deep-relocation"],
        "",
        Already("directories are never moved"),
    ),
    rule(
        &["-cache-inodes"],
        "",
        Already("hard links are found by inode"),
    ),
    rule(&["-no-pad"], "", Already("images are not padded")),
    rule(&["-pad"], "", Noted("truncate(1) extends an image")),
    rule(&["-U", "-untranslated-filenames"], "", Noted(NAMES)),
    rule(&["-N", "-omit-version-number"], "", Noted(NAMES)),
    rule(&["-d", "-omit-period"], "", Noted(NAMES)),
    rule(&["-L", "-ldots", "-allow-leading-dots"], "", Noted(NAMES)),
    rule(&["-allow-lowercase"], "", Noted(NAMES)),
    rule(&["-allow-multidot"], "", Noted(NAMES)),
    rule(&["-relaxed-filenames"], "", Noted(NAMES)),
    rule(&["-max-iso9660-filenames"], "", Noted(NAMES)),
    rule(
        &["-f", "-follow-links"],
        "",
        Refused("symlinks are stored as such"),
    ),
    rule(&["-M", "-prev-session", "-dev"], "FILE", Refused(SESSIONS)),
    rule(&["-C", "-cdrecord-params"], "X", Refused(SESSIONS)),
    rule(
        &["-hard-disk-boot"],
        "",
        Refused("boot images emulate nothing: -no-emul-boot"),
    ),
    rule(&["-no-boot"], "", Refused("every boot image is bootable")),
    rule(
        &["-boot-load-seg"],
        "N",
        Refused("boot images are loaded where a BIOS loads them"),
    ),
    rule(
        &["-partition_offset"],
        "N",
        Refused("there is one set of descriptors and directories, at the start of the image"),
    ),
    rule(
        &["-appended_part_as_gpt", "-appended_part_as_apm"],
        "",
        Refused("appended partitions are in the MBR, and in the GPT of -isohybrid-mbr with -e"),
    ),
    rule(
        &["-efi-boot-part", "--efi-boot-image"],
        "X",
        Refused("-isohybrid-mbr with -e makes a partition of the image for UEFI"),
    ),
    rule(
        &["-iso_mbr_part_type"],
        "X",
        Refused("the partition of the image has type 0x17 if it is active, else 0x83"),
    ),
    rule(
        &["--protective-msdos-label", "--mbr-force-bootable"],
        "",
        Refused("-isohybrid-mbr makes a partition table"),
    ),
    rule(
        &[
            "-hide",
            "-hide-list",
            "-hide-joliet",
            "-hide-joliet-list",
            "-hidden",
            "-hidden-list",
        ],
        "GLOB",
        Refused("every tree has every file: -m leaves one out of all"),
    ),
    rule(
        &["--grub2-mbr"],
        "FILE",
        Refused("-isohybrid-mbr takes boot code that looks where isolinux is"),
    ),
    rule(&["-udf"], "", Refused("UDF trees are not written")),
    rule(
        &["-hfsplus", "-hfs"],
        "",
        Refused("HFS trees are not written"),
    ),
    rule(
        &["-T", "-translation-table"],
        "",
        Noted("Rock Ridge has the real names"),
    ),
    rule(
        &["-sort"],
        "FILE",
        Refused("`sinter build --sort FILE` takes lines of a path and a weight"),
    ),
    rule(
        &["-v", "-verbose"],
        "",
        Noted("`sinter ls -R IMAGE` lists the image"),
    ),
];

fn genisoimage(parsed: Parsed) -> Result<Vec<OsString>> {
    translate(parsed, SlashAtEnd::Below)
}

fn xorrisofs(parsed: Parsed) -> Result<Vec<OsString>> {
    translate(parsed, SlashAtEnd::Same)
}

fn xorriso(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let known = ["mkisofs", "genisofs", "genisoimage", "xorrisofs"];
    match parsed.text("-as")? {
        Some(other) if known.contains(&other) => {}
        _ => {
            let what = "xorriso is taken with -as mkisofs only: `sinter build -f iso` and `sinter \
                        extract` do what its other commands do";
            return Err(Error::unsupported(what));
        }
    }
    let pairs = |name| -> Vec<(String, String)> {
        let values: Vec<String> = parsed
            .values(name)
            .map(|value| value.to_string_lossy().into_owned())
            .collect();
        let pairs = values.chunks_exact(2);
        pairs
            .filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone())))
            .collect()
    };
    let (dates, images) = (pairs("-volume_date"), pairs("-boot_image"));
    for (kind, time) in dates {
        let seconds = time.trim_start_matches('=');
        if kind == "all_file_dates" && seconds.parse::<u64>().is_ok() {
            parsed.replace("--set-time", seconds.as_ref());
        } else {
            let note = format!("xorriso -volume_date {kind} has no effect here");
            parsed.notes.borrow_mut().push(note);
        }
    }
    for (kind, setting) in images {
        if kind != "any" || !setting.starts_with("gpt_disk_guid=") {
            let what = format!("-boot_image {kind} {setting}: the options of mkisofs name images");
            return Err(Error::unsupported(what));
        }
        let note = "xorriso -boot_image gpt_disk_guid has no effect here: GUIDs are made of the \
                    content";
        parsed.notes.borrow_mut().push(note.to_owned());
    }
    translate(parsed, SlashAtEnd::Same)
}

fn translate(mut parsed: Parsed, slash: SlashAtEnd) -> Result<Vec<OsString>> {
    let sources = PathSpecs::of(&mut parsed, slash)?;
    let image = parsed.values("-o").last().map(OsStr::to_owned);
    // standard output, as there
    let image = image.unwrap_or_else(|| OsString::from("-"));
    let charset = parsed.text("-input-charset")?.unwrap_or("utf-8");
    if !matches!(&*charset.to_ascii_lowercase(), "utf-8" | "utf8") {
        let what = format!(
            "{}: only utf-8 is supported",
            parsed.typed("-input-charset")
        );
        return Err(Error::unsupported(what));
    }
    modes(&mut parsed)?;
    exclude(&mut parsed, &sources, slash)?;
    let extended = extended(&parsed, &sources)?;
    if !extended.is_empty() {
        parsed.push("--extended", extended.join(","));
    }
    parsed.push_flag("--no-xattrs");
    let (command, places) = sources.command();
    let mut words: Vec<OsString> = vec![command.into(), "--format=iso".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.push(with_value("--output", &image));
    words.extend(places);
    Ok(words)
}

/// Translates the patterns of files that are left out.
fn exclude(parsed: &mut Parsed, sources: &PathSpecs, slash: SlashAtEnd) -> Result<()> {
    let mut patterns: Vec<OsString> = parsed.values("-m").map(OsStr::to_owned).collect();
    if parsed.is_given("-nobak") && slash == SlashAtEnd::Below {
        patterns.extend(["*[~#]*", "*.bak"].map(OsString::from));
    }
    for list in parsed.values("-exclude-list") {
        patterns.extend(mkisofs_sources::lines(list)?);
    }
    for pattern in patterns {
        for own in sources.exclude(&pattern)? {
            parsed.push("--exclude", own);
        }
    }
    Ok(())
}

/// Translates the options of owners and permissions.
fn modes(parsed: &mut Parsed) -> Result<()> {
    let mut changes = Vec::new();
    if parsed.is_given("-r") {
        // an explicit owner wins
        for ours in ["--set-owner", "--set-group"] {
            let given = format!("{ours}=");
            let is_given = |word: &OsString| word.as_encoded_bytes().starts_with(given.as_bytes());
            if !parsed.translated.iter().any(is_given) {
                parsed.push(ours, "0");
            }
        }
        changes.push("a=rX,a-st".to_owned());
    }
    for (theirs, letter) in [("-file-mode", 'F'), ("-dir-mode", 'D')] {
        if let Some(mode) = parsed.text(theirs)? {
            if mode.is_empty() || mode.bytes().any(|byte| !(b'0'..=b'7').contains(&byte)) {
                let what = format!("{theirs}: `{mode}` is not an octal number");
                return Err(Error::invalid(what));
            }
            changes.push(format!("{letter}{mode}"));
        }
    }
    if !changes.is_empty() {
        parsed.push("--chmod", changes.join(","));
    }
    Ok(())
}

/// Returns the words of `--extended`.
fn extended(parsed: &Parsed, sources: &PathSpecs) -> Result<Vec<String>> {
    let mut words = Vec::new();
    if !parsed.is_given("-J") {
        words.push("no-joliet".to_owned());
    } else if parsed.is_given("-joliet-long") {
        words.push("joliet-long".to_owned());
    }
    for (theirs, ours) in [
        ("-A", "application"),
        ("-p", "preparer"),
        ("-P", "publisher"),
        ("-sysid", "system"),
        ("-volset", "volume-set"),
    ] {
        if let Some(text) = parsed.text(theirs)? {
            words.push(word(parsed.typed(theirs), ours, text)?);
        }
    }
    // levels 2 and 3 differ only in the size of files
    let level = match parsed.text("-iso-level")? {
        Some("1") if parsed.is_given("-l") => Some("2"),
        level => level,
    };
    if let Some(level) = level.filter(|level| *level != "3") {
        words.push(word(parsed.typed("-iso-level"), "level", level)?);
    }
    if let Some(date) = parsed.text("--modification-date")? {
        words.push(word("--modification-date", "date", date)?);
    }
    if parsed.is_given("-z") {
        words.push("zisofs-marks".to_owned());
    }
    boot_images(parsed, sources, &mut words)?;
    words.extend(appended(parsed)?);
    let areas = [("-isohybrid-mbr", true), ("-G", false)];
    for (theirs, has_partitions) in areas {
        if let Some(path) = parsed.text(theirs)? {
            words.push(word(parsed.typed(theirs), "system-area", path)?);
            words.extend(has_partitions.then(|| "partitions".to_owned()));
        }
    }
    if parsed.is_given("-isohybrid-gpt-basdat") && !parsed.is_given("-isohybrid-mbr") {
        let what = "-isohybrid-gpt-basdat needs -isohybrid-mbr FILE";
        return Err(Error::invalid(what));
    }
    Ok(words)
}
