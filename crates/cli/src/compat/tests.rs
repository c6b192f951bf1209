//! Messages about options of all tables quote the option as typed.

use clap::Parser;
use sinterfs::Error;
use sinterfs::platform::names;

use super::table::{Meaning, Rule};
use super::*;

/// Reads a command line of a tool; returns why it is refused, if it is.
fn refusal(tool: &Tool, args: &[OsString]) -> Option<Error> {
    let words = std::iter::once(OsString::from(tool.name)).chain(args.iter().cloned());
    invocation(words.collect()).err()
}

fn rules() -> impl Iterator<Item = (&'static Tool, &'static Rule)> {
    let tools = TOOLS.into_iter();
    tools.flat_map(|tool| tool.all_rules().map(move |rule| (tool, rule)))
}

/// Fails if a message names a spelling of a rule that was not typed.
fn names_only(message: &str, typed: &str, rule: &Rule) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut words = message.split(|c| !is_part(c));
    assert!(message.contains(typed), "{typed}: {message}");
    let other = words.find(|word| *word != typed && rule.spellings.contains(word));
    assert_eq!(other, None, "{typed}: {message}");
}

#[test]
fn refusals_name_the_option_that_was_typed() {
    let mut count = 0;
    for (tool, rule) in rules() {
        let Meaning::Refused(why) = rule.meaning else {
            continue;
        };
        for typed in rule.spellings {
            let error = refusal(tool, &[OsString::from(typed)]).expect("a refusal");
            let expected = format!("{} {typed} is not supported: {why}", tool.name);
            assert_eq!(error.what(), expected);
            let subject = error.what().split(": ").next().unwrap();
            names_only(subject, typed, rule);
            count += 1;
        }
    }
    assert!(count > 90, "{count}");
}

#[test]
fn complaints_about_values_name_the_option_that_was_typed() {
    let operands = |tool: &Tool| match tool.name {
        "mksquashfs" | "mksquashfs4" => ["/nowhere/a", "/nowhere/b"].map(OsString::from).to_vec(),
        "mkfs.erofs" | "mkfs.cramfs" | "mkcramfs" | "create_compressed_fs" => {
            ["/nowhere/a", "/nowhere/b"].map(OsString::from).to_vec()
        }
        "mkisofs" | "genisoimage" | "xorrisofs" => ["-o", "/nowhere/a", "/nowhere/b"]
            .map(OsString::from)
            .to_vec(),
        "mkdwarfs" => ["-i/nowhere/a"].map(OsString::from).to_vec(),
        "dwarfsextract" | "dwarfsck" => ["-i/nowhere/a"].map(OsString::from).to_vec(),
        "fsck.erofs" => ["/nowhere/a"].map(OsString::from).to_vec(),
        "tar2sqfs" => ["/nowhere/b"].map(OsString::from).to_vec(),
        "gensquashfs" => ["-D/nowhere/a", "/nowhere/b"].map(OsString::from).to_vec(),
        _ => Vec::new(),
    };
    let mut count = 0;
    for (tool, rule) in rules() {
        let is_taken = !matches!(rule.meaning, Meaning::Refused(_));
        for typed in rule.spellings.iter().filter(|_| is_taken) {
            for value in [None, Some(b"?".to_vec()), Some(b"\xff".to_vec())] {
                let mut args = operands(tool);
                args.push(OsString::from(typed));
                args.extend(value.map(names::os_string));
                if let Some(error) = refusal(tool, &args)
                    && rule
                        .spellings
                        .iter()
                        .any(|other| error.what().starts_with(other))
                {
                    names_only(error.what(), typed, rule);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn hints_are_those_of_the_option() {
    for (line, expected) in [
        (
            "mksquashfs -mem-default",
            "-mem-default is not supported: `sinter build --help` shows the default of --memory",
        ),
        (
            "mkfs.erofs --s3=x",
            "--s3 is not supported: download the source first",
        ),
        (
            "mkfs.erofs --fsalignblks=8",
            "--fsalignblks is not supported: images are not padded; truncate(1) extends them",
        ),
        (
            "dwarfsextract --format-filters=zstd",
            "--format-filters is not supported: pipe the archive to zstd or xz",
        ),
    ] {
        let words = line.split(' ').map(OsString::from).collect();
        let error = invocation(words).unwrap_err();
        let name = line.split(' ').next().unwrap();
        assert_eq!(error.what(), format!("{name} {expected}"));
    }
    let mut words: Vec<OsString> = "mkdwarfs -i a --block-size-bits"
        .split(' ')
        .map(OsString::from)
        .collect();
    words.push("x".into());
    let error = invocation(words).unwrap_err();
    assert_eq!(
        error.what(),
        "--block-size-bits needs the base-2 logarithm of a size"
    );
}

#[test]
fn options_without_an_effect_are_told_as_typed() {
    let mut count = 0;
    for (tool, rule) in rules() {
        let Meaning::Noted(why) = rule.meaning else {
            continue;
        };
        for typed in rule.spellings {
            let needs_value = !rule.value_name.is_empty() && !rule.value_name.starts_with('[');
            let values = rule.value_name.split(' ').filter(|_| needs_value);
            let words = std::iter::once(typed).chain(values.map(|_| &"1"));
            let words = words.map(OsString::from).collect();
            let Ok(Request::Run(parsed)) = parse::parse(tool, words) else {
                panic!("{} {typed}", tool.name);
            };
            let expected = format!("{} {typed} has no effect here: {why}", tool.name);
            assert_eq!(*parsed.notes.borrow(), [expected]);
            assert!(parsed.translated.is_empty() && parsed.operands.is_empty());
            names_only(&parsed.notes.borrow()[0], typed, rule);
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn levels_of_codecs_are_refused_for_true_reasons() {
    for (codec, expected) in [
        ("lzo", "-Xcompression-level: lzo has one level here"),
        (
            "lz4",
            "-Xcompression-level is not an option of lz4; -Xhc compresses better",
        ),
        ("xz", "-Xcompression-level is not an option of xz"),
        ("lzma", "-Xcompression-level is not an option of lzma"),
    ] {
        let line = format!("mksquashfs /nowhere/a /nowhere/b -comp {codec} -Xcompression-level 8");
        let error = invocation(line.split(' ').map(OsString::from).collect()).unwrap_err();
        assert_eq!(error.what(), expected);
    }
}

#[test]
fn values_that_sinter_refuses_are_reported_in_the_words_of_the_tool() {
    for (line, expected) in [
        (
            "mksquashfs a b -processors x",
            "mksquashfs: invalid value 'x' for '-processors': invalid digit found in string",
        ),
        (
            "mkdwarfs -i a -o b --num-workers x",
            "mkdwarfs: invalid value 'x' for '--num-workers': invalid digit found in string",
        ),
        (
            "mkdwarfs -i a -o b -l 10",
            "mkdwarfs: invalid value '10' for '-l': 10 is not in 0..=9",
        ),
        (
            "mkfs.erofs --force-uid=x b a",
            "mkfs.erofs: invalid value 'x' for '--force-uid': no user is named `x` in /etc/passwd; \
             give a number",
        ),
        (
            "mksquashfs a b -all-root -force-uid 1",
            "mksquashfs: the argument '-all-root' cannot be used with '-force-uid'",
        ),
    ] {
        let words = line.split(' ').map(OsString::from).collect();
        let Invocation::Translated(translated) = invocation(words).unwrap() else {
            panic!("{line}");
        };
        let error = crate::Cli::try_parse_from(&translated.words).unwrap_err();
        assert_eq!(translated.error(&error).what(), expected);
    }
}

/// Names that no package puts in the place of others, with the reason.
const NOT_REPLACED: [(&str, &str); 3] = [
    ("mount.sinter", "ours: the package of the program has it"),
    (
        "mount.fuse.sinter",
        "ours: the package of the program has it",
    ),
    ("xorriso", "only its `-as mkisofs` is taken"),
];

#[test]
fn the_list_of_names_for_packages_has_every_tool() {
    let list = include_str!("../../../../packaging/names.txt");
    let paths = list.lines().filter(|line| line.starts_with('/'));
    let mut listed: Vec<&str> = paths.filter_map(|path| path.rsplit('/').next()).collect();
    listed.sort_unstable();
    let is_replaced = |name: &&str| !NOT_REPLACED.iter().any(|(other, _)| other == name);
    let mut tools: Vec<&str> = TOOLS
        .iter()
        .map(|tool| tool.name)
        .filter(is_replaced)
        .collect();
    tools.sort_unstable();
    assert_eq!(listed, tools);
}
