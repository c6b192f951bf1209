//! The flags of the options that libraries name: the same names, but for a few.

use sinterfs::{Error, Setting};

use crate::format_flags;

/// Returns the command-line name of an option.
pub fn flag(setting: Setting) -> String {
    let name = match setting.0 {
        "actions" => "action or --action-file",
        "actions about tails and alignment" => "action of fragments, tailend or align",
        "actions about compression" => "action uncompressed",
        "categorizers" => "categorize or --no-categorize",
        "category_compression" => "compression CATEGORY::CODEC",
        "devices" => "device",
        "duplicates" => "no-duplicates",
        "filters" => "exclude or --include",
        "implied" => "dir-defaults",
        "keep_xattrs" => "no-xattrs",
        "media_categories" => "categorize=pcmaudio or fits",
        "pseudo_files" => "pseudo-file",
        "replace" => "force",
        "separate_links" => "no-hardlinks",
        "unpack_layers" => "layers",
        "xattr_filter" => "xattrs-include or --xattrs-exclude",
        name => {
            let of_format = format_flags::flags_of(name);
            return of_format.unwrap_or_else(|| format!("--{}", name.replace('_', "-")));
        }
    };
    format!("--{name}")
}

/// Returns the message of an error, with options named by their flags.
pub fn message(error: &Error) -> String {
    let named = named(error.to_string(), error.settings().iter().copied());
    if error.settings().contains(&Setting("with_digest")) {
        named + "; `sinter digest IMAGE -o FILE` writes the digests of any image to a file"
    } else {
        named
    }
}

/// Returns a text with these options named by their flags.
pub fn named(text: String, settings: impl Iterator<Item = Setting>) -> String {
    settings.fold(text, |text, setting| {
        text.replace(&setting.to_string(), &flag(setting))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use clap::CommandFactory;

    use super::*;

    /// Returns the names of options in the source of the crates.
    fn named() -> BTreeSet<String> {
        let pattern = regex::Regex::new(r#"Setting\("([^"]+)"\)"#).unwrap();
        let mut names = BTreeSet::new();
        let mut directories = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(path).unwrap();
                    let found = pattern.captures_iter(&text);
                    names.extend(found.map(|found| found[1].to_owned()));
                }
            }
        }
        names
    }

    #[test]
    fn every_option_that_is_named_has_a_flag() {
        let program = crate::Cli::command();
        let flags = program
            .get_subcommands()
            .flat_map(clap::Command::get_arguments);
        let flags: BTreeSet<_> = flags.filter_map(clap::Arg::get_long).collect();
        let names = named();
        assert!(names.contains("replace") && names.contains("with_digest"));
        for name in names {
            let flag = flag(Setting(name.leak()));
            let long = flag.trim_start_matches("--").split([' ', '=']).next();
            assert!(flags.contains(long.unwrap()), "{flag}");
        }
    }

    #[test]
    fn a_message_names_flags() {
        let what = format!("the output exists; {} replaces it", Setting("replace"));
        let error = Error::invalid(what).about([Setting("replace")]);
        assert_eq!(message(&error), "the output exists; --force replaces it");
    }
}
