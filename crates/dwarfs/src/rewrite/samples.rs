//! Decodes the sample formats of blocks of audio and images, JSON in upstream's form, so that such
//! blocks can be encoded by codecs of samples again.
//!
//! In: one flat object of numbers and words. Out: a category. **Invariant:** anything unknown is
//! `None`: a codec of samples then refuses the block.

use std::collections::BTreeMap;

use sinterfs_model::{ByteOrder, Category, Padding, RawImage, Waveform};

/// Decodes the sample format of a block of a category.
pub(super) fn category(name: &str, json: &str) -> Option<Category> {
    let fields = Fields::read(json)?;
    match name {
        "pcmaudio/waveform" => waveform(&fields).map(Category::Waveform),
        "fits/image" => image(&fields).map(Category::Fits),
        _ => None,
    }
}

fn waveform(fields: &Fields<'_>) -> Option<Waveform> {
    Some(Waveform {
        channels: fields.number("number_of_channels")?,
        bits: fields.number("bits_per_sample")?,
        bytes: fields.number("bytes_per_sample")?,
        order: fields.order()?,
        signed: match fields.word("signedness")? {
            "signed" => true,
            "unsigned" => false,
            _ => return None,
        },
        padding: match fields.word("padding")? {
            "lsb" => Padding::Low,
            "msb" => Padding::High,
            _ => return None,
        },
    })
}

fn image(fields: &Fields<'_>) -> Option<RawImage> {
    let components = fields.number("component_count")?;
    let is_known = matches!(components, 1 | 2) && fields.number("bytes_per_sample")? == 2;
    is_known.then_some(RawImage {
        components,
        unused_lsb: fields.number("unused_lsb_count")?,
        order: fields.order()?,
    })
}

/// The fields of a flat object; values of words are in quotes.
struct Fields<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Fields<'a> {
    /// Splits an object into fields. Its words contain no commas, colons or escapes.
    fn read(json: &'a str) -> Option<Self> {
        let inner = json.trim().strip_prefix('{')?.strip_suffix('}')?;
        let field = |text: &'a str| {
            let (name, value) = text.split_once(':')?;
            let name = name.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some((name, value.trim()))
        };
        inner.split(',').map(field).collect::<Option<_>>().map(Self)
    }

    fn number(&self, name: &str) -> Option<u8> {
        self.0.get(name)?.parse().ok()
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.strip_prefix('"')?.strip_suffix('"')
    }

    fn order(&self) -> Option<ByteOrder> {
        match self.word("endianness")? {
            "little" => Some(ByteOrder::Little),
            "big" => Some(ByteOrder::Big),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEREO: &str = r#"{"bits_per_sample":20,"bytes_per_sample":3,"endianness":"big","number_of_channels":2,"padding":"msb","signedness":"unsigned"}"#;

    #[test]
    fn samples_are_known_again() {
        let stereo = Waveform {
            channels: 2,
            bits: 20,
            bytes: 3,
            order: ByteOrder::Big,
            signed: false,
            padding: Padding::High,
        };
        let audio = "pcmaudio/waveform";
        assert_eq!(category(audio, STEREO), Some(Category::Waveform(stereo)));
        let spaced = STEREO.replace(',', " , ").replace(':', " : ");
        assert_eq!(category(audio, &spaced), category(audio, STEREO));
        let image = r#"{"bytes_per_sample":2,"component_count":1,"endianness":"little","unused_lsb_count":3}"#;
        let Some(Category::Fits(found)) = category("fits/image", image) else {
            panic!("no image")
        };
        assert_eq!((found.components, found.unused_lsb), (1, 3));
    }

    #[test]
    fn unknown_metadata_has_no_samples() {
        let audio = "pcmaudio/waveform";
        for json in ["", "{}", "{", "null", "[1]", r#"{"bits_per_sample":"x"}"#] {
            assert_eq!(category(audio, json), None, "{json}");
        }
        for (from, to) in [
            ("20", "300"),
            ("big", "middle"),
            ("msb", "no"),
            ("unsigned", "half"),
        ] {
            assert_eq!(category(audio, &STEREO.replace(from, to)), None);
        }
        assert_eq!(category("text", STEREO), None);
        assert_eq!(category("fits/image", STEREO), None);
    }
}
