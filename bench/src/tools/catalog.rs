//! All tools in one list: ours, then the rivals.

use super::ours::{OURS, SINTER};
use super::rivals::RIVALS;
use super::tool::{Tool, Variant};
use crate::options::BenchOptions;

/// Returns all tools in the order of tables.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    OURS.iter().chain(RIVALS)
}

/// Finds a tool by name.
pub fn named(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

/// Returns the position of an image's builder in tables: that of the tool and of its variant.
pub fn rank(image: &str) -> (usize, usize) {
    let (name, label) = image.split_once(' ').unwrap_or((image, ""));
    let position = all().position(|tool| tool.name == name);
    let variants = named(name).map_or(&[][..], |tool| tool.variants);
    let variant = variants.iter().position(|variant| variant.label == label);
    (
        position.unwrap_or(usize::MAX),
        variant.unwrap_or(usize::MAX),
    )
}

impl Tool {
    /// Returns whether it is the one that results are compared with.
    pub fn is_sinter(&self) -> bool {
        self.name == SINTER
    }

    /// Returns whether it reads the images of another.
    pub fn reads(&self, builder: &Self) -> bool {
        self.format == builder.format || (self.is_sinter() && builder.format == "squashfs")
    }

    /// Returns the variants that the options ask for on a set. By default that is every other
    /// level; with `all_of_ours` all levels of `sinter`.
    pub fn chosen(
        &self,
        options: &BenchOptions,
        set: &str,
        all_of_ours: bool,
    ) -> Vec<&'static Variant> {
        let is_chosen = |variant: &&Variant| {
            let is_for_set = variant.sets.is_empty() || variant.sets.contains(&set);
            let is_level = match (&options.levels, variant.level) {
                (_, None) => true,
                (Some(levels), Some(level)) => levels.contains(&level),
                (None, Some(level)) => level % 2 == 1 || (self.is_sinter() && all_of_ours),
            };
            let variants = &options.variants;
            let is_named = variants.is_empty() || variants.iter().any(|n| n == variant.label);
            is_for_set && is_level && is_named
        };
        self.variants.iter().filter(is_chosen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::command::fill;
    use crate::tools::ours::{ARCHIVE, DEFAULT_LEVEL, STRONGEST_LEVEL};

    #[test]
    fn command_lines_have_known_places_only() {
        for tool in all() {
            let names = ["dir", "image", "out", "mountpoint", "args"];
            let places = names.map(|name| (name, "1"));
            for line in [tool.build, tool.extract, tool.mount] {
                let filled = fill(line, &places, None);
                assert!(!filled.contains(['{', '}', '[', ']']), "{filled}");
            }
            let builds = tool.build.contains("{dir}") && tool.build.contains("{image}");
            assert_eq!(builds, !tool.build.is_empty());
            assert_eq!(builds, !tool.variants.is_empty());
            assert!(builds || tool.mount.contains("{mountpoint}"));
        }
        for level in [DEFAULT_LEVEL, ARCHIVE, STRONGEST_LEVEL] {
            let sinter = named(SINTER).unwrap();
            assert!(sinter.variants.iter().any(|variant| variant.label == level));
        }
    }

    #[test]
    fn variants_by_level_and_set() {
        let labels = |name: &str, options: &BenchOptions, set: &str, all: bool| -> Vec<&str> {
            let variants = named(name).unwrap().chosen(options, set, all);
            variants.iter().map(|variant| variant.label).collect()
        };
        let mut options = BenchOptions::default();
        assert_eq!(labels("sinter", &options, "a", true).len(), 11);
        let ours = ["1", "3", "5", "7", ARCHIVE, "9"];
        assert_eq!(labels("sinter", &options, "a", false), ours);
        let odd = ["1", "3", "5", "7", "9"];
        assert_eq!(labels("mkdwarfs", &options, "a", true), odd);
        options.levels = Some(vec![7]);
        assert_eq!(labels("mkdwarfs", &options, "a", true), ["7"]);
        let with_categories = ["7", "7 categorize"];
        assert_eq!(
            labels("mkdwarfs", &options, "media-mix", true),
            with_categories
        );
        assert_eq!(labels("squashfs", &options, "a", true), ["zstd", "xz"]);
        options.variants = vec!["7".into()];
        assert_eq!(labels("sinter", &options, "a", true), ["7"]);
    }

    #[test]
    fn images_are_ordered_as_the_tools_are() {
        let ordered = [
            "sinter 0",
            "sinter 9",
            "mkdwarfs 1",
            "tar+zstd 3",
            "tar+zstd 19",
            "x 1",
        ];
        assert!(ordered.is_sorted_by_key(|image| rank(image)));
    }
}
