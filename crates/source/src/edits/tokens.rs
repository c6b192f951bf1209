//! Splits a line into tokens: blanks separate them; quotes and backslashes keep blanks in a name.
//!
//! Enters bytes; leaves tokens, from first to last. **Invariant:** what remains follows what was
//! taken.

use sinterfs_model::{Error, Result};

/// The rest of a line.
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// Starts at the beginning of a line.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self {
            rest: line.trim_ascii_start(),
        }
    }

    /// Takes a name. Blanks between quotes (`"`) and the byte after a backslash are part of it.
    pub(super) fn name(&mut self) -> Result<Vec<u8>> {
        let mut name = Vec::new();
        let mut quoted = false;
        while let [byte, rest @ ..] = self.rest {
            match byte {
                b'\\' if !rest.is_empty() => {
                    name.extend(rest.first());
                    self.rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
                b'"' => quoted = !quoted,
                byte if byte.is_ascii_whitespace() && !quoted => break,
                byte => name.push(*byte),
            }
            self.rest = rest;
        }
        if quoted {
            return Err(Error::invalid("a quote is not closed"));
        }
        if name.is_empty() {
            return Err(Error::invalid("a name is missing"));
        }
        self.rest = self.rest.trim_ascii_start();
        Ok(name)
    }

    /// Takes a word; fails with `what` as the missing part if there is none.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a [u8]> {
        let end = self.rest.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if word.is_empty() {
            return Err(Error::invalid(format!("{what} is missing")));
        }
        self.rest = rest.trim_ascii_start();
        Ok(word)
    }

    /// Takes a decimal number.
    pub(super) fn number(&mut self, what: &str) -> Result<u32> {
        let word = std::str::from_utf8(self.word(what)?).unwrap_or_default();
        let digits = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|_| digits);
        number.ok_or_else(|| Error::invalid(format!("`{word}` is not {what}")))
    }

    /// Takes all that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Fails if anything is left.
    pub(super) fn end(&self) -> Result<()> {
        match self.rest.trim_ascii() {
            b"" => Ok(()),
            rest => {
                let rest = String::from_utf8_lossy(rest);
                Err(Error::invalid(format!("`{rest}` is more than it takes")))
            }
        }
    }
}
