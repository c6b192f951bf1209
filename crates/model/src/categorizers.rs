//! The kinds of content that are recognised.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The kinds of content that get separate streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Categorizers {
    /// PCM audio in WAV, AIFF, CAF, Wave64 and AU files.
    pub audio: bool,
    /// Images of 16-bit pixels in FITS files.
    pub images: bool,
    /// Programs and libraries, by machine.
    pub code: bool,
    /// Text.
    pub text: bool,
    /// Already compressed data.
    pub incompressible: bool,
}

impl Categorizers {
    /// All kinds.
    pub const ALL: Self = Self {
        audio: true,
        images: true,
        code: true,
        text: true,
        incompressible: true,
    };

    /// No kinds.
    pub const NONE: Self = Self {
        audio: false,
        images: false,
        code: false,
        text: false,
        incompressible: false,
    };

    /// Returns each name, and whether it is chosen.
    fn named(&self) -> [(&'static str, bool); 5] {
        [
            ("pcmaudio", self.audio),
            ("fits", self.images),
            ("binary", self.code),
            ("text", self.text),
            ("incompressible", self.incompressible),
        ]
    }
}

impl Default for Categorizers {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromStr for Categorizers {
    type Err = Error;

    /// Reads `pcmaudio,fits,binary,text,incompressible` or some of these; the first two, `binary`
    /// and the last are what mkdwarfs calls them.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut chosen = Self::NONE;
        for name in text.split(',') {
            let place = match name {
                "pcmaudio" => &mut chosen.audio,
                "fits" => &mut chosen.images,
                "binary" => &mut chosen.code,
                "text" => &mut chosen.text,
                "incompressible" => &mut chosen.incompressible,
                _ => {
                    return Err(Error::invalid(format!(
                        "no categorizer `{name}`; there are {}",
                        Self::ALL
                    )));
                }
            };
            *place = true;
        }
        Ok(chosen)
    }
}

impl fmt::Display for Categorizers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.named().into_iter().filter(|(_, chosen)| *chosen);
        let names: Vec<&str> = names.map(|(name, _)| name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_are_the_same() {
        let all = "pcmaudio,fits,binary,text,incompressible";
        assert_eq!(Categorizers::ALL.to_string(), all);
        assert_eq!(all.parse::<Categorizers>().unwrap(), Categorizers::ALL);
        let some: Categorizers = "incompressible,pcmaudio".parse().unwrap();
        assert_eq!(some.to_string(), "pcmaudio,incompressible");
        assert_eq!(Categorizers::NONE.to_string(), "none");
        for wrong in ["", "hotness", "pcmaudio,", "PCMAUDIO"] {
            assert!(wrong.parse::<Categorizers>().is_err(), "{wrong:?}");
        }
    }
}
