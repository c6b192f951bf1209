//! Categories: kinds of content that are cut and encoded apart from each other.
//!
//! **Invariant:** a category is a plain value, so equal formats of samples are one category.

use crate::{Machine, RawImage, Waveform};

/// A kind of content that is cut and encoded as a separate stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Category {
    /// Anything without a better name.
    #[default]
    Default,
    /// Nearly no control characters: prose, programs, tables.
    Text,
    /// Programs and libraries for one machine.
    Code(Machine),
    /// PCM audio without its headers.
    Waveform(Waveform),
    /// The image of a FITS file without its headers.
    Fits(RawImage),
    /// Content that is already compressed and does not shrink further.
    Incompressible,
    /// Content of any kind that is needed before all other content.
    Hot,
}

impl Category {
    /// The former name of [`Category::Hot`].
    const FORMER_HOT: &str = "hot";

    /// Returns the name that images and reports show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "<default>",
            Self::Text => "text",
            Self::Code(machine) => machine.name(),
            Self::Waveform(_) => "pcmaudio/waveform",
            Self::Fits(_) => "fits/image",
            Self::Incompressible => "incompressible",
            Self::Hot => "hotness",
        }
    }

    /// Returns the category of a name in an image; `None` if the name does not determine one, such
    /// as audio, which lacks the sample format. Images of earlier versions call `hotness` `hot`.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == Self::FORMER_HOT {
            return Some(Self::Hot);
        }
        let plain = [Self::Default, Self::Text, Self::Incompressible, Self::Hot];
        let code = Machine::ALL.into_iter().map(Self::Code);
        plain
            .into_iter()
            .chain(code)
            .find(|category| category.name() == name)
    }

    /// Returns whether a name is a category's, or the part of such a name before the slash.
    pub fn is_known(name: &str) -> bool {
        matches!(
            name,
            "pcmaudio" | "pcmaudio/waveform" | "fits" | "fits/image" | "code"
        ) || Self::from_name(name).is_some()
    }

    /// Returns whether a name is this category's, or the part of its name before the slash.
    pub fn matches(self, name: &str) -> bool {
        let rest = self.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || Self::from_name(name) == Some(self)
    }

    /// Returns the unit in bytes of this category: content consists of whole units and is cut
    /// between units only.
    pub const fn granularity(self) -> u32 {
        match self {
            Self::Waveform(waveform) => waveform.frame(),
            Self::Fits(image) => image.frame(),
            Self::Default | Self::Text | Self::Code(_) | Self::Incompressible | Self::Hot => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_found_by_their_names() {
        for category in [Category::Text, Category::Code(Machine::X86_64)] {
            assert_eq!(Category::from_name(category.name()), Some(category));
        }
        // what images had before the name that dwarfs gives it
        assert_eq!(Category::Hot.name(), "hotness");
        for name in ["hot", "hotness"] {
            assert_eq!(Category::from_name(name), Some(Category::Hot));
            assert!(Category::Hot.matches(name) && Category::is_known(name));
        }
        assert_eq!(Category::from_name("pcmaudio/waveform"), None);
        for name in [
            "<default>",
            "text",
            "code",
            "code/arm64",
            "fits",
            "pcmaudio/waveform",
        ] {
            assert!(Category::is_known(name), "{name}");
        }
        for name in ["", "code/", "code/x", "pcmaudio/", "binary"] {
            assert!(!Category::is_known(name), "{name}");
        }
        let arm = Category::Code(Machine::Arm);
        assert!(arm.matches("code") && arm.matches("code/arm"));
        assert!(!arm.matches("code/arm64") && !arm.matches("co") && !arm.matches("text"));
        assert!(Machine::ALL.is_sorted());
    }
}
