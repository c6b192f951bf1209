//! The paths that unsquashfs and sqfscat are given, by the rules of these programs.
//!
//! Enters paths as they were typed, with options about them; leaves paths of an image, and what is
//! to be said about the others. **Invariant:** a path is taken once, in the order of the image for
//! patterns, else as typed. Facts: the behaviour of unsquashfs 4.7.5, beside which tests run.

use std::ffi::OsString;

use sinterfs::model::Image;
use sinterfs::ops::{Follow, ListOptions, Unread, WalkStep, list, resolve, trail};
use sinterfs::platform::names;
use sinterfs::{Error, Result};

use crate::shell_pattern::{NameForm, Wanted};

/// How paths are meant, as unsquashfs has it.
#[derive(Debug, clap::Args)]
pub struct PathArgs {
    /// How the names of paths, and of those left out, are meant, in the place of patterns.
    #[arg(long, hide = true, value_enum, value_name = "HOW")]
    pub names: Option<NameForm>,

    /// Take also the symlinks that paths go through, and their targets.
    #[arg(long, hide = true, requires = "names")]
    follow: bool,

    /// Fail if a path is not there.
    #[arg(long, hide = true, requires = "names")]
    all_there: bool,

    /// Leave out these paths.
    #[arg(long, hide = true, value_name = "PATH")]
    pub leave_out: Vec<OsString>,
}

impl PathArgs {
    /// Returns whether paths have to be looked for before a listing.
    pub fn follows_or_requires(&self) -> bool {
        self.follow || self.all_there
    }

    /// Returns the paths of an image that are meant, and an error for each other pattern. With
    /// `--all-there` the first error is returned as such. Directories that cannot be listed go
    /// to `unread`.
    pub fn chosen(
        &self,
        image: &dyn Image,
        typed: &[OsString],
        unread: &mut Unread,
    ) -> Result<(Vec<OsString>, Vec<Error>)> {
        let (found, missing) = match self.names {
            None | Some(NameForm::Literal) => self.literal(image, typed),
            Some(how) => matching(image, typed, how, unread),
        }?;
        if self.all_there
            && let [first, ..] = &*missing
        {
            let path = first.concerned_path().unwrap_or("".as_ref());
            return Err(Error::not_found("no such file or directory in the image").path(path));
        }
        Ok((found, missing))
    }

    /// Returns the paths of an image that are left out. Directories that cannot be listed go to
    /// to `unread`.
    pub fn left_out(&self, image: &dyn Image, unread: &mut Unread) -> Result<Vec<OsString>> {
        if self.leave_out.is_empty() {
            return Ok(Vec::new());
        }
        let how = self.names.unwrap_or_default();
        Ok(matching(image, &self.leave_out, how, unread)?.0)
    }

    fn literal(
        &self,
        image: &dyn Image,
        typed: &[OsString],
    ) -> Result<(Vec<OsString>, Vec<Error>)> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for path in typed {
            if !self.follow {
                match resolve(image, &names::bytes(path), Follow::Nothing) {
                    Ok(_) => found.push(path.clone()),
                    Err(error) => missing.push(error),
                }
                continue;
            }
            let (way, failed) = trail(image, &names::bytes(path))?;
            found.extend(way.into_iter().map(names::os_string));
            missing.extend(failed);
        }
        Ok((found, missing))
    }
}

/// Returns the paths of an image that patterns match.
fn matching(
    image: &dyn Image,
    typed: &[OsString],
    how: NameForm,
    unread: &mut Unread,
) -> Result<(Vec<OsString>, Vec<Error>)> {
    let wanted = Wanted::new(typed, how)?;
    let mut found = Vec::new();
    let mut used = vec![false; typed.len()];
    let options = ListOptions {
        recursive: true,
        itself: false,
    };
    let start = resolve(image, b"", Follow::Parents)?;
    list(image, start, b"", options, unread, &mut |row| {
        if let Some(position) = wanted.position(&row.path) {
            used.get_mut(position)
                .into_iter()
                .for_each(|used| *used = true);
            found.push(names::os_string(row.path.clone()));
        }
        Ok(if wanted.lead_below(&row.path) {
            WalkStep::On
        } else {
            WalkStep::Over
        })
    })?;
    let unused = typed.iter().zip(used).filter(|(_, used)| !used);
    let missing = unused.map(|(path, _)| Error::not_found("no matches").path(path));
    Ok((found, missing.collect()))
}
