//! The options of mkisofs, genisoimage 1.1 and xorrisofs 1.5, translated to those of
//! `sinter build -f iso`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Each, Refused, Same};
use super::table::{Rule, Style, Tool, rule};

pub(super) const MKISOFS: Tool = tool("mkisofs");
pub(super) const GENISOIMAGE: Tool = tool("genisoimage");
pub(super) const XORRISOFS: Tool = tool("xorrisofs");

const fn tool(name: &'static str) -> Tool {
    Tool {
        name,
        usage: "[OPTIONS] -o IMAGE DIR",
        about: "\
Packs a directory into an ISO 9660 image of level 3 with Rock Ridge, as `sinter build -f iso` does.
Boot images are files of DIR, which are stored once more in front of the content; their table is
filled in there, not in the file. The boot catalog has no name. Each line shows the equivalent
option of `sinter build`.",
        style: Style::Words,
        help: &["-help"],
        version: &["-version"],
        rules: &[RULES],
        translate,
    }
}

const NAMES: &str = "identifiers keep to ISO 9660; Rock Ridge has the names as they are";
const SESSIONS: &str = "an image has one session";

const RULES: &[Rule] = &[
    rule(&["-o", "-output"], "IMAGE", Combined("--output")),
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
        &["-G", "-generic-boot"],
        "FILE",
        Combined("--extended system-area=FILE"),
    ),
    rule(&["-m", "-exclude"], "GLOB", Each("--exclude")),
    rule(&["-uid"], "UID", Same("--set-owner")),
    rule(&["-gid"], "GID", Same("--set-group")),
    rule(&["-file-mode"], "MODE", Combined("--chmod FMODE")),
    rule(&["-dir-mode"], "MODE", Combined("--chmod DMODE")),
    rule(&["-iso-level"], "3", Combined("the only level")),
    rule(
        &["-input-charset", "-output-charset"],
        "utf-8",
        Combined("names are UTF-8 where characters matter"),
    ),
    rule(&["-quiet"], "", Same("--quiet")),
    rule(
        &["-l", "-full-iso9660-filenames"],
        "",
        Already("identifiers have up to 31 characters"),
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
    rule(&["-pad"], "", Refused("truncate(1) extends an image")),
    rule(
        &["-z", "-transparent-compression"],
        "",
        Refused("`sinter build -f iso -C zlib` compresses the files itself"),
    ),
    rule(&["-U", "-untranslated-filenames"], "", Refused(NAMES)),
    rule(&["-N", "-omit-version-number"], "", Refused(NAMES)),
    rule(&["-d", "-omit-period"], "", Refused(NAMES)),
    rule(&["-L", "-ldots", "-allow-leading-dots"], "", Refused(NAMES)),
    rule(&["-allow-lowercase"], "", Refused(NAMES)),
    rule(&["-allow-multidot"], "", Refused(NAMES)),
    rule(&["-relaxed-filenames"], "", Refused(NAMES)),
    rule(&["-max-iso9660-filenames"], "", Refused(NAMES)),
    rule(
        &["-f", "-follow-links"],
        "",
        Refused("symlinks are stored as such"),
    ),
    rule(
        &["-x", "-old-exclude"],
        "PATH",
        Refused("`sinter build --exclude /PATH` excludes a path from the root of the image"),
    ),
    rule(
        &["-exclude-list"],
        "FILE",
        Refused("`sinter build --exclude-from FILE` reads patterns"),
    ),
    rule(
        &["-graft-points"],
        "",
        Refused("`sinter merge` combines several trees into one image"),
    ),
    rule(
        &["-path-list"],
        "FILE",
        Refused("`sinter build` packs a list of mtree(5)"),
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
        &["-append_partition"],
        "X",
        Refused("-e has an image for UEFI inside, which the partition table refers to"),
    ),
    rule(
        &["--grub2-mbr"],
        "FILE",
        Refused("-isohybrid-mbr takes boot code that looks where isolinux is"),
    ),
    rule(&["-udf"], "", Refused("there is no tree of UDF")),
    rule(
        &["-hfsplus", "-hfs"],
        "",
        Refused("there is no tree of HFS"),
    ),
    rule(
        &["-T", "-translation-table"],
        "",
        Refused("Rock Ridge has the real names"),
    ),
    rule(
        &["-sort"],
        "FILE",
        Refused("`sinter build --sort FILE` takes lines of a path and a weight"),
    ),
    rule(
        &["-v", "-verbose"],
        "",
        Refused("`sinter ls -R IMAGE` lists the image"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let operands = std::mem::take(&mut parsed.operands);
    let [source] = <[OsString; 1]>::try_from(operands).map_err(|operands| {
        Error::invalid(match operands.len() {
            0 => "the directory is missing",
            _ => "only one directory is taken here; `sinter merge` combines several",
        })
    })?;
    let image = parsed.values("-o").last().map(OsStr::to_owned);
    let image = image.ok_or_else(|| Error::invalid("-o IMAGE is missing"))?;
    if parsed.text("-iso-level")?.is_some_and(|level| level != "3") {
        return Err(Error::unsupported("-iso-level: images have level 3"));
    }
    let charset = parsed.text("-input-charset")?.unwrap_or("utf-8");
    if !matches!(&*charset.to_ascii_lowercase(), "utf-8" | "utf8") {
        let what = format!(
            "{}: only utf-8 is supported",
            parsed.typed("-input-charset")
        );
        return Err(Error::unsupported(what));
    }
    modes(&mut parsed)?;
    let extended = extended(&parsed, Path::new(&source))?;
    if !extended.is_empty() {
        parsed.push("--extended", extended.join(","));
    }
    parsed.push_flag("--no-xattrs");
    let mut words: Vec<OsString> = vec!["build".into(), "--format=iso".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
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
fn extended(parsed: &Parsed, source: &Path) -> Result<Vec<String>> {
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
    boot_images(parsed, source, &mut words)?;
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

/// Translates the options of boot images, which count from one image to the next.
fn boot_images(parsed: &Parsed, source: &Path, words: &mut Vec<String>) -> Result<()> {
    // the options of the current image: its own words, and whether it emulates nothing
    let mut image: (Option<String>, Vec<String>, bool) = (None, Vec::new(), false);
    let finish = |image: (Option<String>, Vec<String>, bool), words: &mut Vec<String>| {
        let (own, details, emulates_nothing) = image;
        let Some(own) = own else {
            if details.is_empty() && !emulates_nothing {
                return Ok(());
            }
            return Err(Error::invalid("options of a boot image, but no -b or -e"));
        };
        if !emulates_nothing {
            let what = "boot images that emulate floppy disks are not supported: -no-emul-boot";
            return Err(Error::unsupported(what));
        }
        words.push(own);
        words.extend(details);
        Ok(())
    };
    for (name, typed, value) in parsed.in_order() {
        match name {
            "-eltorito-alt-boot" => finish(std::mem::take(&mut image), words)?,
            "-b" | "-e" => {
                if image.0.is_some() {
                    finish(std::mem::take(&mut image), words)?;
                }
                let ours = if name == "-b" { "boot" } else { "efi-boot" };
                let path = source.join(value);
                let path = path
                    .to_str()
                    .ok_or_else(|| Error::invalid(format!("{typed}: the path is not UTF-8")))?;
                image.0 = Some(word(typed, ours, path)?);
            }
            "-no-emul-boot" => image.2 = true,
            "-boot-load-size" => {
                image
                    .1
                    .push(word(typed, "boot-load-size", &value.to_string_lossy())?);
            }
            "-boot-info-table" => image.1.push("boot-info-table".to_owned()),
            _ => {}
        }
    }
    finish(image, words)
}

/// Returns a word of `--extended`; fails if its value has what separates words.
fn word(typed: &str, ours: &str, value: &str) -> Result<String> {
    if value.contains(',') {
        let what = format!("{typed}: the value must not contain a comma");
        return Err(Error::unsupported(what));
    }
    Ok(format!("{ours}={value}"))
}
