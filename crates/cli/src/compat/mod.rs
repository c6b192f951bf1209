//! The program under the names of others: called as `mksquashfs`, `mkfs.erofs`, `mkdwarfs` and the like
//! (by a symlink), it takes their options.
//!
//! Enters what the program was called with; leaves words that `sinter` itself takes. **Invariant:** an
//! option means the same here or is refused, with what to use instead; none is ignored. What images
//! become is nowhere decided here: the words are parsed like any others.

mod mkdwarfs;
mod mkfs_erofs;
mod mksquashfs;
mod readers;
mod scan;
mod table;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::{Error, Result};

use scan::Asked;
use table::Tool;

/// What is to be done.
#[derive(Debug)]
pub enum Spoken {
    /// What these words say, the first of them the program's name.
    Words(Vec<OsString>),
    /// Nothing but to print this.
    Text(String),
}

const TOOLS: [&Tool; 6] = [
    &mksquashfs::TOOL,
    &mkfs_erofs::TOOL,
    &mkdwarfs::TOOL,
    &readers::UNSQUASHFS,
    &readers::SQFS2TAR,
    &readers::DWARFSEXTRACT,
];

/// Returns what the arguments mean, the first of which is the name that the program was called by.
pub fn spoken(mut args: Vec<OsString>) -> Result<Spoken> {
    let called = args.first().map(OsString::as_os_str).unwrap_or_default();
    let name = Path::new(called).file_name().map(OsStr::to_owned);
    let tool = TOOLS
        .iter()
        .find(|tool| name.as_deref() == Some(OsStr::new(tool.name)));
    let Some(tool) = tool else {
        return Ok(Spoken::Words(args));
    };
    let rest = args.split_off(1);
    let name = tool.name;
    if rest.is_empty() {
        let what = format!(
            "usage: {name} {}; `{name} --help` lists the options",
            tool.usage
        );
        return Err(Error::invalid(what));
    }
    let said = match scan::scan(tool, rest)? {
        Asked::Work(said) => said,
        Asked::Help => return Ok(Spoken::Text(tool.help_text())),
        Asked::Version => {
            let version = env!("CARGO_PKG_VERSION");
            return Ok(Spoken::Text(format!("{name} of sinter {version}\n")));
        }
    };
    let mut words = vec![OsString::from("sinter")];
    words.extend((tool.finish)(said)?);
    Ok(Spoken::Words(words))
}

#[cfg(test)]
mod tests;
