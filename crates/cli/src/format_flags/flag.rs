//! A flag of a format: a row of a table, and what clap makes of it.

use std::ffi::OsString;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};

use crate::size;

/// An option of a format that is given, by its name in the library.
pub type GivenOption = (String, OsString);

/// What a flag takes.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// Nothing: the option gets this value.
    Nothing(&'static str),
    Text,
    /// A number of bytes.
    Size,
    /// A codec.
    Codec,
    OneOf(&'static [&'static str]),
}

/// A flag that sets an option of a format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flag {
    pub(super) long: &'static str,
    takes: Takes,
    help: &'static str,
    value_name: &'static str,
    option: Option<&'static str>,
    short: Option<char>,
    alias: Option<&'static str>,
    conflicts: &'static [&'static str],
    is_repeated: bool,
    is_hidden: bool,
}

impl Flag {
    /// A flag that turns its option on.
    pub(super) const fn on(long: &'static str, help: &'static str) -> Self {
        Self {
            long,
            takes: Takes::Nothing("true"),
            help,
            value_name: "",
            option: None,
            short: None,
            alias: None,
            conflicts: &[],
            is_repeated: false,
            is_hidden: false,
        }
    }

    /// A flag that turns an option off.
    pub(super) const fn off(long: &'static str, option: &'static str, help: &'static str) -> Self {
        Self::on(long, help).sets(option, "false")
    }

    /// A flag with a value.
    pub(super) const fn with(
        long: &'static str,
        value_name: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            takes: Takes::Text,
            value_name,
            ..Self::on(long, help)
        }
    }

    /// It takes nothing and sets this option to this value.
    pub(super) const fn sets(self, option: &'static str, value: &'static str) -> Self {
        Self {
            takes: Takes::Nothing(value),
            option: Some(option),
            ..self
        }
    }

    /// It sets an option of another name.
    pub(super) const fn option(mut self, option: &'static str) -> Self {
        self.option = Some(option);
        self
    }

    /// Its value is a number of bytes.
    pub(super) const fn size(mut self) -> Self {
        self.takes = Takes::Size;
        self
    }

    /// Its value is a codec.
    pub(super) const fn codec(mut self) -> Self {
        self.takes = Takes::Codec;
        self
    }

    /// Its value is one of these.
    pub(super) const fn one_of(mut self, values: &'static [&'static str]) -> Self {
        self.takes = Takes::OneOf(values);
        self
    }

    pub(super) const fn short(mut self, short: char) -> Self {
        self.short = Some(short);
        self
    }

    pub(super) const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn conflicts(self, conflicts: &'static [&'static str]) -> Self {
        Self { conflicts, ..self }
    }

    /// It can be given more than once.
    pub(super) const fn repeated(mut self) -> Self {
        self.is_repeated = true;
        self
    }

    /// The help does not show it.
    pub(super) const fn hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    pub(super) fn is_hidden(&self) -> bool {
        self.is_hidden
    }

    /// Returns the name of the option in the library.
    pub(super) fn option_name(&self) -> String {
        let named_alike = || self.long.replace('-', "_");
        self.option.map_or_else(named_alike, str::to_owned)
    }

    /// Returns the definition for the parser.
    pub(super) fn arg(&self) -> Arg {
        let action = if self.is_repeated {
            ArgAction::Append
        } else {
            ArgAction::Set
        };
        let mut arg = Arg::new(self.long).long(self.long).action(action);
        arg = arg.help(self.help).hide(self.is_hidden);
        arg = arg.short(self.short).conflicts_with_all(self.conflicts);
        arg = match self.alias {
            Some(alias) if self.is_hidden => arg.alias(alias),
            alias => arg.visible_alias(alias),
        };
        let os = |text: String| OsString::from(text);
        match self.takes {
            Takes::Nothing(value) => {
                let arg = arg.num_args(0).default_missing_value(value);
                return arg.value_parser(OsStringValueParser::new());
            }
            Takes::Text => arg = arg.value_parser(OsStringValueParser::new()),
            Takes::Size => {
                let parsed = |text: &str| size::parse(text).map(|size| size.to_string().into());
                arg = arg
                    .value_parser(move |text: &str| -> Result<OsString, String> { parsed(text) });
            }
            Takes::Codec => {
                arg = arg.value_parser(move |text: &str| -> Result<OsString, String> {
                    Ok(with_level(text).into())
                });
            }
            Takes::OneOf(values) => {
                arg = arg.value_parser(PossibleValuesParser::new(values).map(os));
            }
        }
        arg.value_name(self.value_name)
    }

    /// Returns what is given of it: the index in the command line, and the option with its value.
    pub(super) fn given(&self, matches: &ArgMatches) -> Vec<(usize, GivenOption)> {
        if matches.value_source(self.long) != Some(ValueSource::CommandLine) {
            return Vec::new();
        }
        let indices = matches.indices_of(self.long).into_iter().flatten();
        let values = matches.get_many::<OsString>(self.long);
        let values = values.into_iter().flatten();
        let options = values.map(|value| (self.option_name(), value.clone()));
        indices.zip(options).collect()
    }
}

/// Names the level of a codec that is given as `zstd:19`.
pub fn with_level(codec: &str) -> String {
    let parts = codec.split(':').enumerate().map(|(index, part)| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if index == 1 && is_number {
            format!("level={part}")
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join(":")
}
