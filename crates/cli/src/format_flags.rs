//! Flags of formats: one group for each format, under its own heading, and one of flags that a few
//! formats have.
//!
//! In: the words of a command line. Out: names of options with their values, in the order of the
//! words. **Invariant:** each flag sets an option of a format's table
//! (`FormatOptions::set`), which refuses it for other formats; a test goes through all of them.

mod composefs;
mod cramfs;
mod dwarfs;
mod erofs;
mod flag;
mod iso9660;
mod several;
mod squashfs;
#[cfg(test)]
mod tests;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use flag::Flag;
pub use flag::{GivenOption, with_level};

/// The flags of each heading; the first group is for `recompress`, too.
const GROUPS: [(&str, &[Flag]); 7] = [
    ("DwarFS", dwarfs::FLAGS),
    ("SquashFS", squashfs::FLAGS),
    ("EROFS", erofs::FLAGS),
    ("composefs", composefs::FLAGS),
    ("CRAMFS", cramfs::FLAGS),
    ("ISO 9660", iso9660::FLAGS),
    ("Several formats", several::FLAGS),
];

/// Returns the flags that set an option of a format, if there are any that the help shows.
pub fn flags_of(option: &str) -> Option<String> {
    let flags = GROUPS.iter().flat_map(|(_, flags)| *flags);
    let flags = flags.filter(|flag| flag.option_name() == option && !flag.is_hidden());
    let names: Vec<String> = flags.map(|flag| format!("--{}", flag.long)).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Options of formats that are given, by the names that they have in the library: for new images of
/// any format or, if not `ANY`, for images of which blocks can be copied.
#[derive(Debug)]
pub struct FormatArgs<const ANY: bool> {
    /// The options in the order of the command line.
    pub given: Vec<GivenOption>,
}

impl<const ANY: bool> FormatArgs<ANY> {
    fn groups() -> &'static [(&'static str, &'static [Flag])] {
        if ANY { &GROUPS } else { &GROUPS[..1] }
    }
}

impl<const ANY: bool> Args for FormatArgs<ANY> {
    fn augment_args(mut command: Command) -> Command {
        for (heading, flags) in Self::groups() {
            command = command.args(flags.iter().map(|flag| flag.arg().help_heading(*heading)));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const ANY: bool> FromArgMatches for FormatArgs<ANY> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let flags = Self::groups().iter().flat_map(|(_, flags)| *flags);
        let mut given: Vec<_> = flags.flat_map(|flag| flag.given(matches)).collect();
        given.sort_by_key(|(index, _)| *index);
        let given = given.into_iter().map(|(_, option)| option).collect();
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
