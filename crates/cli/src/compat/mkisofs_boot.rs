//! Boot images and partitions of mkisofs and xorrisofs, translated to words of `--extended`.
//!
//! In: the options in the order in which they were given. Out: words. **Invariant:** an option of a
//! boot image belongs to the last `-b` or `-e` before or after it, up to `-eltorito-alt-boot`.

use std::ffi::OsStr;

use sinterfs::{Error, Result};

use super::mkisofs_sources::PathSpecs;
use super::parsed::Parsed;

/// The options of one boot image.
#[derive(Default)]
struct BootOptions {
    /// The word of the image itself.
    image: Option<String>,
    /// The words that follow it.
    details: Vec<String>,
    emulates_nothing: bool,
}

impl BootOptions {
    /// Adds the words of the image, if there is one.
    fn finish(self, words: &mut Vec<String>) -> Result<()> {
        let Some(image) = self.image else {
            if self.details.is_empty() && !self.emulates_nothing {
                return Ok(());
            }
            return Err(Error::invalid("options of a boot image, but no -b or -e"));
        };
        if !self.emulates_nothing {
            let what = "boot images that emulate floppy disks are not supported: -no-emul-boot";
            return Err(Error::unsupported(what));
        }
        words.push(image);
        words.extend(self.details);
        Ok(())
    }
}

/// Translates the options of boot images, which count from one image to the next.
pub(super) fn boot_images(
    parsed: &Parsed,
    sources: &PathSpecs,
    words: &mut Vec<String>,
) -> Result<()> {
    let mut current = BootOptions::default();
    for (name, typed, value) in parsed.in_order() {
        match name {
            "-eltorito-alt-boot" => std::mem::take(&mut current).finish(words)?,
            "-b" | "-e" => {
                if current.image.is_some() {
                    std::mem::take(&mut current).finish(words)?;
                }
                current.image = Some(boot_image(name == "-e", typed, value, sources)?);
            }
            "-no-emul-boot" => current.emulates_nothing = true,
            "-boot-load-size" => {
                let sectors = word(typed, "boot-load-size", &value.to_string_lossy())?;
                current.details.push(sectors);
            }
            "-boot-info-table" => current.details.push("boot-info-table".to_owned()),
            _ => {}
        }
    }
    current.finish(words)
}

/// Returns the word of a boot image: a file of the image, or a partition that is appended.
fn boot_image(is_efi: bool, typed: &str, value: &OsStr, sources: &PathSpecs) -> Result<String> {
    let text = value.to_str().unwrap_or_default();
    if let Some(interval) = text.strip_prefix("--interval:") {
        let number = interval
            .strip_prefix("appended_partition_")
            .and_then(|rest| rest.strip_suffix(":all::"));
        let number = number.ok_or_else(|| {
            let what = format!(
                "{typed} {text}: of intervals, --interval:appended_partition_N:all:: is supported"
            );
            Error::unsupported(what)
        })?;
        let ours = if is_efi {
            "efi-partition"
        } else {
            "boot-partition"
        };
        return word(typed, ours, number);
    }
    let ours = if is_efi { "efi-boot" } else { "boot" };
    let path = sources.source_of(value);
    let path = path.to_str();
    let path = path.ok_or_else(|| Error::invalid(format!("{typed}: the path is not UTF-8")))?;
    word(typed, ours, path)
}

/// Translates the partitions that are appended.
pub(super) fn appended(parsed: &Parsed) -> Result<Vec<String>> {
    let typed = "-append_partition";
    let values: Vec<&OsStr> = parsed.values(typed).collect();
    let append = |three: &[&OsStr]| {
        let texts: Option<Vec<&str>> = three.iter().map(|value| value.to_str()).collect();
        let texts = texts.as_deref();
        let Some([number, kind, path]) = texts else {
            return Err(Error::invalid(format!("{typed}: the values are not UTF-8")));
        };
        let plain = kind.to_ascii_lowercase().replace('-', "");
        let kind = match &*plain {
            "fat12" => "0x01",
            "fat16" => "0x06",
            "linux" => "0x83",
            "c12a7328f81f11d2ba4b00a0c93ec93b" | "28732ac11ff8d211ba4b00a0c93ec93b" => "0xef",
            // as in xorrisofs, any other type of a GPT
            guid if guid.len() == 32 && guid.bytes().all(|byte| byte.is_ascii_hexdigit()) => "0x83",
            number => number,
        };
        word(typed, "append", &format!("{number}:{kind}:{path}"))
    };
    values.chunks(3).map(append).collect()
}

/// Returns a word of `--extended`; fails if its value has what separates words.
pub(super) fn word(typed: &str, ours: &str, value: &str) -> Result<String> {
    if value.contains(',') {
        let what = format!("{typed}: the value must not contain a comma");
        return Err(Error::unsupported(what));
    }
    Ok(format!("{ours}={value}"))
}
