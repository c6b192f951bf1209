//! The flags of the options that libraries name by their meaning: one table.

use sinterfs::{Error, Setting};

/// Returns the command-line name of an option.
pub fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Actions => "--action or --action-file",
        Setting::ActionLayout => "--action of fragments, tailend or align",
        Setting::ActionUncompressed => "--action uncompressed",
        Setting::AllTimes => "--keep-all-times",
        Setting::ArchiveRoot => "--archive-root",
        Setting::Base => "--base",
        Setting::BlobDevice => "--blob-device",
        Setting::BlockSize => "--block-size",
        Setting::Categorize => "--categorize or --no-categorize",
        Setting::CategoryCompression => "--compression CATEGORY::CODEC",
        Setting::ChunkSize => "--chunk-size",
        Setting::Compression => "--compression",
        Setting::CreateTimestamp => "--create-timestamp",
        Setting::Devices => "--device",
        Setting::DigestStore => "--digest-store",
        Setting::Duplicates => "--no-duplicates",
        Setting::Exports => "--no-exports",
        Setting::Extended => "--extended",
        Setting::FileContexts => "--file-contexts",
        Setting::Filters => "--exclude or --include",
        Setting::Format => "--format",
        Setting::FormatVersion => "--min-version or --max-version",
        Setting::Header => "--header",
        Setting::History => "--no-history",
        Setting::Holes => "--no-sparse",
        Setting::HotList => "--hot",
        Setting::ImageInFile => "--image",
        Setting::ImpliedDirectories => "--dir-defaults",
        Setting::Label => "--label",
        Setting::Level => "--level",
        Setting::Lookback => "--lookback",
        Setting::ManifestAnywhere => "--manifest-anywhere",
        Setting::ManifestRoot => "--manifest-root",
        Setting::MediaCategories => "--categorize=pcmaudio or fits",
        Setting::MaxZeros => "--max-zeros",
        Setting::Memory => "--memory",
        Setting::MetadataCompression => "--metadata-compression",
        Setting::MetadataCopy => "--metadata-copy",
        Setting::Objects => "--objects",
        Setting::Offset => "--offset",
        Setting::OneFileSystem => "--one-file-system",
        Setting::Shard => "--shard",
        Setting::Order => "--order",
        Setting::PackMetadata => "--pack-metadata",
        Setting::Padding => "--no-pad",
        Setting::Partition => "--partition",
        Setting::Platform => "--platform",
        Setting::Pseudo => "--pseudo",
        Setting::PseudoDirectories => "--pseudo-dir",
        Setting::PseudoFiles => "--pseudo-file",
        Setting::PseudoOverride => "--pseudo-override",
        Setting::Purpose => "--for",
        Setting::ReadCost => "--read-cost",
        Setting::Rebuild => "--rebuild",
        Setting::Replace => "--force",
        Setting::Scratch => "--scratch",
        Setting::SectionIndex => "--no-section-index",
        Setting::SeparateLinks => "--no-hardlinks",
        Setting::SkipDevices => "--skip-devices",
        Setting::Sort => "--sort",
        Setting::Strict => "--strict",
        Setting::Tails => "--tailends or --no-fragments",
        Setting::TargetKernel => "--target-kernel",
        Setting::TimeResolution => "--time-resolution",
        Setting::Uncompressed => "--no-compress",
        Setting::UnpackLayers => "--layers",
        Setting::UserXattrs => "--user-xattrs",
        Setting::Uuid => "--uuid",
        Setting::WithDigest => "--with-digest",
        Setting::XattrFilter => "--xattrs-include or --xattrs-exclude",
        Setting::XattrPrefixes => "--xattr-prefix",
        Setting::XattrsAdded => "--xattrs-add",
        Setting::Xattrs => "--no-xattrs",
        // a test goes through all of them
        other => other.name(),
    }
}

/// Returns the message of an error, with options named by their flags.
pub fn message(error: &Error) -> String {
    let named = named(error.to_string(), error.settings().iter().copied());
    if error.settings().contains(&Setting::WithDigest) {
        named + "; `sinter digest IMAGE -o FILE` writes the digests of any image to a file"
    } else {
        named
    }
}

/// Returns a text with these options named by their flags.
pub fn named(text: String, settings: impl Iterator<Item = Setting>) -> String {
    settings.fold(text, |text, setting| {
        text.replace(&setting.to_string(), flag(setting))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_a_flag() {
        for &setting in Setting::ALL {
            assert!(flag(setting).starts_with("--"), "{setting}");
        }
    }

    #[test]
    fn a_message_names_flags() {
        let what = format!("the output exists; {} replaces it", Setting::Replace);
        let error = Error::invalid(what).about([Setting::Replace]);
        assert_eq!(message(&error), "the output exists; --force replaces it");
    }
}
