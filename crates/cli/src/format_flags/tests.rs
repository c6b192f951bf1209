//! Flags against the options of each format.

use std::collections::BTreeSet;

use clap::Command;
use sinterfs::build::FormatOptions;

use super::{FormatArgs, GROUPS, flags_of};
use clap::{Args, FromArgMatches};

/// Returns what the flags of a command line set.
fn given(words: &[&str]) -> Vec<(String, String)> {
    let command = FormatArgs::<true>::augment_args(Command::new("sinter"));
    let command = command.arg(clap::Arg::new("no_xattrs").long("no-xattrs"));
    let words = [&["sinter"], words].concat();
    let matches = command.try_get_matches_from(words).expect("flags");
    let args = FormatArgs::<true>::from_arg_matches(&matches).expect("options");
    let text = |value: std::ffi::OsString| value.into_string().expect("text");
    let options = args.given.into_iter();
    options.map(|(name, value)| (name, text(value))).collect()
}

#[test]
fn every_flag_is_taken_or_refused_with_the_formats_that_take_it() {
    let all = FormatOptions::all();
    let mut set = BTreeSet::new();
    for flag in GROUPS.iter().flat_map(|(_, flags)| *flags) {
        let name = flag.option_name();
        let takes = |format: &FormatOptions| format.names().contains(&&*name);
        let takers: Vec<_> = all.iter().filter(|format| takes(format)).collect();
        assert!(!takers.is_empty(), "--{}: no format has it", flag.long);
        for format in all.iter().filter(|format| !takes(format)) {
            let error = format.clone().set(&name, "x").unwrap_err();
            let said = crate::flags::message(&error);
            let shown = flags_of(&name).expect("a flag that is shown");
            let expected = format!("{shown} does not apply to {} images", format.format());
            assert!(said.starts_with(&expected), "{said}");
            for taker in &takers {
                assert!(said.contains(taker.format()), "{said}");
            }
        }
        set.insert(name);
    }
    // those that other flags set: -C and --base
    set.extend(["category_compression", "base"].map(str::to_owned));
    let known = all.iter().flat_map(FormatOptions::names);
    for name in known {
        assert!(set.contains(name), "`{name}` has no flag");
    }
}

#[test]
fn options_are_set_in_the_order_of_the_flags() {
    let words = "--efi-boot e --boot-load-size 1 --boot b --boot-info-table --boot-load-size 2 \
                 --no-joliet --noD --no-compress ids -E dedupe --chunk-size 4k \
                 --metadata-compression zstd:3";
    let words: Vec<_> = words.split_whitespace().collect();
    let expected = [
        ("efi_boot", "e"),
        ("boot_load_size", "1"),
        ("boot", "b"),
        ("boot_info_table", "true"),
        ("boot_load_size", "2"),
        ("joliet", "false"),
        ("uncompressed", "data"),
        ("uncompressed", "ids"),
        ("extended", "dedupe"),
        ("chunk_size", "4096"),
        ("metadata_compression", "zstd:level=3"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(given(&words), expected);
    assert!(given(&[]).is_empty());
}
