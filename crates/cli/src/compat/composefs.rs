//! The options of mkcomposefs, composefs-info and mount.composefs (1.0.8), translated to options of
//! `sinter build`, `info` and `mount`.

use std::ffi::OsString;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Same};
use super::table::{Rule, Style, Tool, rule};
use crate::mount_options;

pub(super) const MKCOMPOSEFS: Tool = Tool {
    name: "mkcomposefs",
    usage: "[OPTIONS] SOURCE IMAGE",
    about: "\
Writes a composefs image, with the content of files in an object directory, as `sinter build -f
composefs` does: the image has the bytes of that of mkcomposefs. An image that exists is replaced.
Each line shows the equivalent option of `sinter build`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[MKCOMPOSEFS_RULES],
    translate: mkcomposefs,
};

const MKCOMPOSEFS_RULES: &[Rule] = &[
    rule(&["--digest-store"], "DIR", Same("--digest-store")),
    rule(&["--use-epoch"], "", Same("--use-epoch")),
    rule(&["--skip-devices"], "", Same("--skip-devices")),
    rule(&["--skip-xattrs"], "", Same("--no-xattrs")),
    rule(&["--user-xattrs"], "", Same("--user-xattrs")),
    rule(&["--print-digest"], "", Same("--print-digest")),
    rule(
        &["--print-digest-only"],
        "",
        Combined("--print-digest -o /dev/null"),
    ),
    rule(&["--from-file"], "", Combined("--from-dump SOURCE")),
    rule(&["--min-version"], "N", Same("--min-version")),
    rule(&["--max-version"], "N", Same("--max-version")),
    rule(&["--threads"], "N", Same("--jobs")),
];

fn mkcomposefs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let is_digest_only = parsed.is_given("--print-digest-only");
    if is_digest_only {
        parsed.push_flag("--print-digest");
    }
    let mut operands = std::mem::take(&mut parsed.operands).into_iter();
    let source = operands.next();
    let source = source.ok_or_else(|| Error::invalid("the source is missing"))?;
    let image = match (operands.next(), is_digest_only) {
        (None, true) => "/dev/null".into(),
        (Some(_), true) => {
            let what = "--print-digest-only writes no image: leave its name out";
            return Err(Error::invalid(what));
        }
        (Some(image), false) => image,
        (None, false) => return Err(Error::invalid("the name of the image is missing")),
    };
    if operands.next().is_some() {
        return Err(Error::invalid("one source and one image are taken"));
    }
    let mut words: Vec<OsString> = ["build", "--format=composefs", "--quiet", "--force"]
        .map(OsString::from)
        .into();
    words.append(&mut parsed.translated);
    words.push(with_value("--output", &image));
    if parsed.is_given("--from-file") {
        words.push(with_value("--from-dump", &source));
    } else {
        words.extend(["--".into(), source]);
    }
    Ok(words)
}

pub(super) const COMPOSEFS_INFO: Tool = Tool {
    name: "composefs-info",
    usage: "[--basedir=DIR] ls|objects|missing-objects|dump|measure-file FILE..",
    about: "\
Prints the files, objects or dump of composefs images, or the fs-verity digests of files, in the
form of composefs-info. Each line shows the equivalent option of `sinter info`.",
    style: Style::Getopt,
    help: &[],
    version: &[],
    rules: &[&[
        rule(&["--basedir"], "DIR", Combined("--objects DIR")),
        rule(
            &["--filter"],
            "NAME",
            Combined("only what the name holds in the root"),
        ),
    ]],
    translate: composefs_info,
};

fn composefs_info(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let operands = std::mem::take(&mut parsed.operands);
    let mut operands = operands.iter();
    let forms = ["ls", "objects", "missing-objects", "dump", "measure-file"];
    let form = operands.next().and_then(|word| {
        let mut forms = forms.into_iter();
        forms.find(|form| word == *form)
    });
    let form = form.ok_or_else(|| {
        let forms = forms.join(", ");
        Error::invalid(format!("the first argument is one of {forms}"))
    })?;
    let image = operands.next();
    let image = image.ok_or_else(|| Error::invalid("the image is missing"))?;
    let mut words = vec!["info".into(), format!("--composefs={form}").into()];
    let objects = parsed.values("--basedir").last();
    words.extend(objects.map(|objects| with_value("--objects", objects)));
    let names = parsed.values("--filter");
    words.extend(names.map(|name| with_value("--filter", name)));
    words.extend(operands.map(|image| with_value("--and", image)));
    words.extend(["--".into(), image.clone()]);
    Ok(words)
}

pub(super) const MOUNT_COMPOSEFS: Tool = Tool {
    name: "mount.composefs",
    usage: "IMAGE DIR [-t TYPE] [-o OPTIONS]",
    about: "\
Mounts a composefs image with its object directory, as `sinter mount --objects DIR` does. Of the
options -o, basedir=DIR is --objects DIR; digest=HEX is fs_verity=HEX, the fs-verity digest of the
image, which is computed; verity and tryverity are --verify, which compares each object with its
digest in the image; ro is the default; options of mount(8) are taken as by
`sinter mount`; the others of mount.composefs are refused with what to use instead.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[&[
        rule(
            &["-o"],
            "OPTIONS",
            Combined(
                "basedir=DIR: --objects DIR; digest=HEX: fs_verity=HEX; verity: --verify; others",
            ),
        ),
        rule(&["-t"], "TYPE", Combined("composefs")),
    ]],
    translate: mount_composefs,
};

/// The options of mount.composefs that are refused, and what to use instead.
const REFUSED: [(&str, &str); 4] = [
    ("rw", "`sinter mount --overlay UPPER` is writable"),
    ("upperdir", "`sinter mount --overlay UPPER` is writable"),
    ("workdir", "`sinter mount --overlay UPPER` has its own"),
    ("idmap", "`sinter mount -o uid=N,gid=N` changes the owners"),
];

fn mount_composefs(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let operands = std::mem::take(&mut parsed.operands);
    if let Some(kind) = parsed.text("-t")?
        && kind != "composefs"
    {
        let what = format!("mount.composefs -t {kind}: the type is composefs");
        return Err(Error::invalid(what));
    }
    let (mut objects, mut others, mut verifies) = (None, Vec::new(), false);
    let all: Vec<_> = parsed.values("-o").map(names::bytes).collect();
    for option in all.iter().flat_map(|all| mount_options::split_bytes(all)) {
        let mut parts = option.splitn(2, |&byte| byte == b'=');
        let name = parts.next().unwrap_or_default();
        if let Some((name, hint)) = REFUSED.iter().find(|(one, _)| one.as_bytes() == name) {
            let what = format!("mount.composefs -o {name} is not supported: {hint}");
            return Err(Error::unsupported(what));
        }
        match (name, parts.next()) {
            (b"basedir", Some(dir)) if dir.contains(&b':') => {
                let what = "mount.composefs -o basedir takes one directory here: make one of \
                            several with links (`cp -al`)";
                return Err(Error::unsupported(what));
            }
            (b"verity" | b"tryverity", None) => verifies = true,
            (b"basedir", Some(dir)) => objects = Some(names::os_string(dir.to_vec())),
            (b"digest", Some(digest)) => {
                others.push(names::os_string([b"fs_verity=", digest].concat()));
            }
            _ => others.push(names::os_string(option.to_vec())),
        }
    }
    let mut words: Vec<OsString> = vec!["mount".into(), "--called-by-mount".into()];
    words.extend(objects.map(|dir| with_value("--objects", &dir)));
    words.extend(verifies.then(|| "--verify".into()));
    for option in others {
        words.extend(["-o".into(), option]);
    }
    words.push("--".into());
    words.extend(operands);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_are_part_of_an_option() {
        let mut parsed = Parsed::default();
        let label = "context=\"system_u:object_r:usr_t:s0:c1,c2\"";
        parsed.record("-o", "-o", format!("ro,basedir=a b,{label},,noexec").into());
        parsed.operands = ["image", "dir"].map(OsString::from).into();
        let words = mount_composefs(parsed).unwrap();
        assert_eq!(words[2..6], ["--objects=a b", "-o", "ro", "-o"]);
        assert_eq!(words[6..], [label, "-o", "noexec", "--", "image", "dir"]);
    }
}
